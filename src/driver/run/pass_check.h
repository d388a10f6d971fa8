// Comparator `widened` over the passes, and which pass is wrong when it says that one is.
#ifndef HLO_DRIVER_RUN_PASS_CHECK_H_
#define HLO_DRIVER_RUN_PASS_CHECK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "interp/compare/widened.h"

namespace hlo {

// Compares `input` with what passes made of it, on `arguments`; where bounds leave it undetermined there, on made-up
// ones, which `arguments` get then. `summary` says what was compared. `left`: WidenedOptions::left. `is_changed`: false
// where no pass changed the module, which then needs no made-up arguments.
Result<WidenedResult> CompareAroundPasses(const Module& input, const Module& optimized, const RunOptions& options,
                                          std::vector<Literal>* arguments, std::string* summary,
                                          LeftFunction left = nullptr, Progress* progress = nullptr,
                                          bool is_changed = true);

// The same of the input of an experiment with what its passes make of it; nothing is compiled.
Result<WidenedResult> CompareAroundPasses(Experiment& experiment, std::vector<Literal>* arguments,
                                          std::string* summary);

// The first pass instance after which the module means something else on `arguments`. What the whole pipeline does is
// known to be wrong, what no pass does to be right.
Result<PassRun> FirstWrongPass(Experiment& experiment, std::span<const Literal> arguments);

// Compares the input with the optimized module, cut at what the passes kept. On a difference the pipeline is run again
// with ever different --opt_bisect_limit until the first instance is found after which the values differ; it becomes
// the culprit, ahead of any kernel, since a kernel that computes a wrong module rightly is not to blame. Large values
// are taken from runs of the code. Fills in report->widened, its verdict and culprit.
Status JudgePasses(Experiment& experiment, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_CHECK_H_
