// The rows and columns of a dot that some results need. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_DOT_LINES_H_
#define HLO_JUDGE_BOUNDS_DOT_LINES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace hlo::shadow {

// A smaller dot of the needed rows and columns.
struct DotLines {
  struct Side {
    bool all = true;            // Whether the whole operand is used, instead of the elements `at`.
    std::vector<int64_t> at;    // Operand elements, line after line.
    std::vector<int64_t> dims;  // Dimensions that `at` forms.
  };
  Side left, right;
  DotAttrs attrs;
  std::vector<int64_t> dims;  // Dimensions of the result.
  std::vector<int64_t> at;    // Ascending row-major indices of the wanted results.
};

// `at` lists the wanted results in ascending order. Nullopt for a sparse dot, and if more than a quarter of the rows of
// the left and of the columns of the right operand are needed (with batch dimensions: of one of them).
std::optional<DotLines> LinesOf(const Instruction& dot, const std::vector<int64_t>& at);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_DOT_LINES_H_
