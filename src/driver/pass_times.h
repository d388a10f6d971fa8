// The time of passes for --time_passes: wall time, and processor time summed over all threads.
#ifndef HLO_DRIVER_PASS_TIMES_H_
#define HLO_DRIVER_PASS_TIMES_H_

#include <string>

#include "passes/pipeline.h"

namespace hlo {

// Passes in order of their first run. Passes without changes are only counted.
std::string PassTable(const PipelineReport& report);

// Stages with passes. Fast passes without changes are summed up.
std::string PassTree(const PipelineReport& report);

// "hlo.time_passes/1"
std::string PassTimesJson(const PipelineReport& report);

// The most frequent rule comes first.
std::string RuleTable(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_PASS_TIMES_H_
