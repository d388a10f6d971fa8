// Formats HLO text: changes only blanks and line breaks.
#ifndef HLO_DRIVER_FORMAT_H_
#define HLO_DRIVER_FORMAT_H_

#include <string>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// Indents instructions by two. Separates computations by one empty line and keeps at most one elsewhere. Aligns
// comments after instructions. Formatting the result again changes nothing. Errors: kInternal if the result would be
// another module.
Result<std::string> FormatText(const Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_FORMAT_H_
