// HLO text laid out anew, like a code formatter does: blanks and line ends change, words and comments stay.
#ifndef HLO_DRIVER_FORMAT_H_
#define HLO_DRIVER_FORMAT_H_

#include <string>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// The text that `module` was parsed from: an instruction a line, two blanks in; one empty line between computations and
// at most one elsewhere; comments where they stood, those behind instructions in a column. Formatting what was
// formatted changes nothing. Errors: our own, when the result would
// not be the same module.
Result<std::string> FormatText(const Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_FORMAT_H_
