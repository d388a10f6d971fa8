#include "driver/regex_flag.h"

#include "base/text.h"

namespace hlo {

Result<std::regex> CompileRegex(const std::string& pattern, std::string_view flag) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    FAIL(UsageError("F007", Str("--", flag, ": '", Escaped(pattern), "' is no regular expression: ", error.what())));
  }
}

std::string MetNothing(std::string_view flag, std::string_view pattern, std::string_view what) {
  return Str("--", flag, "=", Escaped(pattern), ": ", what);
}

}  // namespace hlo
