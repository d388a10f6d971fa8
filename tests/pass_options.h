// Passes with options, for tests of what holds with all of them.
#ifndef HLO_TESTS_PASS_OPTIONS_H_
#define HLO_TESTS_PASS_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// `pass` with `given`, "rounding=true", and with each switch that is off by default but those that change what the pass
// promises: `rounding` and `is_layout_sensitive`.
std::string WithSwitches(std::string_view pass, std::vector<std::string> given = {});

}  // namespace hlo

#endif  // HLO_TESTS_PASS_OPTIONS_H_
