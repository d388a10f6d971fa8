#ifndef HLO_BASE_LOG_PATTERNS_H_
#define HLO_BASE_LOG_PATTERNS_H_

#include <string>
#include <vector>

namespace hlo {

// --vmodule patterns that match no file whose VLOG statements have run.
std::vector<std::string> UnmetLogPatterns();

}  // namespace hlo

#endif  // HLO_BASE_LOG_PATTERNS_H_
