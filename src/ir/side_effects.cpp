#include "ir/side_effects.h"

#include "ir/module.h"

namespace hlo {

bool HasSideEffect(const Instruction& inst) {
  if (inst.Is(kSideEffect)) return true;
  if (inst.Is(Opcode::kCustomCall) && inst.attrs<CustomCallAttrs>().has_side_effect) return true;
  for (const Computation* called : CalledComputations(inst)) {
    for (const Instruction* inner : called->instructions()) {
      if (HasSideEffect(*inner)) return true;
    }
  }
  return false;
}

}  // namespace hlo
