// Operands of elementwise rules, and the loops over all elements. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_ELEMENTWISE_H_
#define HLO_JUDGE_BOUNDS_ELEMENTWISE_H_

#include <functional>

#include "judge/bounds/rules.h"

namespace hlo::shadow {

inline constexpr int64_t kBlock = 512;
alignas(64) inline constexpr double kNoBounds[kBlock] = {};

// Consecutive elements of an operand.
struct Lane {
  const double* value;
  const double* bound;
};
using BlockRule = std::function<void(const Lane* operands, double* value, double* bound, int64_t count)>;
using PairRule = std::function<Pair(const Pair* operands)>;

inline bool IsExact(Pair x) { return x.bound == 0; }
inline bool IsDecided(Pair x) { return std::isfinite(x.bound); }
inline bool IsNonZero(Pair x) { return std::fabs(x.value) > x.bound; }

// The largest |t - value| of a result t whose exact value is within `before` of `value`. Includes the roundings of
// `finish` and the f64 rounding of `value`.
inline double WithRounding(const Finish& finish, double value, double before) {
  const double size = (std::fabs(value) + before) * kUp;
  const double steps = HalfUlp(finish.compute, size) + HalfUlp(finish.target, size);
  return (before + steps + std::fabs(value) * kOwn) * kUp;
}

inline Pair Rounded(const Finish& finish, double value, double before) {
  // A number below the overflow threshold stays finite under one rounding to nearest. Attention masks compute the
  // lowest f32 minus 1.
  const double bound = WithRounding(finish, value, before);
  if (finish.on_grid && std::fabs(value) + bound < finish.overflow) return OnGrid(finish, value, before);
  const bool once = finish.nearest && finish.target.relative == 0;
  if (once && (std::fabs(value) + before) * kUp < finish.overflow) return {value, bound};
  Pair x = AfterOverflow(finish, value, bound);
  const bool no_nan = finish.has_infinity && !finish.is_output && !std::isnan(x.value);
  if (!std::isfinite(x.bound)) x.bound = no_nan ? kInfinity : kUndetermined;
  return x;
}

// Whether a type with this rounding represents x, which is below the overflow threshold.
inline bool Holds(const Rounding& rounding, double x) {
  if (rounding.relative == 0) return true;
  const double steps = x / (2 * HalfUlp(rounding, std::fabs(x)));
  return steps == std::nearbyint(steps);
}

// `part` selects the worst-case or the likely bounds.
inline Lane LaneOf(const ShadowValue& from, const Literal ShadowValue::* part) {
  const double* bound = BoundsOrNull(from.*part);
  if (bound == nullptr && part == &ShadowValue::likely) bound = BoundsOrNull(from.bound);
  return {Values(from.value), bound ? bound : kNoBounds};
}

// Reads an operand by blocks. A single element is repeated.
class Reader {
 public:
  Reader(const ShadowValue& from, const Literal ShadowValue::* bound, int64_t count)
      : value_(Values(from.value)),
        bound_(BoundsOrNull(from.*bound)),
        scalar_(count != 1 && from.shape.NumElements() == 1) {
    if (bound_ == nullptr && bound == &ShadowValue::likely) bound_ = BoundsOrNull(from.bound);
    if (!scalar_) return;
    std::fill_n(values_, kBlock, value_[0]);
    std::fill_n(bounds_, kBlock, bound_ ? bound_[0] : 0);
  }

  Lane At(int64_t begin) const {
    if (scalar_) return {values_, bounds_};
    return {value_ + begin, bound_ ? bound_ + begin : kNoBounds};
  }

 private:
  const double* value_;
  const double* bound_;
  bool scalar_;
  alignas(64) double values_[kBlock];
  alignas(64) double bounds_[kBlock];
};

void ForEachBlock(int64_t count, const std::function<void(int64_t begin, int64_t size)>& body);
// If an operand has likely bounds, the rule runs a second time.
ShadowValue Apply(const BlockRule& rule, const Instruction& inst, Operands operands, PrimitiveType held);
void ApplyTo(const BlockRule& rule, Operands operands, const Literal ShadowValue::* part, int64_t count, double* value,
             double* bound);
PrimitiveType WidestHeld(Operands operands);
// `rule` is null if the op does not compute each element by itself. `held` is nullopt for the widest type of the
// operands.
struct ElementRule {
  BlockRule rule;
  std::optional<PrimitiveType> held;
};
ElementRule ElementRuleOf(const Context& context, const Instruction& inst);
BlockRule Blocks(const PairRule& rule, int64_t operands);

// Both rules are null for opcodes that they do not cover.
BlockRule ArithmeticRule(Opcode opcode, const Finish& finish);
PairRule FunctionRule(Opcode opcode, const Finish& finish);
Pair MaximumOf(Pair a, Pair b);
Pair MinimumOf(Pair a, Pair b);

// ---- Rules for whole operations -------------------------------------------------------------------------------------

Result<ShadowValue> Compare(Context& context, const Instruction& inst, Operands operands);
// One decided pred can determine the result.
Result<ShadowValue> AndOr(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> IsFiniteRule(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Select(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> ConvertRule(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> ReducePrecision(Context& context, const Instruction& inst, Operands operands);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_ELEMENTWISE_H_
