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
// Where too much of the whole is open, so do the kernels that leave it open: bounds that their own arguments make
// infinite or vacuous (ties, NaN, cancellation) say nothing of the code, and other arguments decide it. What is open
// stays counted.
Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report);
std::string ToString(const LocalSummary& local);

// Scalar steps of judging one execution of a step, when all of its outputs are.
int64_t JudgingSteps(const Instruction& step);

// Of all checked elements, what is open, without the steps that made-up arguments decided.
struct OpenShares {
  double undetermined = 0, vacuous = 0;
  bool TooMany() const { return undetermined > kMostUndetermined || vacuous > kMostVacuous; }
};
OpenShares SharesOpen(const LocalSummary& local);

// A step whose outputs are wrong, in the given iterations of the loops around it.
Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_CHECK_H_
