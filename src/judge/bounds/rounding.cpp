// Rounding errors of types, of results with a precision plan, and of sums.
#include <algorithm>
#include <unordered_set>

#include "base/float_limits.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {

int SignificandBits(PrimitiveType type) {
  if (type == PrimitiveType::kF64) return 53;
  if (type == PrimitiveType::kF32) return 24;
  return FormatOf(type).mantissa_bits + 1;
}

Rounding RoundingTo(PrimitiveType type, bool ftz) {
  if (type == PrimitiveType::kF64) return {0x1p-53, ftz ? 0x1p-1022 : 0x1p-1074, std::numeric_limits<double>::max()};
  if (type == PrimitiveType::kF32) return {0x1p-24, ftz ? 0x1p-126 : 0x1p-150, 0x1.ffffffp127};
  const FloatFormat format = FormatOf(type);
  const int p = format.mantissa_bits + 1;
  const double smallest_normal = std::ldexp(1.0, 1 - format.bias);
  const double half_step = std::ldexp(smallest_normal, -p);
  const double largest = LargestFinite(format);
  return {std::ldexp(1.0, -p), ftz ? smallest_normal : half_step, largest + Binade(largest) * std::ldexp(1.0, -p)};
}

Rounding RoundingTo(int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double relative = std::ldexp(1.0, -(mantissa_bits + 1));
  const double largest_binade = std::ldexp(1.0, bias);
  return {relative, std::ldexp(1.0, 1 - bias), largest_binade * (2 - relative)};
}

namespace {

// Whether a product may become part of an fma. This is impossible if its users only compare and select.
bool MeetsASum(const Instruction& product) {
  std::vector<const Instruction*> pending{&product};
  std::unordered_set<const Instruction*> met;  // A sorting network has many paths to a user.
  while (!pending.empty()) {
    const Instruction& next = *pending.back();
    pending.pop_back();
    for (const Instruction* user : next.users()) {
      switch (user->opcode()) {
        case Opcode::kCompare: continue;
        case Opcode::kReduce:
          if (!PicksASide(*user->attrs<ReduceAttrs>().to_apply)) return true;
          continue;
        case Opcode::kSelect:
        case Opcode::kMaximum:
        case Opcode::kMinimum:
          if (met.insert(user).second) pending.push_back(user);
          continue;
        default: return true;
      }
    }
    if (next.IsRoot() && !next.Is(Opcode::kTuple)) return true;
  }
  return false;
}

}  // namespace

bool Context::IsOutput(const Instruction& inst) const {
  if (top == nullptr || &inst.computation() != top) return false;
  if (inst.IsRoot()) return true;
  return top->root().Is(Opcode::kTuple) &&
         std::ranges::find(top->root().operands(), &inst) != top->root().operands().end();
}

PrimitiveType Context::Held(const Instruction& inst) const {
  if (options.widened) return PrimitiveType::kF64;
  const InstructionPlan* plan = PlanOf(inst);
  if (plan != nullptr && plan->hold && !IsOutput(inst)) return *plan->hold;
  return inst.shape().type();
}

