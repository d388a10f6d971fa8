// Loops and branches that the device decides in a recording: kernels set the conditions of graph nodes.
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

// The kernel's parameters are condition, predicate and trips (TripField). It ends a loop that exceeds kMostTrips, and
// records the excess in `trips`.
kernel::Kernel LoopConditionKernel(bool first);

// A pred selects branch 0 if true; an s32 out of range selects the last branch. Sets a condition for each branch in
// `asked`, or one condition to the branch number if `asked` is empty.
kernel::Kernel BranchConditionKernel(bool by_pred, int64_t branches, std::span<const int> asked);

// Adds the kernels for loops and branches that do not need the host, or a note if `device` cannot decide them.
// `kernels` are the kernels of Program::code.
Status AddConditions(Program& program, Device& device, std::span<const EmittedKernel* const> kernels);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_CONDITIONS_H_
