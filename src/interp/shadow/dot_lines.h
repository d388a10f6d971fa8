// The rows and columns of a dot that a given set of its results needs. Private to interp/shadow.
#ifndef HLO_INTERP_SHADOW_DOT_LINES_H_
#define HLO_INTERP_SHADOW_DOT_LINES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace hlo::shadow {

// A smaller dot of these rows and columns. The wanted results are among its results.
struct DotLines {
  struct Side {
    bool all = true;            // True: the whole operand is used. False: only the elements `at`.
    std::vector<int64_t> at;    // Operand elements, line after line.
    std::vector<int64_t> dims;  // Sizes of the operand that these elements form.
  };
  Side left, right;
  DotAttrs attrs;
  std::vector<int64_t> dims;  // Dimensions of the smaller dot's result.
  std::vector<int64_t> at;    // Row-major indices of the wanted results in it. They ascend, as the input does.
};

// `at` lists the wanted results in ascending order. Returns nullopt if the smaller dot would read nearly all of both
// operands.
std::optional<DotLines> LinesOf(const Instruction& dot, const std::vector<int64_t>& at);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_DOT_LINES_H_
