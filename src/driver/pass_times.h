// The time of passes for --time_passes, as wall time and processor time of all threads.
#ifndef HLO_DRIVER_PASS_TIMES_H_
#define HLO_DRIVER_PASS_TIMES_H_

#include <string>

#include "passes/pipeline.h"

namespace hlo {

// In order of the first run. Passes without changes are counted.
std::string PassTable(const PipelineReport& report);

// By stages. Fast passes without changes are summed up.
std::string PassTree(const PipelineReport& report);

// Schema "hlo.time_passes/1".
std::string PassTimesJson(const PipelineReport& report);

// The most frequent rule first.
std::string RuleTable(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_PASS_TIMES_H_
