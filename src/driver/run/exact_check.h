// Comparators `exact` and `ensemble` (docs/comparison.md#exact, docs/comparison.md#ensemble) over a run.
#ifndef HLO_DRIVER_RUN_EXACT_CHECK_H_
#define HLO_DRIVER_RUN_EXACT_CHECK_H_

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run/arguments.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"

namespace hlo {

// Arguments with which nothing is rounded, if there are any: integers up to 8, and as long as something is, up to half
// as many. With another profile, or --args, those are taken. `interpreter` as in PrepareArguments.
Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter,
                                  ExactSummary* summary);

// The outputs against the reference's, where `report->exact` says that they are to be equal. Null `optimized`: no
// passes ran. Sets report->ends and, of a mismatch, the culprit.
Status JudgeExact(const Module* optimized, const RunArguments& arguments, const Literal& expected,
                  const Literal& outputs, const RunOptions& options, RunReport* report);

// Of a program that rounds something, the parts that do not: each kernel and library call alone, on integers of its
// own, against the interpreter. Sets the counts of report->exact, and for a difference its verdict and the culprit.
Status JudgeExactSteps(const gpu::Executable& executable, gpu::Device& device, const RunOptions& options,
                       Progress& progress, RunReport* report);

// Of compare_mode=all: once more, on arguments of its own.
Status RunExact(const Module& module, const Module& optimized, gpu::Executable& executable, gpu::Device& device,
                const RunOptions& options, const InterpretOptions& interpreter, Progress& progress, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXACT_CHECK_H_
