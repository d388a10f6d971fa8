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

std::vector<bool> LiveIn(const Computation& computation) {
  std::vector<bool> live(computation.place_limit());
  const std::vector<Instruction*> order = computation.PostOrder();
  for (auto inst = order.rbegin(); inst != order.rend(); ++inst) {
    if (!live[(*inst)->place()] && !(*inst)->IsRoot() && !HasSideEffect(**inst)) continue;
    live[(*inst)->place()] = true;
    for (const Instruction* operand : (*inst)->operands()) live[operand->place()] = true;
  }
  return live;
}

}  // namespace hlo
