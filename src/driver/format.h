// Formats HLO text: changes blanks and line breaks, and keeps words and comments.
#ifndef HLO_DRIVER_FORMAT_H_
#define HLO_DRIVER_FORMAT_H_

#include <string>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// The formatted text of `module`. Each instruction has a line with an indentation of two. Computations are separated by
// one empty line; elsewhere at most one empty line is kept. Comments keep their place, and comments after instructions
// are aligned. Formatting twice has no further effect. Errors: an internal error if the result would not be the same
// module.
Result<std::string> FormatText(const Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_FORMAT_H_