PrimitiveType Context::Computed(const Instruction& inst) const {
  if (options.widened) return PrimitiveType::kF64;
  const InstructionPlan* plan = PlanOf(inst);
  const PrimitiveType type = plan != nullptr && plan->hold ? *plan->hold : inst.shape().type();
  return BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

Finish Context::FinishOf(const Instruction& inst, double ulps) const {
  const PrimitiveType compute = Computed(inst);
  const PrimitiveType held = Held(inst);
  Finish finish;
  finish.held = held;
  finish.compute = RoundingTo(compute, ftz());
  finish.compute.relative *= 2 * ulps;
  finish.compute.least *= 2 * ulps;
  finish.nearest = ulps == 0.5;
  if (held != compute) finish.target = RoundingTo(held, ftz());
  finish.overflow = RoundingTo(held, ftz()).overflow;
  finish.has_infinity = BitWidth(held) >= 32 || FormatOf(held).specials == Specials::kIeee;
  finish.is_output = IsOutput(inst);
  finish.as_computed = options.widened;
  const InstructionPlan* plan = PlanOf(inst);
  const bool fixed = options.widened || (plan != nullptr && plan->hold);
  const bool contracts =
      inst.Is(Opcode::kMultiply) && !options.widened && (options.plan == nullptr || options.plan->contract);
  const bool may_contract = contracts && MeetsASum(inst);
  finish.may_stay_wide = !finish.is_output && (may_contract || (!fixed && BitWidth(held) < 32));
  const bool has_grid = IsFloat(held) && held != PrimitiveType::kF64 && held != PrimitiveType::kF8E8M0FNU && !ftz();
  finish.on_grid = has_grid && fixed && !options.widened && *plan->hold == held && !may_contract;
  return finish;
}

Pair AfterOverflow(const Finish& finish, double value, double bound) {
  const double size = std::fabs(value);
  if (!(size + bound >= finish.overflow)) return {value, bound};  // Also keeps a NaN bound.
  if (finish.is_output) return {value, bound};
  if (finish.may_stay_wide || size - bound < finish.overflow) return {value, kUndetermined};
  return {std::copysign(std::numeric_limits<double>::infinity(), value), 0};
}

SumRule SumRuleOf(const Context& context, const Instruction& inst, int64_t terms, int product_bits) {
  const InstructionPlan* plan = context.PlanOf(inst);
  SumPlan sum = plan != nullptr && plan->sum ? *plan->sum : DefaultSum(inst.opcode(), inst.shape().type());
  if (context.options.widened) sum = {.accumulator = PrimitiveType::kF64};
  const auto gamma = [](double k, double u) {
    return k * u >= 0.5 ? std::numeric_limits<double>::max() : k * u / (1 - k * u);
  };
  const auto unit = [&](PrimitiveType type) {
    return std::ldexp(sum.rounding == SumRounding::kTruncate ? 2.0 : 1.0, -SignificandBits(type));
  };
  const double u = unit(sum.accumulator);
  const int64_t any_order = std::max<int64_t>(0, terms - 1);
  double chain = sum.longest_chain == 0 ? any_order : std::min<int64_t>(any_order, sum.longest_chain);

  SumRule rule;
  rule.finish = context.FinishOf(inst, 0.5);
  rule.finish.compute = kNoRounding;  // The bound contains the roundings of the additions.
  if (rule.finish.held == sum.accumulator) {
    rule.finish.target = kNoRounding;
  } else {
    rule.finish.target = RoundingTo(rule.finish.held, context.ftz());
  }
  // Products are rounded, unless the accumulator represents them exactly.
  const bool exact_products = product_bits == 0 || product_bits <= SignificandBits(sum.accumulator);
  if (!exact_products) {
    chain += 1;
    rule.each = terms * RoundingTo(sum.accumulator, context.ftz()).least;
  }
  rule.worst = gamma(chain, u);
  if (sum.promote_every != 0 && sum.promote_every < terms) {
    const int64_t promotions = terms / sum.promote_every + 1;
    rule.worst = gamma(sum.promote_every, u) + gamma(promotions, unit(sum.promoted)) * 1.01;
  }
  const double own = gamma(terms + 1, kOwn);
  // Truncation errors have a mean, so they grow with h, not with its root.
  rule.likely = sum.rounding == SumRounding::kTruncate ? rule.worst : std::min(rule.worst, 6 * std::sqrt(chain) * u);
  rule.worst += own;
  rule.likely += own;
  rule.largest_integer = std::ldexp(1.0, SignificandBits(sum.accumulator));
  return rule;
}

bool AreIntegers(const ShadowValue& value) {
  return !value.HasBound() &&
         std::ranges::all_of(value.value.data<double>(), [](double x) { return std::nearbyint(x) == x; });
}

bool Includes(PrimitiveType wide, PrimitiveType narrow) {
  const Rounding a = RoundingTo(wide, false), b = RoundingTo(narrow, false);
  return a.relative <= b.relative && a.least <= b.least && a.overflow >= b.overflow;
}

}  // namespace hlo::shadow
