// Executes what a binding holds.
#ifndef HLO_GPU_RUNTIME_RUNNER_H_
#define HLO_GPU_RUNTIME_RUNNER_H_

#include <vector>

#include "base/result.h"
#include "gpu/runtime/binding.h"
#include "gpu/runtime/executable.h"

namespace hlo::gpu {

// One step after the other, on the queue of the device, and waits. With RunOptions::order steps of a block run in
// another order that their dependencies allow. Adds the seconds spent in host calls.
Status RunSerially(Binding& binding, const RunOptions& options, double* host_call_seconds);

// For each node of a block those before it that it has to wait for, in ascending order: what they write it reads or
// writes, or what they read it writes; nodes with side effects keep their order.
std::vector<std::vector<int>> Dependencies(const Program& program, const Block& block);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RUNNER_H_
