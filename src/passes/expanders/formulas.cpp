#include "passes/pass.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {

// Maps floats to signed integers in the same total order, -NaN < -inf < ... < -0 < +0 < ... < NaN: takes their bits,
// and inverts all others if the sign is set.
Instruction* OrderKey(Instruction& inst, Instruction* x) {
  const int bits = BitWidth(x->shape().type());
  const PrimitiveType type = bits == 16 ? PrimitiveType::kS16 : bits == 32 ? PrimitiveType::kS32 : PrimitiveType::kS64;
  const Shape shape = x->shape().WithType(type);
  const auto all = [&](int64_t value) {
    Instruction* const scalar = &inst.computation().AddConstant(Literal::Scalar(type, value));
    return shape.IsScalar() ? scalar : Step(inst, Opcode::kBroadcast, shape, {scalar}, DimensionsAttrs{});
  };
  Instruction* const key = Step(inst, Opcode::kBitcastConvert, shape, {x});
  Instruction* const negative = Step(inst, Opcode::kCompare, shape.WithType(PrimitiveType::kPred), {key, all(0)},
                                     CompareAttrs{ComparisonDirection::kLt, ComparisonType::kDefault});
  const auto largest = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  Instruction* const turned = Step(inst, Opcode::kXor, shape, {key, all(largest)});
  return Step(inst, Opcode::kSelect, shape, {negative, turned, key});
}

// bf16 is compared by its own 16 bits. XLA converts to f32, which may not keep the bits of a NaN.
Result<Instruction*> ExpandTotalOrder(Instruction& inst, const PassContext&) {
  const auto& attrs = inst.attrs<CompareAttrs>();
  Instruction *const a = &inst.operand(0), *const b = &inst.operand(1);
  const PrimitiveType type = a->shape().type();
  if (attrs.type != ComparisonType::kTotalOrder || !IsFloat(type) || BitWidth(type) < 16) return nullptr;
  if (a->shape().HasDynamicDims()) return nullptr;
  return Replace(inst, Opcode::kCompare, {OrderKey(inst, a), OrderKey(inst, b)},
                 CompareAttrs{attrs.direction, ComparisonType::kDefault});
}

// If x is far below 0, the exponential is infinite, and the quotient 0.
Result<Instruction*> ExpandLogistic(Instruction& inst, const PassContext&) {
  if (!HasNegatives(inst.shape().type())) return nullptr;
  Instruction* const one = ConstantLike(inst, 1);
  Instruction* const negated = Replace(inst, Opcode::kNegate, {&inst.operand(0)});
  Instruction* const sum = Replace(inst, Opcode::kAdd, {one, Replace(inst, Opcode::kExp, {negated})});
  return Replace(inst, Opcode::kDivide, {one, sum});
}

// clang-format off: tables.
constexpr Rule kComparisonRules[] = {
    {"X.cmp.1", Opcode::kCompare, ExpandTotalOrder, Preserves::kExact, "compare(a, b), type=TOTALORDER => compare of integers that have the order of the floats"},
};
constexpr Rule kLogisticRules[] = {
    {"X.logi.1", Opcode::kLogistic, ExpandLogistic, Preserves::kChangesPrecision, "logistic(x) => 1 / (1 + exp(-x))"},
};
// clang-format on

}  // namespace

std::span<const Rule> ComparisonRules() { return kComparisonRules; }
std::span<const Rule> LogisticRules() { return kLogisticRules; }

Result<bool> ExpandComparisons(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kComparisonRules);
}
Result<bool> ExpandLogistics(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kLogisticRules);
}

}  // namespace hlo
