// reduce-windows whose windows are all that lies before a place, or behind it: running sums, maxima and their like. One
// step for each element makes them, where windows that slide have all their elements to go through.
#ifndef HLO_IR_RUNNING_FOLD_H_
#define HLO_IR_RUNNING_FOLD_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

struct RunningFold {
  int64_t dimension = 0;
  bool reverse = false;    // From the last element to the first.
  bool exclusive = false;  // Without the element of the place itself.

  bool operator==(const RunningFold&) const = default;
};

// What `inst` is, when it is a reduce-window along one dimension of more elements than pay for it, with as many results
// as elements. In reverse only by an op that may take its operands in either order: the initial value stands in front
// of the window, and a scan comes to it last.
std::optional<RunningFold> RunningFoldOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_RUNNING_FOLD_H_
