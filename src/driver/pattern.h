// Regular expressions from users. RE2 bounds time and stack, but std::regex can overflow the stack.
#ifndef HLO_DRIVER_PATTERN_H_
#define HLO_DRIVER_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

class Pattern {
 public:
  // Errors: F007 with the flag, the reason and the position.
  static Result<Pattern> Compile(std::string_view text, std::string_view flag);

  bool FoundIn(std::string_view text) const;
  bool Matches(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

// "--trace_values=ad+: no instruction that ran has a matching name".
std::string MetNothing(std::string_view flag, std::string_view pattern, std::string_view what);

}  // namespace hlo

#endif  // HLO_DRIVER_PATTERN_H_
