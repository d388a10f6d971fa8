// The rules of elementwise operations: docs/comparison.md#elementwise-rules.
//
// In rules, `value` is the exact function of the operands' values, and `before` its largest change within their bounds.
// `Rounded` adds the rounding of the result.
#include "judge/bounds/elementwise.h"

#include <algorithm>

#include "base/parallel.h"

namespace hlo::shadow {
namespace {

constexpr int64_t kGrain = 1 << 14;  // Must be a multiple of kBlock.

BlockRule RuleOf(Opcode opcode, int64_t operands, const Finish& finish) {
  if (BlockRule rule = ArithmeticRule(opcode, finish)) return rule;
  const PairRule rule = FunctionRule(opcode, finish);
  return rule ? Blocks(rule, operands) : nullptr;
}

Result<ShadowValue> NegateOrAbs(Context&, const Instruction& inst, Operands operands) {
  const ShadowValue& x = *operands[0];
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

Result<ShadowValue> Itself(Context&, const Instruction&, Operands operands) { return *operands[0]; }
Result<ShadowValue> Zero(Context&, const Instruction& inst, Operands) {
  return Splat(ToShadow(Literal::Scalar(inst.shape().type(), 0.0)), inst.shape());
}

bool GivesFloats(const Instruction& inst) { return hlo::IsFloat(inst.shape().type()); }
bool TakesFloats(const Instruction& inst) { return hlo::IsFloat(inst.operand(0).shape().type()); }
bool TakesOrGivesFloats(const Instruction& inst) { return GivesFloats(inst) || TakesFloats(inst); }
bool GivesPred(const Instruction& inst) { return inst.shape().type() == PrimitiveType::kPred; }
bool GivesArray(const Instruction& inst) { return inst.shape().IsArray(); }

// Rules for whole arrays, with the types to which they apply.
struct Row {
  Opcode opcode;
  bool (*applies)(const Instruction& inst);
  Result<ShadowValue> (*evaluate)(Context& context, const Instruction& inst, Operands operands);
};
constexpr Row kRows[] = {
    {Opcode::kAbs, GivesFloats, NegateOrAbs},
    {Opcode::kAnd, GivesPred, AndOr},
    {Opcode::kCompare, TakesFloats, Compare},
    {Opcode::kConvert, TakesOrGivesFloats, ConvertRule},
    {Opcode::kCopy, TakesOrGivesFloats, ConvertRule},
    {Opcode::kImag, GivesFloats, Zero},
    {Opcode::kIsFinite, TakesFloats, IsFiniteRule},
    {Opcode::kNegate, GivesFloats, NegateOrAbs},
    {Opcode::kOr, GivesPred, AndOr},
    {Opcode::kReal, GivesFloats, Itself},
    {Opcode::kReducePrecision, GivesFloats, ReducePrecision},
    {Opcode::kSelect, GivesArray, Select},
};

const Row* RowOf(const Instruction& inst) {
  const auto row = std::ranges::find(kRows, inst.opcode(), &Row::opcode);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

void ApplyTo(const BlockRule& rule, Operands operands, const Literal ShadowValue::* part, int64_t count, double* value,
             double* bound) {
  if (count == 1) {  // A fast path for loop counters.
    Lane lanes[3];
    double discarded;
    for (size_t k = 0; k < operands.size(); ++k) lanes[k] = LaneOf(*operands[k], part);
    return rule(lanes, value ? value : &discarded, bound, 1);
  }
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
    // With rounding to a grid, likely bounds are around other values than worst-case bounds.
    result.likely = NewBuffer(inst.shape());
    Literal around = NewBuffer(inst.shape());
    double* const middle = around.mutable_data<double>().data();
    double* const likely = result.likely.mutable_data<double>().data();
    ApplyTo(rule, operands, &ShadowValue::likely, count, middle, likely);
    const double* const value = Values(result.value);
    for (int64_t i = 0; i < count; ++i) likely[i] += std::fabs(middle[i] - value[i]);
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
  for (const Instruction* operand : inst.operands()) {
    if (IsComplex(operand->shape().type())) return false;
  }
  if (IsComplex(inst.shape().type())) return false;
  if (const Row* row = RowOf(inst)) return row->applies(inst);
  return GivesFloats(inst) && RuleOf(inst.opcode(), inst.operand_count(), {}) != nullptr;
}

ElementRule ElementRuleOf(const Context& context, const Instruction& inst) {
  if (RowOf(inst) != nullptr) return {};
  const InstructionPlan* plan = context.PlanOf(inst);
  double ulps = DefaultUlps(inst.opcode(), context.Computed(inst));
  if (plan != nullptr && plan->ulps && !context.options.widened) ulps = *plan->ulps;
  const bool rounds = hlo::RowOf(inst.opcode()).ulps > 0;
  return {RuleOf(inst.opcode(), inst.operand_count(), context.FinishOf(inst, ulps)),
          rounds ? std::optional(context.Held(inst)) : std::nullopt};
}

Result<ShadowValue> Elementwise(Context& context, const Instruction& inst, Operands operands) {
  if (const Row* row = RowOf(inst)) return row->evaluate(context, inst, operands);
  const auto [rule, held] = ElementRuleOf(context, inst);
  ShadowValue result = Apply(rule, inst, operands, held ? *held : WidestHeld(operands));
  DropZeroBound(result);
  return result;
}

}  // namespace hlo::shadow
