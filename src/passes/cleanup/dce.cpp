// Removes instructions on which no root, parameter or side effect depends, and unused parameters of fused computations.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/log_why.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool IsRemovable(const Instruction& inst) { return !inst.Is(Opcode::kParameter) && !HasSideEffect(inst); }

bool HasDead(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    if (inst->IsDead() && IsRemovable(*inst)) return true;
  }
  return false;
}

void LogKept(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    if (!inst->IsDead() || IsRemovable(*inst)) continue;
    LogWhy("dce", *inst, "stays",
           inst->Is(Opcode::kParameter) ? "the parameters of a computation must stay"
                                        : "it has an effect besides its value");
  }
}

bool RemoveDeadIn(Computation& computation) {
  const bool logs = LOGS_WHY();
  if (logs) LogKept(computation);
  if (!HasDead(computation)) return false;
  const std::vector<Instruction*> order = computation.PostOrder();
  std::vector<bool> needed(computation.place_limit(), false);
  needed[computation.root().place()] = true;
  for (size_t i = order.size(); i-- > 0;) {
    Instruction& inst = *order[i];
    if (!needed[inst.place()] && IsRemovable(inst)) continue;
    needed[inst.place()] = true;
    for (const Instruction* operand : inst.operands()) needed[operand->place()] = true;
    for (const Instruction* before : inst.control_predecessors()) needed[before->place()] = true;
  }
  std::vector<Instruction*> dead;
  std::ranges::copy_if(order, std::back_inserter(dead), [&](const auto* inst) { return !needed[inst->place()]; });
  if (logs) {
    for (const Instruction* inst : dead) LogWhy("dce", *inst, "=> nothing", "nothing uses it");
  }
  computation.RemoveAll(dead);
  return !dead.empty();
}

bool HasUnusedParameter(const Computation& computation) {
  return std::ranges::any_of(computation.parameters(),
                             [](const Instruction* parameter) { return parameter->IsDead(); });
}

bool RemoveUnusedOperandsIn(Computation& caller) {
  bool changed = false;
  for (Instruction* inst : caller.Instructions()) {
    if (!IsFusion(*inst) || !inst->attrs<FusionAttrs>().aliases.empty()) continue;
    Computation& fused = *inst->attrs<FusionAttrs>().calls;
    if (!HasUnusedParameter(fused)) continue;
    std::vector<Instruction*> operands;
    std::vector<bool> goes(inst->operand_count());
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      goes[i] = fused.parameter(i).IsDead();
      if (!goes[i]) operands.push_back(&inst->operand(i));
    }
    if (LOGS_WHY()) LogWhy("dce", *inst, Str("=> with ", operands.size(), " operands"), "it does not use the others");
    fused.RemoveParameters(goes);
    Instruction& smaller = caller.AddClone(*inst, operands);
    inst->ReplaceAllUses(smaller);
    caller.Remove(*inst);
    changed = true;
  }
  return changed;
}

}  // namespace

bool RemoveUnusedOperands(Module& module) {
  if (std::ranges::none_of(module.Computations(), [](const auto* c) { return HasUnusedParameter(*c); })) return false;
  std::vector<bool> is_sequential(module.computation_id_limit());
  for (const Computation* computation : SequentialComputations(module)) is_sequential[computation->id()] = true;
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    if (!RemoveUnusedOperandsIn(*computation)) continue;
    changed = true;
    if (!is_sequential[computation->id()]) RemoveDeadIn(*computation);
  }
  return changed;
}

Result<bool> RemoveDead(Module& module, const PassContext&) {
  bool changed = false;
  const std::vector<Computation*> computations = module.PostOrder();
  for (size_t i = computations.size(); i-- > 0;) changed |= RemoveDeadIn(*computations[i]);
  if (RemoveUnusedOperands(module)) {
    for (Computation* computation : SequentialComputations(module)) RemoveDeadIn(*computation);
    changed = true;
  }
  module.RemoveUnreachable();  // Not reported as a change.
  return changed;
}

}  // namespace hlo
