// Where the time of the passes went, for --time_passes: as a table of passes, as a tree of the pipeline's stages, as
// JSON. Wall time, and what the process computed meanwhile on all of its threads.
#ifndef HLO_DRIVER_PASS_TIMES_H_
#define HLO_DRIVER_PASS_TIMES_H_

#include <string>

#include "passes/pipeline.h"

namespace hlo {

// Passes by name, in order of their first run; those that changed nothing are counted.
std::string PassTable(const PipelineReport& report);

// Stages in stages as they ran, and in each its passes; of those that changed nothing in next to no time the sum.
std::string PassTree(const PipelineReport& report);

// The tree with all of its passes, and every instance with its rules: "hlo.time_passes/1".
std::string PassTimesJson(const PipelineReport& report);

// The rules that were applied, most often first.
std::string RuleTable(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_PASS_TIMES_H_
