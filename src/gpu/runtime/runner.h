// Executes what a binding holds.
#ifndef HLO_GPU_RUNTIME_RUNNER_H_
#define HLO_GPU_RUNTIME_RUNNER_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "gpu/runtime/binding.h"
#include "gpu/runtime/executable.h"

namespace hlo::gpu {

// One step after the other, on the queue of the device, and waits. With RunOptions::order steps of a block run in
// another order that their dependencies allow. Adds the seconds spent in host calls.
Status RunSerially(Binding& binding, const RunOptions& options, double* host_call_seconds);

// For each of the nodes those before it that it has to wait for, in ascending order: what they write it reads or
// writes, or what they read it writes; nodes with side effects keep their order. `binding`: memory is where that has
// it, so that what is given away and used again is one; null: as the program's places say.
std::vector<std::vector<int>> Dependencies(const Program& program, std::span<const Node> nodes,
                                           const Binding* binding = nullptr);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RUNNER_H_
