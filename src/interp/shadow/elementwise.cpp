// Elementwise operations: which rule each has, and how rules are driven over all elements:
// docs/comparison.md#elementwise-rules.
//
// Each rule gives the exact function of the exact values (`value`) and how far the function can move while its
// arguments move within their bounds (`before`). `Rounded` then adds what rounding the result costs.
#include "interp/shadow/elementwise.h"

#include <algorithm>

#include "base/parallel.h"

namespace hlo::shadow {
namespace {

constexpr int64_t kGrain = 1 << 14;  // A multiple of kBlock.

BlockRule RuleOf(Opcode opcode, int64_t operands, const Finish& finish) {
  if (BlockRule rule = ArithmeticRule(opcode, finish)) return rule;
  const PairRule rule = FunctionRule(opcode, finish);
  return rule ? Blocks(rule, operands) : nullptr;
}

void ApplyTo(const BlockRule& rule, Operands operands, const Literal ShadowValue::* part, int64_t count, double* value,
             double* bound) {
  std::vector<Reader> readers;
  readers.reserve(operands.size());
  for (const ShadowValue* operand : operands) readers.emplace_back(*operand, part, count);
  ForEachBlock(count, [&](int64_t begin, int64_t size) {
    Lane lanes[3];
    alignas(64) double discarded[kBlock];
    for (size_t k = 0; k < readers.size(); ++k) lanes[k] = readers[k].At(begin);
    rule(lanes, value ? value + begin : discarded, bound + begin, size);
  });
}

ShadowValue NegateOrAbs(const Instruction& inst, const ShadowValue& x) {
  ShadowValue result = x;
  result.shape = inst.shape();
  result.value = NewBuffer(inst.shape());
  double* out = result.value.mutable_data<double>().data();
  const double* in = Values(x.value);
  const bool negate = inst.Is(Opcode::kNegate);
  ForEachBlock(inst.shape().NumElements(), [&](int64_t begin, int64_t size) {
    for (int64_t i = begin; i < begin + size; ++i) out[i] = negate ? -in[i] : std::fabs(in[i]);
  });
  return result;
}

}  // namespace

BlockRule Blocks(const PairRule& rule, int64_t operands) {
  return [rule, operands](const Lane* in, double* value, double* bound, int64_t count) {
    Pair pairs[3];
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < operands; ++k) pairs[k] = {in[k].value[i], in[k].bound[i]};
      const Pair x = rule(pairs);
      value[i] = x.value;
      bound[i] = x.bound;
    }
  };
}

void ForEachBlock(int64_t count, const std::function<void(int64_t begin, int64_t size)>& body) {
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kBlock) body(begin, std::min(kBlock, end - begin));
  });
}

ShadowValue Apply(const BlockRule& rule, const Instruction& inst, Operands operands, PrimitiveType held) {
  ShadowValue result;
  result.shape = inst.shape();
  result.held = held;
  result.value = NewBuffer(inst.shape());
  result.bound = NewBuffer(inst.shape());
  const int64_t count = inst.shape().NumElements();
  ApplyTo(rule, operands, &ShadowValue::bound, count, result.value.mutable_data<double>().data(),
          result.bound.mutable_data<double>().data());
  if (std::ranges::any_of(operands, [](const ShadowValue* operand) { return operand->HasLikely(); })) {
    result.likely = NewBuffer(inst.shape());
    ApplyTo(rule, operands, &ShadowValue::likely, count, nullptr, result.likely.mutable_data<double>().data());
  }
  return result;
}

PrimitiveType WidestHeld(Operands operands) {
  PrimitiveType held = operands[0]->held;
  for (const ShadowValue* operand : operands) {
    if (BitWidth(operand->held) > BitWidth(held)) held = operand->held;
  }
  return held;
}

bool IsElementwiseRule(const Instruction& inst) {
  if (!inst.Is(kElementwise)) return false;
  const auto is_float = [](const Shape& shape) { return hlo::IsFloat(shape.type()); };
  for (const Instruction* operand : inst.operands()) {
    if (IsComplex(operand->shape().type())) return false;
  }
  if (IsComplex(inst.shape().type())) return false;
  switch (inst.opcode()) {
    case Opcode::kConvert:
    case Opcode::kCopy: return is_float(inst.shape()) || is_float(inst.operand(0).shape());
    case Opcode::kCompare:
    case Opcode::kIsFinite: return is_float(inst.operand(0).shape());
    case Opcode::kSelect: return inst.shape().IsArray();
    case Opcode::kAnd:
    case Opcode::kOr: return inst.shape().type() == PrimitiveType::kPred;
    case Opcode::kNegate:
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
    case Opcode::kReducePrecision: return is_float(inst.shape());
    default: return is_float(inst.shape()) && RuleOf(inst.opcode(), inst.operand_count(), {}) != nullptr;
  }
}

Result<ShadowValue> Elementwise(Context& context, const Instruction& inst, Operands operands) {
  switch (inst.opcode()) {
    case Opcode::kCompare: return Compare(context, inst, operands);
    case Opcode::kIsFinite: return IsFiniteRule(inst, *operands[0], RoundingTo(operands[0]->held, false));
    case Opcode::kAnd:
    case Opcode::kOr: return AndOr(inst, operands);
    case Opcode::kSelect: return Select(context, inst, operands);
    case Opcode::kNegate:
    case Opcode::kAbs: return NegateOrAbs(inst, *operands[0]);
    case Opcode::kReal: return *operands[0];
    case Opcode::kImag: return Splat(ToShadow(Literal::Scalar(inst.shape().type(), 0.0)), inst.shape());
    case Opcode::kReducePrecision: return ReducePrecision(context, inst, operands);
    case Opcode::kConvert:
    case Opcode::kCopy: return ConvertRule(context, inst, *operands[0]);
    default: break;
  }
  const InstructionPlan* plan = context.PlanOf(inst);
  double ulps = DefaultUlps(inst.opcode(), context.Computed(inst));
  if (plan != nullptr && plan->ulps && !context.options.widened) ulps = *plan->ulps;
  const BlockRule rule = RuleOf(inst.opcode(), inst.operand_count(), context.FinishOf(inst, ulps));
  switch (inst.opcode()) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide: {
      ShadowValue result = Apply(rule, inst, operands, context.Held(inst));
      DropZeroBound(result);
      return result;
    }
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kSign: {  // Nothing is rounded.
      ShadowValue result = Apply(rule, inst, operands, WidestHeld(operands));
      DropZeroBound(result);
      return result;
    }
    default: return Apply(rule, inst, operands, context.Held(inst));
  }
}

}  // namespace hlo::shadow
