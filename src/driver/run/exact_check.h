// Comparator `exact` (docs/comparison.md#exact) over a run.
#ifndef HLO_DRIVER_RUN_EXACT_CHECK_H_
#define HLO_DRIVER_RUN_EXACT_CHECK_H_

#include <string>

#include "base/result.h"
#include "driver/run/arguments.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Arguments with which nothing is rounded, if there are any: integers up to 8, and as long as something is, up to half
// as many. With another profile, or --args, those are taken. Their `exact` says what was found. `interpreter` as in
// PrepareArguments.
Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter);

// The results against the reference's, where they are to be equal; of a program that rounds something, the kernels and
// library calls that do not, each alone. With another --compare_mode once more, on arguments of its own. Fills in
// report->exact, of a mismatch the culprit, and `ends` where this alone was asked for.
Status JudgeExact(Experiment& experiment, RunReport* report);
std::string ToString(const ExactSummary& exact);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXACT_CHECK_H_
