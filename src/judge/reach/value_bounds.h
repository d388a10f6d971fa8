// Bounds of all elements of a module's values, for all arguments. They prove the outcomes of decisions: a clamped index
// is in range.
//
// They hold for the interpreter's values in the declared types. An integer that may wrap has the limits of its type.
// Floats have a margin for roundings.
#ifndef HLO_JUDGE_REACH_VALUE_BOUNDS_H_
#define HLO_JUDGE_REACH_VALUE_BOUNDS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Instruction;
class Module;

struct Bounds {
  // Empty (low > high) for instructions that are never executed or have no elements.
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool nan = false;

  bool IsEmpty() const { return !(low <= high) && !nan; }
  bool operator==(const Bounds&) const = default;
};

class ValueBounds {
 public:
  explicit ValueBounds(const Module& module);

  // `inst` must be an array, and not complex.
  const Bounds& Of(const Instruction& inst) const { return leaves_[inst.id()][0]; }
  bool IsNeverGiven(const Instruction& parameter) const;

 private:
  std::vector<std::vector<Bounds>> leaves_;  // Indexed by id and leaf.
};

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_VALUE_BOUNDS_H_
