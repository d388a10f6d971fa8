#include "ir/side_effects.h"

#include <algorithm>

#include "ir/module.h"

namespace hlo {

bool IsSideEffect(const Instruction& inst) {
  return inst.Is(kSideEffect) || (inst.Is(Opcode::kCustomCall) && inst.attrs<CustomCallAttrs>().has_side_effect);
}

bool HasSideEffect(const Instruction& inst) {
  return IsSideEffect(inst) || std::ranges::any_of(CalledComputations(inst), &Computation::HasSideEffect);
}

}  // namespace hlo
