// Comparator `widened` over the passes, and which pass is wrong when it says that one is.
#ifndef HLO_DRIVER_RUN_PASS_CHECK_H_
#define HLO_DRIVER_RUN_PASS_CHECK_H_

#include <span>
#include <string>

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"
#include "ir/module.h"

namespace hlo {

// Compares `input` with `optimized`, cut at what the passes kept. On a difference the pipeline is run again with ever
// different --opt_bisect_limit until the first instance is found after which the values differ; it becomes the culprit,
// ahead of any kernel, since a kernel that computes a wrong module rightly is not to blame.
//
// `executable`: of `optimized`, with these arguments; large values are taken from a run of it.
Status CheckPasses(const Module& input, const Module& optimized, std::span<const Literal> arguments,
                   gpu::Executable& executable, const RunOptions& options, Progress& progress, std::string* summary,
                   Verdict* verdict, Culprit* culprit);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_CHECK_H_
