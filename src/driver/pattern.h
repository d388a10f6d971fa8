// Regular expressions that a user gives. They are RE2's, whose time and stack are bounded whatever the pattern and the
// name it meets; std::regex recurses for each character, and a long name ends the program.
#ifndef HLO_DRIVER_PATTERN_H_
#define HLO_DRIVER_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

class Pattern {
 public:
  // [F007], which names the flag, what is wrong and where, for what is none.
  static Result<Pattern> Compile(std::string_view text, std::string_view flag);

  // Some part of `text` is as the pattern has it.
  bool FoundIn(std::string_view text) const;
  // All of it is.
  bool Matches(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

// What to tell when the pattern met nothing: "--trace_values=ad+: nothing that ran has such a name".
std::string MetNothing(std::string_view flag, std::string_view pattern, std::string_view what);

}  // namespace hlo

#endif  // HLO_DRIVER_PATTERN_H_
