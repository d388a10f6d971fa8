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

// Runs the program once more and judges each step from its actual operands, in loops the first, the last and 8 random
// iterations. Sets report->local, and the first wrong step as culprit.
//
// Kernels with improbably large errors, or with sums so long that bounds could hide a missing term, also run alone on
// small integers. These sums are exact in any order, so a missing term shows.
//
// An output is open if more than 1 % of its elements are undetermined, or more than half vacuous: bounds are too wide
// because of ties, NaN or cancellation. Made-up arguments then decide the kernel. Counts are for the run's own
// arguments.
//
// If no kernel is wrong, the program runs on further arguments (Experiment::Further), on which only faults count.
Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report);
std::string ToString(const LocalSummary& local);

// Scalar steps for judging the step once.
int64_t JudgingSteps(const Instruction& step);

Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_CHECK_H_
