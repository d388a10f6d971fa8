// The order of a recording's nodes: a chain in program order, or parallel branches.
#ifndef HLO_GPU_RUNTIME_GRAPH_ORDER_H_
#define HLO_GPU_RUNTIME_GRAPH_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/runtime/executable.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

// Estimated work, 0 if unknown.
struct NodeWeight {
  double seconds = 0;
  int64_t blocks = 0;  // Blocks of the largest launch.
};
NodeWeight WeightOf(const Node& node);

// Only a chain can have early launches. So parallel branches are faster only if each takes at least this time and all
// fit on the device together.
constexpr double kLeastSideSeconds = 20e-6;

// Chooses each node's direct predecessors, ascending. Together they imply all `dependencies`. `multiprocessors` is the
// number of blocks that fill the device.
std::vector<std::vector<int>> GraphOrder(std::span<const std::vector<int>> dependencies,
                                         std::span<const NodeWeight> weights, Concurrency concurrency,
                                         int64_t multiprocessors);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_GRAPH_ORDER_H_
