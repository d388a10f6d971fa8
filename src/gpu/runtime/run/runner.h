// Executes a binding.
#ifndef HLO_GPU_RUNTIME_RUN_RUNNER_H_
#define HLO_GPU_RUNTIME_RUN_RUNNER_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "gpu/runtime/binding.h"
#include "gpu/runtime/executable.h"

namespace hlo::gpu {

// Runs the steps on the device's queue and waits.
Status RunSerially(Binding& binding, const RunOptions& options, double* host_call_seconds);

// The earlier nodes on which each node directly depends, through memory or side effects, ascending. With `binding`,
// memory is compared by pointers, otherwise by places.
std::vector<std::vector<int>> Dependencies(const Program& program, std::span<const Node> nodes,
                                           const Binding* binding = nullptr);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RUN_RUNNER_H_
