// The body of a reducer without instructions that change no value. Calls and fusions are inlined. Copies, barriers and
// tuple elements are replaced by their operands. Passes remove such instructions, and a reducer must have the same
// bounds before and after a pass. Private to interp/shadow.
#ifndef HLO_INTERP_SHADOW_PLAIN_BODY_H_
#define HLO_INTERP_SHADOW_PLAIN_BODY_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo::shadow {

class PlainBody {
 public:
  // Returns null if `body` has no such instruction or is too large.
  static std::unique_ptr<PlainBody> Of(const Computation& body);

  const Computation& computation() const { return module_.entry(); }
  // The instruction that `inst` was copied from, or `inst` itself if it belongs to another module.
  const Instruction& Original(const Instruction& inst) const;

 private:
  explicit PlainBody(const Computation& body);
  Instruction& ValueOf(const Computation& computation, const std::vector<Instruction*>& args);

  Module module_{"plain"};
  std::unordered_map<const Instruction*, const Instruction*> originals_;
};

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_PLAIN_BODY_H_
