// Running sums, maxima and the like: reduce-windows over all elements up to a position, or from it on, computed with
// one step for each element.
#ifndef HLO_IR_ANALYSIS_RUNNING_FOLD_H_
#define HLO_IR_ANALYSIS_RUNNING_FOLD_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

struct RunningFold {
  int64_t dimension = 0;
  bool reverse = false;
  // Whether a position's own element is left out.
  bool exclusive = false;

  bool operator==(const RunningFold&) const = default;
};

// Supports a reduce-window along one dimension with as many results as elements, and more than 16. A reverse fold must
// have a commutative op: in HLO the initial value is the first operand, but a scan combines it last.
std::optional<RunningFold> RunningFoldOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_RUNNING_FOLD_H_
