// Passes with options, for tests of properties that hold with all options.
#ifndef HLO_TESTS_PASSES_PASS_OPTIONS_H_
#define HLO_TESTS_PASSES_PASS_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// `pass` with the options `given`, such as "rounding=true", and each switch that is off by default, except `rounding`
// and `is_layout_sensitive`, which change the promise of the pass.
std::string WithSwitches(std::string_view pass, std::vector<std::string> given = {});

}  // namespace hlo

#endif  // HLO_TESTS_PASSES_PASS_OPTIONS_H_
