// Checks that a written module reads back as the same module.
#ifndef HLO_PARSER_READ_BACK_H_
#define HLO_PARSER_READ_BACK_H_

#include <string>
#include <string_view>

#include "ir/module.h"

namespace hlo {

// Describes the first difference between the texts. "" if they are equal.
std::string LostByReading(std::string_view wanted, std::string_view read);

// Errors: I013 if printing and parsing change the module. Metadata is not compared, because reading renumbers stack
// frames.
Status CheckTextRoundTrip(const Module& module);

}  // namespace hlo

#endif  // HLO_PARSER_READ_BACK_H_
