// Flags whose value is a regular expression.
#ifndef HLO_DRIVER_REGEX_FLAG_H_
#define HLO_DRIVER_REGEX_FLAG_H_

#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

// [F007], which names the flag, for what is none.
Result<std::regex> CompileRegex(const std::string& pattern, std::string_view flag);

// What to tell when the pattern met nothing: "--trace_values=ad+: nothing that ran has such a name".
std::string MetNothing(std::string_view flag, std::string_view pattern, std::string_view what);

}  // namespace hlo

#endif  // HLO_DRIVER_REGEX_FLAG_H_
