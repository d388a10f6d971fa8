// The comparator `exact` (docs/comparison.md#exact).
#ifndef HLO_DRIVER_RUN_EXACT_CHECK_H_
#define HLO_DRIVER_RUN_EXACT_CHECK_H_

#include <string>

#include "base/result.h"
#include "driver/run/arguments.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Makes integers for which no operation rounds, if there are any: up to --exact_bound, which is halved while an
// operation rounds. Another profile or --args takes precedence. `exact` in the result says what rounds.
Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter);

// The results must equal the reference. If the program rounds, each kernel and library call that does not round is
// judged alone. Without --compare_mode=exact, the program first runs again on arguments of PrepareExact. Sets
// report->exact, the culprit of a mismatch, and in the mode exact `outputs`.
Status JudgeExact(Experiment& experiment, RunReport* report);
std::string ToString(const ExactSummary& exact);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXACT_CHECK_H_
