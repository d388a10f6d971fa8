// reshape-mover: moves reshapes below elementwise instructions, where they may cancel. A reshape keeps the row-major
// order of elements.
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

Result<Instruction*> SinkReshape(Instruction& inst, const PassContext&) {
  if (!inst.Is(kElementwise) || inst.operand_count() == 0 || !inst.shape().IsArray() || inst.Is(Opcode::kCopy))
    return nullptr;
  // Scalars, such as bounds of a clamp, do not move.
  const auto moves = [](const Instruction& operand) {
    return operand.Is(Opcode::kReshape) && !operand.shape().IsScalar();
  };
  const Instruction* first = nullptr;
  for (const Instruction* operand : inst.operands()) {
    if (moves(*operand)) {
      if (operand->UseCount() != 1) return nullptr;
      if (first != nullptr && !SameDims(first->operand(0).shape(), operand->operand(0).shape())) return nullptr;
      first = operand;
    } else if (!(operand->Is(Opcode::kBroadcast) && operand->operand(0).shape().IsScalar()) &&
               !operand->shape().IsScalar()) {
      return nullptr;
    }
  }
  if (first == nullptr || inst.shape().IsScalar()) return nullptr;
  const Shape& dims = first->operand(0).shape();
  std::vector<Instruction*> operands;
  for (Instruction* operand : inst.operands()) {
    if (moves(*operand)) {
      operands.push_back(&operand->operand(0));
    } else if (operand->Is(Opcode::kBroadcast)) {
      operands.push_back(Step(inst, Opcode::kBroadcast, dims.WithType(operand->shape().type()), {&operand->operand(0)},
                              DimensionsAttrs{}));
    } else {
      operands.push_back(operand);
    }
  }
  Instruction* result = Step(inst, inst.opcode(), dims.WithType(inst.shape().type()), operands, inst.attributes());
  return Replace(inst, Opcode::kReshape, {result});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"R.elem.1", kElementwise, SinkReshape, Preserves::kExact, "f(reshape(x), reshape(y)) => reshape(f(x, y)), for elementwise f"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReshapeMoverRules() { return kRules; }

Result<bool> MoveReshapes(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }

}  // namespace hlo
