#include "passes/collectives/moved_sums.h"

#include <algorithm>
#include <ranges>

#include "passes/simplify/rules.h"

namespace hlo {
namespace {

bool MovesOrWidens(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kCopy:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose: return true;
    case Opcode::kBitcast: return inst.shape().type() == inst.operand(0).shape().type();
    // Integers are excluded, because a narrow sum wraps.
    case Opcode::kConvert:
      return IsFloat(inst.operand(0).shape().type()) && HoldsAllOf(inst.shape().type(), inst.operand(0).shape().type());
    default: return false;
  }
}

CollectiveAttrs AttrsInType(Instruction& collective, PrimitiveType type) {
  auto attrs = collective.attrs<CollectiveAttrs>();
  if (collective.shape().type() == type) return attrs;
  attrs.to_apply = &collective.module().CloneComputation(*attrs.to_apply, attrs.to_apply->name());
  for (Instruction* inst : attrs.to_apply->Instructions()) inst->SetShape(inst->shape().WithType(type));
  return attrs;
}

}  // namespace

std::optional<MovedSum> ReadMovedSum(Instruction& value, Opcode collective) {
  MovedSum sum{&value, {}, value.shape().IsArray() ? value.shape().type() : PrimitiveType::kPred};
  while (sum.collective->UseCount() == 1 && !sum.collective->IsRoot() && MovesOrWidens(*sum.collective)) {
    sum.moves.push_back(sum.collective);
    sum.collective = &sum.collective->operand(0);
  }
  const Instruction& inst = *sum.collective;
  if (!IsCollectiveOfArray(inst, collective) || inst.UseCount() != 1 || inst.IsRoot() || !CombinedBy(inst))
    return std::nullopt;
  return sum;
}

bool AreAlike(const MovedSum& a, const MovedSum& b) {
  return SameExchange(*a.collective, *b.collective) && a.collective->shape() == b.collective->shape() &&
         a.x().shape() == b.x().shape() &&
         std::ranges::equal(a.moves, b.moves,
                            [](const Instruction* x, const Instruction* y) { return SameOperation(*x, *y); });
}

Instruction& Widened(const MovedSum& sum) {
  Instruction& x = sum.x();
  if (x.shape().type() == sum.type) return x;
  return x.computation().AddLike(x, Opcode::kConvert, x.shape().WithType(sum.type), {&x});
}

Instruction& WithOperand(const MovedSum& sum, Instruction& x) {
  Instruction& collective = *sum.collective;
  Instruction* result = &x.computation().AddLike(collective, collective.opcode(), collective.shape().WithType(sum.type),
                                                 {&x}, AttrsInType(collective, sum.type));
  for (Instruction* move : std::views::reverse(sum.moves)) {
    if (move->Is(Opcode::kConvert)) continue;
    result =
        &x.computation().AddLike(*move, move->opcode(), move->shape().WithType(sum.type), {result}, move->attributes());
  }
  return *result;
}

}  // namespace hlo
