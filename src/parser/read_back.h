// Whether what was written of a module says all of it.
#ifndef HLO_PARSER_READ_BACK_H_
#define HLO_PARSER_READ_BACK_H_

#include <string>
#include <string_view>

#include "ir/module.h"

namespace hlo {

// What the text `read`, of a module that was read from something written, says differently than `wanted`, from the
// first difference on; "" where they are equal.
std::string LostByReading(std::string_view wanted, std::string_view read);

// Prints, reads that, and compares; but for metadata, whose stack frames reading numbers anew. Errors: I013.
Status CheckTextRoundTrip(const Module& module);

}  // namespace hlo

#endif  // HLO_PARSER_READ_BACK_H_
