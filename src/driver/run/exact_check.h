// The comparator `exact` (docs/comparison.md#exact).
#ifndef HLO_DRIVER_RUN_EXACT_CHECK_H_
#define HLO_DRIVER_RUN_EXACT_CHECK_H_

#include <string>

#include "base/result.h"
#include "driver/run/arguments.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Makes small integers as arguments, for which no operation rounds if possible. They are at most --exact_bound, which
// is halved as long as an operation rounds. Another profile or --args takes precedence. RunArguments::exact names an
// operation that still rounds.
Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter);

// Requires that the results equal the reference. If the program rounds, judges each kernel and library call alone that
// does not round. Without --compare_mode=exact, first runs the program again on arguments of PrepareExact. Sets
// report->exact, the culprit of a mismatch, and in the mode `exact` report->outputs.
Status JudgeExact(Experiment& experiment, RunReport* report);
std::string ToString(const ExactSummary& exact);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXACT_CHECK_H_
