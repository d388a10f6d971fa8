// Loops and branches that the device decides about, in what it records: kernels that set the conditions of a graph's
// nodes (Device::RecordWhile, Device::RecordBranches), from the predicates and selectors that steps have computed.
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

// (condition, predicate, trips): whether the loop makes a trip, the first or the next one. Counts the trips in
// `trips` (TripField), and ends the loop where it would make more than the most, which it notes there.
kernel::Kernel LoopConditionKernel(bool first);

// (conditions, selector): which of `branches` is taken, by a pred (true: 0) or an s32 (out of range: the last one).
// `asked` empty: one condition, the branch's number; else one for each of these branches, whether it is the one.
kernel::Kernel BranchConditionKernel(bool by_pred, int64_t branches, std::span<const int> asked);

// For the loops and branches of the program that need nothing of the host, where `device` can decide about them. Where
// it cannot, a note says so.
// `kernels`: behind Program::code.
Status AddConditions(Program& program, Device& device, std::span<const EmittedKernel* const> kernels);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_CONDITIONS_H_
