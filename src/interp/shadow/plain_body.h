// The body of a reducer without instructions that change no value: calls and fusions are dissolved; copies, barriers
// and elements of tuples are replaced by their operands. Passes remove such instructions, and a reducer must have the
// same bounds before and after. Private to interp/shadow.
#ifndef HLO_INTERP_SHADOW_PLAIN_BODY_H_
#define HLO_INTERP_SHADOW_PLAIN_BODY_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo::shadow {

class PlainBody {
 public:
  // Null: `body` has no such instruction, or is too large.
  static std::unique_ptr<PlainBody> Of(const Computation& body);

  const Computation& computation() const { return module_.entry(); }
  // The instruction that `inst` was copied from; `inst` itself where it belongs to another module.
  const Instruction& Original(const Instruction& inst) const;

 private:
  explicit PlainBody(const Computation& body);
  // The value of `computation` for these arguments.
  Instruction& ValueOf(const Computation& computation, const std::vector<Instruction*>& args);

  Module module_{"plain"};
  std::unordered_map<const Instruction*, const Instruction*> originals_;
};

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_PLAIN_BODY_H_
