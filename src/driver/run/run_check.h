// Comparator `local`: every kernel and library call against the shadow of its HLO, from what it read. What goes on
// between them: dataflow_check.h.
#ifndef HLO_DRIVER_RUN_RUN_CHECK_H_
#define HLO_DRIVER_RUN_RUN_CHECK_H_

#include <span>
#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// One more run with the experiment's arguments, in which each step is looked at; of those in loops the first, the last
// and 8 seeded iterations. What breaks first becomes the culprit, and the run goes on: later steps are judged from what
// they were given, so one wrong kernel does not taint the others. Fills in report->local and culprit.
//
// A kernel that is within its bounds, but beyond what roundings do in all likelihood, runs once more, alone, on small
// integers, whose sums are exact in any order: a term that is missing shows there, however long the sum.
//
// An output is open if more than 1 % of its elements are undetermined, or if more than half have bounds that say
// nothing (ties, NaN, cancellation). A kernel with an open output runs again on made-up arguments, which decide. The
// counts keep the elements that were open on the kernel's own arguments. LocalSummary::open lists kernels that stay
// open.
//
// If no kernel is wrong, and arguments exist that reach more (Experiment::Further), then the kernels are judged on
// these, too. Only faults count there.
Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report);
std::string ToString(const LocalSummary& local);

// Scalar steps of judging one execution of a step, when all of its outputs are.
int64_t JudgingSteps(const Instruction& step);

// A step whose outputs are wrong, in the given iterations of the loops around it.
Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_CHECK_H_
