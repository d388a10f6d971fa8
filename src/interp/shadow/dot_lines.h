// The rows and columns of a dot that some of its results need. Private to interp/shadow.
#ifndef HLO_INTERP_SHADOW_DOT_LINES_H_
#define HLO_INTERP_SHADOW_DOT_LINES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace hlo::shadow {

// A dot of these lines alone, that has the wanted results among its own.
struct DotLines {
  struct Side {
    bool all = true;            // The operand as it stands; else
    std::vector<int64_t> at;    // its elements, line after line, which are
    std::vector<int64_t> dims;  // an operand of these sizes.
  };
  Side left, right;
  DotAttrs attrs;
  std::vector<int64_t> dims;  // Of the result.
  std::vector<int64_t> at;    // The wanted results there, in their order: row-major, ascending.
};

// `at`: ascending. Nothing where that would hardly be less than all of both operands.
std::optional<DotLines> LinesOf(const Instruction& dot, const std::vector<int64_t>& at);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_DOT_LINES_H_
