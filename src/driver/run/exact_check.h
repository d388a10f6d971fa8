// The comparator `exact` (docs/comparison.md#exact).
#ifndef HLO_DRIVER_RUN_EXACT_CHECK_H_
#define HLO_DRIVER_RUN_EXACT_CHECK_H_

#include <string>

#include "base/result.h"
#include "driver/run/arguments.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Makes small integers as arguments, at most RunOptions::exact_bound, which is halved while an operation rounds.
// Another profile or --args takes precedence. RunArguments::exact names an operation that still rounds.
Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter);

// Results must equal the reference. If the program rounds, judges alone each step that does not round. Without
// --compare_mode=exact, first runs the program again on arguments of PrepareExact. Sets report->exact, the culprit of a
// mismatch, and in the mode `exact` report->outputs.
Status JudgeExact(Experiment& experiment, RunReport* report);
std::string ToString(const ExactSummary& exact);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXACT_CHECK_H_
