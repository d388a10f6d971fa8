// Constants that a pass made, and the bounds that they have in a comparison in f64.
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
  // The module has constants of the module before, too.
  void AddBefore(const Module& module);

  // The value of a constant that the pass made, with a bound, because the pass rounded it to its type. No constant
  // before the pass has the same elements. If all elements are equal, the number of elements does not matter. Nothing:
  // another instruction.
  std::optional<ShadowValue> Of(const Instruction& after) const;

 private:
  std::unordered_set<uint64_t> before_;  // Hashes of constants.
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_MADE_CONSTANTS_H_
