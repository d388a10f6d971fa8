// Loops and branches whose conditions the device evaluates in a recording: kernels set the conditions of graph nodes.
#ifndef HLO_GPU_RUNTIME_CONDITIONS_H_
#define HLO_GPU_RUNTIME_CONDITIONS_H_

#include <cstdint>
#include <span>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/emitters/emitter.h"
#include "gpu/kernel/kernel.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

// The kernel that decides whether a loop has another trip, before the first trip if `first`. Parameters: condition,
// predicate and trips (TripField). A loop that exceeds kMostTrips ends, and the trips record that.
kernel::Kernel LoopConditionKernel(bool first);

// The kernel that selects a branch. A pred selects branch 0 if true. An s32 out of range selects the last branch. Sets
// a condition for each branch in `asked` or, if `asked` is empty, one condition to the branch number.
kernel::Kernel BranchConditionKernel(bool by_pred, int64_t branches, std::span<const int> asked);

// Adds the kernels of loops and branches that do not need the host. If `device` cannot evaluate their conditions, adds
// a note instead. `kernels` has the kernel of each Program::code.
Status AddConditions(Program& program, Device& device, std::span<const EmittedKernel* const> kernels);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_CONDITIONS_H_
