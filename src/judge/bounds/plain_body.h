// A reducer's body without calls, fusions, copies, barriers and tuple elements. Passes remove these, and the bounds
// must be the same before and after a pass. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_PLAIN_BODY_H_
#define HLO_JUDGE_BOUNDS_PLAIN_BODY_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo::shadow {

class PlainBody {
 public:
  // Null if `body` has no such instruction, or too many instructions.
  static std::unique_ptr<PlainBody> Of(const Computation& body);

  const Computation& computation() const { return module_.entry(); }
  // The instruction from which `inst` was copied, or `inst`.
  const Instruction& Original(const Instruction& inst) const;

 private:
  explicit PlainBody(const Computation& body);
  Instruction& ValueOf(const Computation& computation, const std::vector<Instruction*>& args);

  Module module_{"plain"};
  std::unordered_map<const Instruction*, const Instruction*> originals_;
};

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_PLAIN_BODY_H_
