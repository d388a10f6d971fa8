// constant_folding: what has only constant operands is computed now, by the interpreter: exact by definition.
// Broadcasts and iotas stay as they are, small in the text and free in a kernel; large results would make the module
// large.
#include <algorithm>

#include "interp/interpreter.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

bool MayFold(const Instruction& inst, const FoldingOptions& options) {
  if (inst.operand_count() == 0 || !inst.shape().IsArray() || inst.shape().HasDynamicDims()) return false;
  if (inst.Is(kSideEffect) || inst.Is(kCollective) || !inst.control_predecessors().empty()) return false;
  if (inst.Is(kControl) || inst.Is(kHandsOn) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kCustomCall)) return false;
  if (inst.Is(Opcode::kBroadcast) || inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kCopy)) return false;
  if (inst.Is(Opcode::kRngBitGenerator) || inst.Is(Opcode::kSetDimensionSize)) return false;
  if (inst.shape().NumElements() > options.result_elements) return false;
  for (const Instruction* operand : inst.operands()) {
    if (!operand->Is(Opcode::kConstant) || operand->shape().NumElements() > options.operand_elements) return false;
  }
  return CanInterpret(inst);
}

}  // namespace

Result<bool> FoldConstants(Module& module, const PassContext& context) {
  const auto options = context.Get<FoldingOptions>();
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    const std::vector<Instruction*> order = computation->PostOrder();
    // A fused computation holds nothing unused. What somebody waits for stays.
    const bool removes =
        std::ranges::all_of(order, [](const Instruction* inst) { return inst->control_predecessors().empty(); });
    for (Instruction* inst : order) {
      if (inst->removed() || inst->IsDead() || !MayFold(*inst, options) || !context.ConsumeFuel()) continue;
      std::vector<Literal> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(operand->literal());
      // What the interpreter refuses stays.
      Result<Literal> value = Evaluate(*inst, operands);
      if (!value) continue;
      value->SetLayout(inst->shape().layout());
      Instruction& constant = computation->AddConstant(std::move(*value));
      constant.SetRange(inst->range());
      inst->ReplaceAllUses(constant);
      if (removes) computation->RemoveDeadTree(*inst);
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
