// Constants that a pass made, with bounds for a comparison in f64.
#ifndef HLO_INTERP_COMPARE_MADE_CONSTANTS_H_
#define HLO_INTERP_COMPARE_MADE_CONSTANTS_H_

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "interp/shadow/shadow.h"

namespace hlo {

class Instruction;
class Module;

class MadeConstants {
 public:
  explicit MadeConstants(const Module& before);
  void AddBefore(const Module& module);

  // Returns the constant with a bound for the pass's rounding. Returns nullopt for other instructions, and if a
  // constant before the pass has the same elements, or any number of them if all are equal.
  std::optional<ShadowValue> Of(const Instruction& after) const;

 private:
  std::unordered_set<uint64_t> before_;
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_MADE_CONSTANTS_H_
