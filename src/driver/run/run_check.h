// The comparator `local`: judges every kernel and library call from its operands, against bounds of its shadow.
#ifndef HLO_DRIVER_RUN_RUN_CHECK_H_
#define HLO_DRIVER_RUN_RUN_CHECK_H_

#include <span>
#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Runs the program once more and judges each step from its actual operands, in loops in the first, the last and 8
// seeded iterations. The first wrong step becomes the culprit. Sets report->local and culprit.
//
// A kernel runs once more alone on small integers if its errors within the bounds are unlikely large, or if its sums
// are too long for the bounds to show a missing term. Sums of small integers are exact in any order, so a missing term
// shows.
//
// An output is open if more than 1 % of its elements are undetermined, or if more than half have bounds that say
// nothing (ties, NaN, cancellation). Made-up arguments decide a kernel with an open output. The counts keep the
// elements that were open before.
//
// If no kernel is wrong, further arguments (Experiment::Further) follow, on which only faults count.
Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report);
std::string ToString(const LocalSummary& local);

// Scalar steps for judging the step once.
int64_t JudgingSteps(const Instruction& step);

Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_CHECK_H_
