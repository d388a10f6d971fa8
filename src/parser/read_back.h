// Checks that a written module reads back as the same module.
#ifndef HLO_PARSER_READ_BACK_H_
#define HLO_PARSER_READ_BACK_H_

#include <string>
#include <string_view>

#include "ir/module.h"

namespace hlo {

// Describes the first difference between `wanted` and `read`, the text of the module that was read back. "" if they are
// equal.
std::string LostByReading(std::string_view wanted, std::string_view read);

// Prints the module, parses the text, and compares. Ignores metadata, because reading renumbers stack frames. Errors:
// I013.
Status CheckTextRoundTrip(const Module& module);

}  // namespace hlo

#endif  // HLO_PARSER_READ_BACK_H_
