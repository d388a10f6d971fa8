// Checks that a written module reads back as the same module.
#ifndef HLO_PARSER_READ_BACK_H_
#define HLO_PARSER_READ_BACK_H_

#include <string>
#include <string_view>

#include "ir/module.h"

namespace hlo {

// The first difference between the texts, or "".
std::string LostByReading(std::string_view wanted, std::string_view read);

// Errors: I013 if printing and parsing change the module. Metadata is ignored, because reading renumbers stack frames.
Status CheckTextRoundTrip(const Module& module);

}  // namespace hlo

#endif  // HLO_PARSER_READ_BACK_H_
