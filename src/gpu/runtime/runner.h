// Executes a binding.
#ifndef HLO_GPU_RUNTIME_RUNNER_H_
#define HLO_GPU_RUNTIME_RUNNER_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "gpu/runtime/binding.h"
#include "gpu/runtime/executable.h"

namespace hlo::gpu {

// Runs the steps in order on the device's queue and waits. With RunOptions::order, runs the steps of a block in another
// order that respects dependencies. Adds the seconds of host calls.
Status RunSerially(Binding& binding, const RunOptions& options, double* host_call_seconds);

// For each node the earlier nodes that it depends on, ascending. Two nodes depend on each other if one writes memory
// that the other reads or writes, or if both have side effects. With `binding`, memory is compared by its pointers, so
// that reused memory counts as the same; otherwise by the program's places.
std::vector<std::vector<int>> Dependencies(const Program& program, std::span<const Node> nodes,
                                           const Binding* binding = nullptr);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RUNNER_H_
