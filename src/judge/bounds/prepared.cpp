#include "judge/bounds/prepared.h"

#include <algorithm>
#include <cstring>

#include "interp/dynamic.h"

namespace hlo::shadow {
namespace {

bool IsOther(const Instruction* x) {
  return x->shape().IsArray() && !IsFloat(x->shape().type()) && !IsComplex(x->shape().type());
}

std::byte* BytesFor(const Shape& shape, Literal& literal) {
  if (!literal.OwnsBytes() || literal.shape() != shape) literal = Literal::Uninitialized(shape);
  return literal.mutable_raw();
}
double* NumbersFor(const Shape& shape, Literal& literal) { return reinterpret_cast<double*>(BytesFor(shape, literal)); }

}  // namespace

PreparedElementwise::PreparedElementwise(const Instruction& inst)
    : inst_(inst), wide_(inst.shape().WithType(PrimitiveType::kF64)) {}

std::unique_ptr<PreparedElementwise> PreparedElementwise::Of(const Context& context, const Instruction& inst) {
  if (!inst.Is(kElementwise) || inst.shape().NumElements() == 0 || MayBeDynamic(inst)) return nullptr;
  auto prepared = std::unique_ptr<PreparedElementwise>(new PreparedElementwise(inst));
  // A copy needs no op, because it shares its operand's bytes.
  const bool copies = inst.Is(Opcode::kCopy) && inst.shape().type() == inst.operand(0).shape().type();
  if (IsOther(&inst) && std::ranges::all_of(inst.operands(), IsOther) && !copies) {
    auto op = ElementwiseOp::Make(inst);
    if (!op) return nullptr;
    prepared->op_ = *op;
    return prepared;
  }
  const auto is_float = [](const Instruction* operand) { return IsFloat(operand->shape().type()); };
  if (!std::ranges::all_of(inst.operands(), is_float) || !IsElementwiseRule(inst)) return nullptr;
  prepared->rule_ = ElementRuleOf(context, inst);
  return prepared->rule_->rule ? std::move(prepared) : nullptr;
}

bool PreparedElementwise::Run(const Context& context, Operands operands, ShadowValue& result) const {
  if (operands.size() == 1 && operands[0]->choices != nullptr) return false;
  if (result.shape != inst_.shape()) result.shape = inst_.shape();
  result.choices = nullptr;
  return rule_ ? OfFloats(context, operands, result) : OfOthers(operands, result);
}

bool PreparedElementwise::OfFloats(const Context& context, Operands operands, ShadowValue& result) const {
  const int64_t count = wide_.NumElements();
  alignas(64) double few[kBlock];
  double* bound = count <= kBlock ? few : NumbersFor(wide_, result.bound);
  result.held = rule_->held ? *rule_->held : WidestHeld(operands);
  ApplyTo(rule_->rule, operands, &ShadowValue::bound, count, NumbersFor(wide_, result.value), bound);
  bool is_zero = true, is_determined = true;
  for (int64_t i = 0; i < count; ++i) {
    is_zero = is_zero && bound[i] == 0;
    is_determined = is_determined && std::isfinite(bound[i]);
  }
  if (context.options.widened && !is_determined) return false;
  if (is_zero) {
    if (result.HasBound()) result.bound = Literal();
    if (result.HasLikely()) result.likely = Literal();
    return true;
  }
  if (bound == few) std::memcpy(NumbersFor(wide_, result.bound), few, count * sizeof(double));
  if (std::ranges::any_of(operands, [](const ShadowValue* operand) { return operand->HasLikely(); }))
    ApplyTo(rule_->rule, operands, &ShadowValue::likely, count, nullptr, NumbersFor(wide_, result.likely));
  else if (result.HasLikely()) result.likely = Literal();
  return true;
}

bool PreparedElementwise::OfOthers(Operands operands, ShadowValue& result) const {
  const std::byte* in[ElementwiseOp::kMaxOperands] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->HasOpen()) return false;
    in[i] = operands[i]->exact.raw();
  }
  op_->RunAll(in, BytesFor(inst_.shape(), result.exact), inst_.shape().NumElements());
  if (result.HasOpen()) result.open = Literal();
  return true;
}

}  // namespace hlo::shadow
