// Bounds of the elements of all values of a module, whatever its arguments are. They prove that a decision always falls
// the same way: a clamped index is in range, a logistic is not negative, a counter ends where its loop does.
//
// The bounds contain the interpreter's values in the declared types. Integers that may wrap around have all values of
// their type. Results of float arithmetic have a margin for roundings.
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
  // Empty if the instruction is never executed or has no elements.
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool nan = false;  // Elements may be NaN.

  bool IsEmpty() const { return !(low <= high) && !nan; }
  bool operator==(const Bounds&) const = default;
};

class ValueBounds {
 public:
  explicit ValueBounds(const Module& module);

  // Bounds of an array of numbers that are not complex.
  const Bounds& Of(const Instruction& inst) const { return leaves_[inst.id()][0]; }
  // Whether the computation of this parameter is never called.
  bool IsNeverGiven(const Instruction& parameter) const;

 private:
  std::vector<std::vector<Bounds>> leaves_;  // Indexed by id and leaf.
};

}  // namespace hlo

#endif  // HLO_JUDGE_VALUE_BOUNDS_H_
