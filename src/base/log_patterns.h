#ifndef HLO_BASE_LOG_PATTERNS_H_
#define HLO_BASE_LOG_PATTERNS_H_

#include <string>
#include <vector>

namespace hlo {

// The patterns of LogOptions that matched none of the files whose VLOG statements were reached, at any level.
std::vector<std::string> UnmetLogPatterns();

}  // namespace hlo

#endif  // HLO_BASE_LOG_PATTERNS_H_
