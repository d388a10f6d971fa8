// The comparator `exact` (docs/comparison.md#exact).
#ifndef HLO_DRIVER_RUN_EXACT_CHECK_H_
#define HLO_DRIVER_RUN_EXACT_CHECK_H_

#include <string>

#include "base/result.h"
#include "driver/run/arguments.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Makes arguments for which no operation rounds, if there are any: integers up to 8, and with half the range as long as
// something rounds. With another profile or --args, those arguments are used. `exact` in the result tells what rounds.
// `interpreter` is used as in PrepareArguments.
Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter);

// Compares the results with the reference. They must be equal. If the program rounds, runs each kernel and library call
// that does not round alone. In other modes than --compare_mode=exact, the program first runs again on arguments of
// PrepareExact. Sets report->exact, the culprit of a mismatch, and in the mode exact `outputs`.
Status JudgeExact(Experiment& experiment, RunReport* report);
std::string ToString(const ExactSummary& exact);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXACT_CHECK_H_
