// Constants that a pass made, with bounds for a comparison in f64.
#ifndef HLO_JUDGE_COMPARE_MADE_CONSTANTS_H_
#define HLO_JUDGE_COMPARE_MADE_CONSTANTS_H_

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "judge/bounds/shadow.h"

namespace hlo {

class Instruction;
class Module;

class MadeConstants {
 public:
  explicit MadeConstants(const Module& before);
  void AddBefore(const Module& module);

  // Returns the constant with a bound for the pass's rounding. Nullopt for other instructions, and if a constant before
  // the pass has the same elements. If all elements are equal, their number may differ.
  std::optional<ShadowValue> Of(const Instruction& after) const;

 private:
  std::unordered_set<uint64_t> before_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_MADE_CONSTANTS_H_
