#include "tests/passes/pass_options.h"

#include "base/text.h"
#include "passes/pass.h"

namespace hlo {

std::string WithSwitches(std::string_view pass, std::vector<std::string> given) {
  for (const OptionText& option : Describe(FindPass(pass)->defaults())) {
    if (option.value == "false" && option.name != "rounding" && option.name != "is_layout_sensitive")
      given.push_back(Str(option.name, "=true"));
  }
  return Str(pass, "{", Join(given, ", "), "}");
}

}  // namespace hlo
