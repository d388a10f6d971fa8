// The time of passes for --time_passes, as a table, as a tree of pipeline stages, and as JSON. It includes wall time,
// and processor time of all threads.
#ifndef HLO_DRIVER_PASS_TIMES_H_
#define HLO_DRIVER_PASS_TIMES_H_

#include <string>

#include "passes/pipeline.h"

namespace hlo {

// The passes by name in order of their first run. Passes without changes are counted.
std::string PassTable(const PipelineReport& report);

// The stages as they ran with their passes. Fast passes without changes are summed up.
std::string PassTree(const PipelineReport& report);

// The tree with all passes and instances and their rules: "hlo.time_passes/1".
std::string PassTimesJson(const PipelineReport& report);

// The applied rules, the most frequent first.
std::string RuleTable(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_PASS_TIMES_H_
