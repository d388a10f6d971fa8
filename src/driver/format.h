// Formats HLO text: changes only blanks and line breaks.
#ifndef HLO_DRIVER_FORMAT_H_
#define HLO_DRIVER_FORMAT_H_

#include <string>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// Indents instructions by two, separates computations by one empty line and keeps at most one elsewhere, and aligns
// comments after instructions. Formatting twice changes nothing more. Errors: kInternal if the result would be another
// module.
Result<std::string> FormatText(const Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_FORMAT_H_
