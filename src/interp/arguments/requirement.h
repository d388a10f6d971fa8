// Requirements for the elements of a value, and how they pass from results to operands. Private to interp/arguments.
#ifndef HLO_INTERP_ARGUMENTS_REQUIREMENT_H_
#define HLO_INTERP_ARGUMENTS_REQUIREMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "interp/arguments/ranges.h"
#include "ir/module.h"

namespace hlo {

struct Requirement {
  enum class Kind { kIndex, kPositive, kInterval, kExactly, kScale, kKey, kSummed } kind = Kind::kInterval;
  ClosedInterval interval;
  std::vector<ClosedInterval> components;
  int64_t component_dim = -1;
  double number = 0;  // For kExactly and kScale.
  int64_t dim = -1;   // For kKey and kSummed.
  enum Flags : int {
    kPromised = 1,
    kSorted = 2,
    kUnique = 4,
    kStart = 8,
    kTrips = 16,
    kDistinct = 32,
    kRepeats = 64,
  };
  int flags = 0;

  bool Has(Flags flag) const { return (flags & flag) != 0; }
  void Drop(int gone) { flags &= ~gone; }

  void Flatten() {
    if (components.size() > 1) Drop(kSorted | kUnique);
    for (const ClosedInterval& c : components)
      interval = {std::max(interval.low, c.low), std::min(interval.high, c.high)};
    components.clear();
    component_dim = -1;
  }
};

struct RequirementOf {
  const Instruction* inst;  // An array.
  Requirement requirement;
};
using Requirements = std::vector<RequirementOf>;

Requirements RequirementsOfUse(const Instruction& inst);
// The requirements for operands by which the array `inst` meets `requirement`. Not for parameters and calls.
Requirements RequirementsThrough(const Instruction& inst, Requirement requirement);

std::optional<double> ConstantOf(const Instruction& inst);
const Instruction& Bare(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_REQUIREMENT_H_
