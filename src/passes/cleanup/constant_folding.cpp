// Replaces instructions whose operands are constants by their results, as the interpreter computes them.
#include <algorithm>

#include "base/text.h"
#include "interp/interpreter.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

std::string_view WhyNotFolded(const Instruction& inst, const FoldingOptions& options) {
  if (inst.operand_count() == 0) return "it has no operands";
  if (!inst.shape().IsArray() || inst.shape().HasDynamicDims()) return "its value is not an array of static shape";
  if (inst.Is(kSideEffect) || inst.Is(kCollective)) return "it has an effect besides its value";
  if (!inst.control_predecessors().empty()) return "it has control predecessors";
  if (inst.Is(kControl) || inst.Is(kHandsOn) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kCustomCall))
    return "it calls computations or only passes values on";
  if (inst.Is(Opcode::kBroadcast)) return "a broadcast is smaller than the constant would be";
  if (inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kCopy)) return "it changes only the layout of a value in memory";
  if (inst.Is(Opcode::kRngBitGenerator) || inst.Is(Opcode::kSetDimensionSize))
    return "its result is a random state or a dynamic size";
  if (inst.shape().NumElements() > options.result_elements)
    return "its result has more elements than constant_folding{result_elements} allows";
  for (const Instruction* operand : inst.operands()) {
    if (!operand->Is(Opcode::kConstant)) return "an operand is not a constant";
    if (operand->shape().NumElements() > options.operand_elements)
      return "an operand has more elements than constant_folding{operand_elements} allows";
  }
  return CanInterpret(inst) ? "" : "the interpreter cannot evaluate it";
}

}  // namespace

Result<bool> FoldConstants(Module& module, const PassContext& context) {
  const auto options = context.Get<FoldingOptions>();
  const bool logs = LOGS_WHY();
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    const std::vector<Instruction*> order = computation->PostOrder();
    const bool removes =
        std::ranges::all_of(order, [](const Instruction* inst) { return inst->control_predecessors().empty(); });
    for (Instruction* inst : order) {
      if (inst->removed() || inst->IsDead()) continue;
      if (const std::string_view why_not = WhyNotFolded(*inst, options); !why_not.empty()) {
        if (logs && inst->operand_count() > 0) LogWhy("constant_folding", *inst, "stays", why_not);
        continue;
      }
      if (!context.ConsumeFuel()) continue;
      std::vector<Literal> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(operand->literal());
      Result<Literal> value = Evaluate(*inst, operands);
      if (!value) {
        if (logs) LogWhy("constant_folding", *inst, "stays", value.error().message());
        continue;
      }
      value->SetLayout(inst->shape().layout());
      Instruction& constant = computation->AddConstant(std::move(*value));
      constant.SetRange(inst->range());
      if (logs) LogWhy("constant_folding", *inst, Str("=> ", ToString(constant)), "its operands are constants");
      inst->ReplaceAllUses(constant);
      if (removes) computation->RemoveDeadTree(*inst);
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
