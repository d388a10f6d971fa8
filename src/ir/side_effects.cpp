#include "ir/side_effects.h"

#include <unordered_set>
#include <vector>

#include "ir/module.h"

namespace hlo {

bool HasSideEffect(const Instruction& inst) {
  const auto itself = [](const Instruction& i) {
    return i.Is(kSideEffect) || (i.Is(Opcode::kCustomCall) && i.attrs<CustomCallAttrs>().has_side_effect);
  };
  if (itself(inst)) return true;
  // Each of those that it calls, and that they call, once: there may be more ways to one than can be walked.
  std::vector<Computation*> called = CalledComputations(inst);
  if (called.empty()) return false;
  std::unordered_set<const Computation*> seen(called.begin(), called.end());
  for (size_t i = 0; i < called.size(); ++i) {
    const Computation& computation = *called[i];
    for (const Instruction* inner : computation.instructions()) {
      if (itself(*inner)) return true;
      for (Computation* callee : CalledComputations(*inner)) {
        if (seen.insert(callee).second) called.push_back(callee);
      }
    }
  }
  return false;
}

}  // namespace hlo
