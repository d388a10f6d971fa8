// What the elementwise rules of the shadow share: how a rule sees its operands, and how it is driven over all elements.
// Private to interp/shadow*.cpp.
#ifndef HLO_INTERP_SHADOW_ELEMENTWISE_H_
#define HLO_INTERP_SHADOW_ELEMENTWISE_H_

#include <functional>

#include "interp/shadow/rules.h"

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

// |t - value| for a result whose exact value is within `before` of `value`: R(|value| + before) for each rounding, and
// the f64 rounding of `value` itself.
inline double WithRounding(const Finish& finish, double value, double before) {
  const double size = (std::fabs(value) + before) * kUp;
  const double steps = HalfUlp(finish.compute, size) + HalfUlp(finish.target, size);
  return (before + steps + std::fabs(value) * kOwn) * kUp;
}

inline Pair Rounded(const Finish& finish, double value, double before) {
  // One rounding to the nearest of a number below the threshold gives a finite number: the least number of f32 minus 1
  // is the least number, as in the masks of attention.
  const double bound = WithRounding(finish, value, before);
  if (finish.on_grid && std::fabs(value) + bound < finish.overflow) return OnGrid(finish, value, before);
  const bool once = finish.nearest && finish.target.relative == 0;
  if (once && (std::fabs(value) + before) * kUp < finish.overflow) return {value, bound};
  Pair x = AfterOverflow(finish, value, bound);
  const bool no_nan = finish.has_infinity && !finish.is_output && !std::isnan(x.value);
  if (!std::isfinite(x.bound)) x.bound = no_nan ? kInfinity : kUndetermined;
  return x;
}

// Has a type that is rounded to like this the number x, below its overflow?
inline bool Holds(const Rounding& rounding, double x) {
  if (rounding.relative == 0) return true;
  const double steps = x / (2 * HalfUlp(rounding, std::fabs(x)));
  return steps == std::nearbyint(steps);
}

// Of an operand, from its first element on, with one of the two bounds.
inline Lane LaneOf(const ShadowValue& from, const Literal ShadowValue::* part) {
  const double* bound = BoundsOrNull(from.*part);
  if (bound == nullptr && part == &ShadowValue::likely) bound = BoundsOrNull(from.bound);
  return {Values(from.value), bound ? bound : kNoBounds};
}

// Elements [begin, begin + count) of an operand, which may be one scalar for all.
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
// Value and bound, and once more with the operands' likely bounds where there are some.
ShadowValue Apply(const BlockRule& rule, const Instruction& inst, Operands operands, PrimitiveType held);
// One of the two bounds, and the value unless it is null.
void ApplyTo(const BlockRule& rule, Operands operands, const Literal ShadowValue::* part, int64_t count, double* value,
             double* bound);
PrimitiveType WidestHeld(Operands operands);
// Of an instruction whose rule is one of single elements, else null; and the type its results are held in, nothing
// being that of the operands.
struct ElementRule {
  BlockRule rule;
  std::optional<PrimitiveType> held;
};
ElementRule ElementRuleOf(const Context& context, const Instruction& inst);
// A rule for blocks from one for elements.
BlockRule Blocks(const PairRule& rule, int64_t operands);

// The rule of add, subtract, multiply, divide, maximum or minimum; or null.
BlockRule ArithmeticRule(Opcode opcode, const Finish& finish);
// Of an opcode that takes one element at a time; or null.
PairRule FunctionRule(Opcode opcode, const Finish& finish);
Pair MaximumOf(Pair a, Pair b);
Pair MinimumOf(Pair a, Pair b);

// ---- Rules of whole operations
// ---------------------------------------------------------------------------------------

Result<ShadowValue> Compare(Context& context, const Instruction& inst, Operands operands);
// Of pred: one side may decide, whatever the other is.
Result<ShadowValue> AndOr(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> IsFiniteRule(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Select(Context& context, const Instruction& inst, Operands operands);
// Of floats to floats, integers to floats and floats to integers.
Result<ShadowValue> ConvertRule(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> ReducePrecision(Context& context, const Instruction& inst, Operands operands);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_ELEMENTWISE_H_
