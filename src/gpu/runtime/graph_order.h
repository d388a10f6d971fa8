// Which nodes of what is recorded as one come right after which: a chain, in the order of the text, or sides that may
// run beside each other.
#ifndef HLO_GPU_RUNTIME_GRAPH_ORDER_H_
#define HLO_GPU_RUNTIME_GRAPH_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/runtime/executable.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

// What is asked of a node. 0: not known.
struct NodeWeight {
  double seconds = 0;
  int64_t blocks = 0;  // Of its largest launch.
};
NodeWeight WeightOf(const Node& node);

// Both sides must take so long, and fit the device at once, for it to be worth it: a chain has launches that begin
// before the one before has ended, which what has several before it has not.
constexpr double kLeastSideSeconds = 20e-6;

// For each node those right before it, in ascending order: it waits for all of its `dependencies`, for the direct ones
// or by way of others. `multiprocessors`: so many blocks fill the device.
std::vector<std::vector<int>> GraphOrder(std::span<const std::vector<int>> dependencies,
                                         std::span<const NodeWeight> weights, Concurrency concurrency,
                                         int64_t multiprocessors);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_GRAPH_ORDER_H_
