// Bounds of the elements of all values of a module, for all arguments. They prove outcomes of decisions: a clamped
// index is in range, a counter ends with its loop.
//
// The bounds contain the interpreter's values in the declared types. Integers that may wrap around have all values of
// their type, and float arithmetic has a margin for roundings.
#ifndef HLO_JUDGE_VALUE_BOUNDS_H_
#define HLO_JUDGE_VALUE_BOUNDS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Instruction;
class Module;

struct Bounds {
  // Bounds are empty if the instruction is never executed or has no elements.
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool nan = false;  // Elements may be NaN.

  bool IsEmpty() const { return !(low <= high) && !nan; }
  bool operator==(const Bounds&) const = default;
};

class ValueBounds {
 public:
  explicit ValueBounds(const Module& module);

  // `inst` must be an array, and not complex.
  const Bounds& Of(const Instruction& inst) const { return leaves_[inst.id()][0]; }
  // Whether no execution gives the parameter a value.
  bool IsNeverGiven(const Instruction& parameter) const;

 private:
  std::vector<std::vector<Bounds>> leaves_;  // Indexed by id and leaf.
};

}  // namespace hlo

#endif  // HLO_JUDGE_VALUE_BOUNDS_H_
