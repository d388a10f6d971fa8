#ifndef HLO_BASE_LOG_PATTERNS_H_
#define HLO_BASE_LOG_PATTERNS_H_

#include <string>
#include <vector>

namespace hlo {

// The --vmodule patterns that had no effect: they set the level of no file whose VLOG statements have run.
std::vector<std::string> UnmetLogPatterns();

}  // namespace hlo

#endif  // HLO_BASE_LOG_PATTERNS_H_
