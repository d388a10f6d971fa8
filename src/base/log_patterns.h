// For the end of a program: which patterns of LogOptions named no file.
#ifndef HLO_BASE_LOG_PATTERNS_H_
#define HLO_BASE_LOG_PATTERNS_H_

#include <string>
#include <vector>

namespace hlo {

// Patterns that match the name of no file that came to one of its VLOGs, whatever the level.
std::vector<std::string> UnmetLogPatterns();

}  // namespace hlo

#endif  // HLO_BASE_LOG_PATTERNS_H_
