// Ops that passes write as others, as those; and calls of libraries as what they mean.
#include "interp/library_call.h"
#include "interp/shadow/rules.h"
#include "ir/expansions.h"

namespace hlo::shadow {
namespace {

using Expansion = Instruction* (*)(Instruction& inst);
constexpr std::pair<Opcode, Expansion> kExpansions[] = {
    {Opcode::kScan, ExpandScan}, {Opcode::kScaledDot, ExpandScaledDot}, {Opcode::kRaggedDot, ExpandRaggedDot}};

Expansion ExpansionOf(const Instruction& inst) {
  for (const auto& [opcode, expansion] : kExpansions) {
    if (inst.Is(opcode)) return expansion;
  }
  return nullptr;
}

}  // namespace

bool IsComposite(const Instruction& inst) { return ExpansionOf(inst) != nullptr; }

Result<ShadowValue> Composite(Context& context, const Instruction& inst, Operands operands) {
  Module module("composite");
  Computation& entry = module.AddComputation("entry");
  module.SetEntry(entry);
  std::vector<Instruction*> parameters;
  for (const Instruction* operand : inst.operands())
    parameters.push_back(&entry.AddParameter(std::ssize(parameters), operand->shape()));
  Instruction* const expanded = ExpansionOf(inst)(entry.AddClone(inst, inst.shape(), parameters));
  if (expanded == nullptr) return Interpreted(context, inst, operands);
  entry.SetRoot(*expanded);
  const ShadowOptions options = {.widened = true, .max_loop_iterations = context.options.max_loop_iterations};
  Context inner = {.options = options, .top = &entry, .depth = context.depth};
  ShadowValue result = TRY(Run(inner, entry, operands));
  result.shape = inst.shape();
  return result;
}

// The results that the target defines have bounds; workspace is nobody's business.
Result<ShadowValue> LibraryCall(Context& context, const Instruction& inst, Operands operands) {
  const auto meaning = TRY(MeaningOf(inst));
  ShadowOptions options = {.widened = context.options.widened,
                           .max_loop_iterations = context.options.max_loop_iterations};
  Context inner = {.options = options, .top = &meaning->entry(), .depth = context.depth};
  ShadowValue result = TRY(Run(inner, meaning->entry(), operands));
  context.heuristic |= inner.heuristic;
  if (!inst.shape().IsTuple()) return std::move(result.elements.front());
  result.shape = inst.shape();
  for (auto i = std::ssize(result.elements); i < std::ssize(inst.shape().elements()); ++i)
    result.elements.push_back(ToShadow(Literal(inst.shape().element(i))));
  return result;
}

}  // namespace hlo::shadow
