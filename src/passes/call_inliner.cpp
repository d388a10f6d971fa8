// call-inliner: call(f, x) => the body of f on x. Always true; f itself goes with dce.
// fusion-dissolver: the same for fusions that come with the text (modules that some compiler has optimised): what
// shares a kernel is decided here anew.
#include <unordered_map>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

void Inline(Instruction& call) {
  Computation& caller = call.computation();
  Computation& callee = *CalledComputations(call).front();
  std::unordered_map<const Instruction*, Instruction*> copies;
  for (const Instruction* inst : callee.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst] = &call.operand(inst->parameter_number());
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies.at(operand));
    Instruction& copy = caller.AddClone(*inst, operands);
    // A body called twice has two values; neither is *the* value of the callee's instruction.
    copy.SetOrigin(-1);
    for (Instruction* before : call.control_predecessors()) copy.AddControlPredecessor(*before);
    for (const Instruction* before : inst->control_predecessors()) copy.AddControlPredecessor(*copies.at(before));
    copies[inst] = &copy;
  }
  call.ReplaceAllUses(*copies.at(&callee.root()));
  for (Instruction* user : caller.Instructions()) {
    bool waits = false;
    for (const Instruction* before : user->control_predecessors()) waits |= before == &call;
    if (!waits) continue;
    const std::vector<Instruction*> kept(user->control_predecessors().begin(), user->control_predecessors().end());
    user->ClearControlPredecessors();
    for (Instruction* before : kept)
      user->AddControlPredecessor(before == &call ? *copies.at(&callee.root()) : *before);
  }
  caller.Remove(call);
}

bool InlineEach(Module& module, const PassContext& context, Opcode opcode) {
  bool changed = false;
  // Callees first, so that what is spliced in has no calls itself.
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* inst : computation->Instructions()) {
      if (!inst->Is(opcode) || !context.ConsumeFuel()) continue;
      Inline(*inst);
      changed = true;
    }
  }
  module.RemoveUnreachable();  // Not a change: nothing that is reached is another.
  return changed;
}

}  // namespace

Result<bool> InlineCalls(Module& module, const PassContext& context) {
  return InlineEach(module, context, Opcode::kCall);
}
Result<bool> DissolveFusions(Module& module, const PassContext& context) {
  return InlineEach(module, context, Opcode::kFusion);
}

}  // namespace hlo
