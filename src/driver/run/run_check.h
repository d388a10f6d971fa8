// The comparator `local`: judges every kernel and library call from its operands, against bounds of the shadow of its
// HLO.
#ifndef HLO_DRIVER_RUN_RUN_CHECK_H_
#define HLO_DRIVER_RUN_RUN_CHECK_H_

#include <span>
#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Runs the program once more with the experiment's arguments and judges each step, in loops in the first, the last and
// 8 seeded iterations. The first wrong step becomes the culprit. Later steps are judged from their actual operands, so
// one wrong kernel does not affect the judgement of others. Sets report->local and culprit.
//
// A kernel that is within its bounds, but has unlikely large errors, runs once more alone on small integers. Their sums
// are exact in any order, so a missing term shows in a sum of any length.
//
// An output is open if more than 1 % of its elements are undetermined, or if more than half have bounds that say
// nothing (ties, NaN, cancellation). A kernel with an open output runs again on made-up arguments, which decide. The
// counts keep the elements that were open on the kernel's own arguments.
//
// If no kernel is wrong, the kernels are also judged on further arguments (Experiment::Further). Only faults count
// there.
Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report);
std::string ToString(const LocalSummary& local);

// Scalar steps of judging all outputs of one execution of a step.
int64_t JudgingSteps(const Instruction& step);

// The culprit for a step with wrong outputs in the given loop iterations.
Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_CHECK_H_
