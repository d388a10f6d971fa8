#ifndef HLO_BASE_LOG_PATTERNS_H_
#define HLO_BASE_LOG_PATTERNS_H_

#include <string>
#include <vector>

namespace hlo {

// The patterns of LogOptions that determined the level of no file whose VLOG statements were reached.
std::vector<std::string> UnmetLogPatterns();

}  // namespace hlo

#endif  // HLO_BASE_LOG_PATTERNS_H_
