// Loops and branches that the device decides in a recording. Kernels set the conditions of graph nodes
// (Device::RecordWhile, Device::RecordBranches) from computed predicates and selectors.
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

// A kernel with parameters (condition, predicate, trips) that decides whether a loop makes its first or next trip. It
// counts the trips in `trips` (TripField). It ends a loop that exceeds the most trips, and records that there.
kernel::Kernel LoopConditionKernel(bool first);

// A kernel with parameters (conditions, selector) that selects one of `branches` by a pred (true is 0) or an s32 (out
// of range is the last one). If `asked` is empty, it sets one condition to the branch number. Otherwise it sets a
// condition for each of these branches.
kernel::Kernel BranchConditionKernel(bool by_pred, int64_t branches, std::span<const int> asked);

// Adds condition kernels for the loops and branches of the program that do not need the host, if `device` can decide
// them. Otherwise adds a note. `kernels` are the kernels of Program::code.
Status AddConditions(Program& program, Device& device, std::span<const EmittedKernel* const> kernels);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_CONDITIONS_H_
