// Checks that a written module reads back as the same module.
#ifndef HLO_PARSER_READ_BACK_H_
#define HLO_PARSER_READ_BACK_H_

#include <string>
#include <string_view>

#include "ir/module.h"

namespace hlo {

// Describes the first difference between the texts. "" if they are equal.
std::string LostByReading(std::string_view wanted, std::string_view read);

// Error: I013 if the module changes when it is printed and parsed. Metadata is not compared, because the parser
// renumbers stack frames.
Status CheckTextRoundTrip(const Module& module);

}  // namespace hlo

#endif  // HLO_PARSER_READ_BACK_H_
