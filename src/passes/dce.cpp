// dce: what nobody needs goes. Needed are the root, side effects, parameters (a signature is not ours to change, but
// for fused computations: their fusion drops the operand too), and what those use.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/pass.h"

namespace hlo {
namespace {

bool RemoveDeadIn(Computation& computation) {
  // Marks from what must stay; one walk backwards over the order is enough.
  const std::vector<Instruction*> order = computation.PostOrder();
  std::vector<bool> needed(computation.place_limit(), false);
  needed[computation.root().place()] = true;
  for (size_t i = order.size(); i-- > 0;) {
    Instruction& inst = *order[i];
    if (!needed[inst.place()] && !inst.Is(Opcode::kParameter) && !HasSideEffect(inst)) continue;
    needed[inst.place()] = true;
    for (const Instruction* operand : inst.operands()) needed[operand->place()] = true;
    for (const Instruction* before : inst.control_predecessors()) needed[before->place()] = true;
  }
  bool changed = false;
  for (size_t i = order.size(); i-- > 0;) {
    if (needed[order[i]->place()]) continue;
    computation.Remove(*order[i]);
    changed = true;
  }
  return changed;
}

// A parameter that a fused computation does not read is no operand of the fusion.
bool RemoveUnusedOperands(Computation& caller) {
  bool changed = false;
  for (Instruction* inst : caller.Instructions()) {
    if (!IsFusion(*inst) || !inst->attrs<FusionAttrs>().aliases.empty()) continue;
    Computation& fused = *inst->attrs<FusionAttrs>().calls;
    std::vector<Instruction*> operands;
    for (int64_t i = inst->operand_count() - 1; i >= 0; --i) {
      if (fused.parameter(i).IsDead()) {
        fused.RemoveParameter(i);
      } else {
        operands.push_back(&inst->operand(i));
      }
    }
    if (static_cast<int64_t>(operands.size()) == inst->operand_count()) continue;
    std::reverse(operands.begin(), operands.end());
    Instruction& smaller = caller.AddClone(*inst, operands);
    inst->ReplaceAllUses(smaller);
    caller.Remove(*inst);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> RemoveDead(Module& module, const PassContext&) {
  bool changed = false;
  const std::vector<Computation*> computations = module.PostOrder();
  // Callers first: with a dead call its computation's needs go, too.
  for (size_t i = computations.size(); i-- > 0;) {
    changed |= RemoveDeadIn(*computations[i]);
  }
  for (Computation* computation : SequentialComputations(module)) {
    while (RemoveUnusedOperands(*computation)) {
      RemoveDeadIn(*computation);
      changed = true;
    }
  }
  module.RemoveUnreachable();  // Not a change: nothing that is reached is another.
  return changed;
}

}  // namespace hlo
