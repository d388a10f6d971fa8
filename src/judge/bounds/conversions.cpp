// Bounds of convert and reduce-precision. Rules: docs/comparison.md#elementwise-rules.
#include <algorithm>
#include <limits>

#include "interp/ops/reduce_precision.h"
#include "judge/bounds/elementwise.h"

namespace hlo::shadow {
namespace {

// Numbers that are not positive become NaN, because f8e8m0fnu has neither 0 nor a sign.
Pair AboveZero(const Pair* in) {
  const auto [x, e] = in[0];
  if (!IsDecided(in[0])) return {0, kUndetermined};
  if (x > e) return {x, e};
  return x + e <= 0 || e == 0 ? Pair{std::numeric_limits<double>::quiet_NaN(), 0} : Pair{0, kUndetermined};
}

ShadowValue FloatToFloat(Context& context, const Instruction& inst, const ShadowValue& x) {
  const PrimitiveType held = context.Held(inst);
  const PrimitiveType to = inst.shape().type();
  if (context.options.widened && to == PrimitiveType::kF8E8M0FNU && x.shape.type() != to) {
    const ShadowValue* operands[] = {&x};
    return Apply(Blocks(AboveZero, 1), inst, operands, held);
  }
  if (context.options.widened || Includes(held, x.held)) {
    ShadowValue result = x;
    result.shape = inst.shape();
    // HoldInFormat converts infinities and the sign of 0 to the target's own.
    if (BitWidth(held) <= 8 && FormatOf(held).specials != FormatOf(x.held).specials) result.held = held;
    return result;
  }
  Finish finish = context.FinishOf(inst, 0.5);
  finish.compute = kNoRounding;
  finish.target = RoundingTo(held, context.ftz());
  const auto rule = [finish](const Pair* in) -> Pair {
    if (!IsDecided(in[0])) return {0, kUndetermined};
    if (!std::isfinite(in[0].value)) return {in[0].value, 0};
    return Rounded(finish, in[0].value, in[0].bound);
  };
  const ShadowValue* operands[] = {&x};
  if (to == PrimitiveType::kF8E8M0FNU) {
    // Numbers that are not positive become NaN, or stay in a wider type.
    const auto above_zero = [rule](const Pair* in) -> Pair {
      return in[0].value > in[0].bound ? rule(in) : Pair{0, kUndetermined};
    };
    return Apply(Blocks(above_zero, 1), inst, operands, held);
  }
  const double overflow = finish.overflow;
  const PairRule careful = rule;
  return Apply(
      [finish, overflow, careful](const Lane* in, double* value, double* bound, int64_t count) {
        const double *a = in[0].value, *ea = in[0].bound;
        int64_t fine = 0;
        for (int64_t i = 0; i < count; ++i) {
          const double size = (std::fabs(a[i]) + ea[i]) * kUp;
          value[i] = a[i];
          bound[i] = (ea[i] + HalfUlp(finish.target, size)) * kUp;
          fine += std::fabs(a[i]) + bound[i] < overflow ? 1 : 0;
        }
        for (int64_t i = 0; (finish.on_grid || fine != count) && i < count; ++i) {
          const Pair pair{a[i], ea[i]};
          const Pair y = careful(&pair);
          value[i] = y.value;
          bound[i] = y.bound;
        }
      },
      inst, operands, held);
}

ShadowValue IntegerToFloat(Context& context, const Instruction& inst, const ShadowValue& x) {
  const PrimitiveType held = context.Held(inst);
  const Finish finish = context.FinishOf(inst, 0.5);
  const Rounding target = RoundingTo(held, context.ftz()), single = RoundingTo(PrimitiveType::kF32, false);
  const double whole = 1 / target.relative;
  ShadowValue result;
  result.shape = inst.shape();
  result.held = held;
  result.value = NewBuffer(inst.shape());
  result.bound = NewBuffer(inst.shape());
  double* value = result.value.mutable_data<double>().data();
  double* bound = result.bound.mutable_data<double>().data();
  const bool is_u64 = x.shape.type() == PrimitiveType::kU64;
  const bool has_no_zero = inst.shape().type() == PrimitiveType::kF8E8M0FNU;
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const int64_t n = x.exact.GetInt(i);
    value[i] = is_u64 ? static_cast<double>(static_cast<uint64_t>(n)) : static_cast<double>(n);
    const double size = std::fabs(value[i]);
    double e = size < whole ? 0 : HalfUlp(target, size) + size * kOwn;
    // 64-bit integers may be converted to f32 first.
    const bool by_single = size >= 0x1p24 && BitWidth(held) < 32;
    if (by_single) e += HalfUlp(single, size);
    if (finish.on_grid && !by_single && size < 0x1p53 && size + e < finish.overflow) {
      value[i] = Nearest(target, value[i]);
      e = 0;
    }
    if (x.HasOpen() && x.open.GetInt(i) != 0) e = kUndetermined;
    Pair pair = AfterOverflow(finish, value[i], e * kUp);
    if (has_no_zero && value[i] <= 0 && IsDecided(pair))
      pair = context.options.widened ? Pair{std::numeric_limits<double>::quiet_NaN(), 0} : Pair{0, kUndetermined};
    value[i] = pair.value;
    bound[i] = pair.bound;
  }
  DropZeroBound(result);
  return result;
}

// To integers: truncates and saturates, and NaN becomes 0. To pred: whether x is not 0. The result is undetermined if
// the bound permits several.
ShadowValue FloatToInteger(const Instruction& inst, const ShadowValue& x) {
  const PrimitiveType type = inst.shape().type();
  const int bits = BitWidth(type);
  const double highest = std::ldexp(1.0, IsSigned(type) ? bits - 1 : bits);
  const double lowest = IsSigned(type) ? -highest : 0;
  const auto convert = [&](double v) -> int64_t {
    if (std::isnan(v)) return 0;
    if (v >= highest)
      return static_cast<int64_t>(IsSigned(type) ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits));
    if (v <= lowest) return IsSigned(type) ? static_cast<int64_t>(~uint64_t{0} << (bits - 1)) : 0;
    return v >= 0x1p63 ? static_cast<int64_t>(static_cast<uint64_t>(v)) : static_cast<int64_t>(v);
  };
  ShadowValue result;
  result.shape = inst.shape();
  result.exact = Literal(inst.shape());
  Literal open(inst.shape().WithType(PrimitiveType::kPred));
  auto undecided = open.mutable_data<uint8_t>();
  const double* value = Values(x.value);
  const double* bound = BoundsOrNull(x.bound);
  bool any_open = false;
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const double e = bound ? bound[i] : 0;
    if (type == PrimitiveType::kPred) {
      result.exact.SetInt(i, value[i] != 0);
      undecided[i] = e != 0 && !(std::fabs(value[i]) > e);
    } else {
      result.exact.SetInt(i, convert(value[i]));
      undecided[i] = e != 0 && !(std::isfinite(e) && convert(value[i] - e) == convert(value[i] + e));
    }
    any_open = any_open || undecided[i] != 0;
  }
  if (any_open) result.open = std::move(open);
  return result;
}

// Rounding is monotone, so results are between the rounded ends of the interval. Two modules that round the same x
// agree, even if only one has a bound.
auto ReducedBetween(const ReducedPrecision& to) {
  return [to](const Pair* in) -> Pair {
    const auto [x, e] = in[0];
    if (!IsDecided(in[0])) return {0, kUndetermined};
    if (!std::isfinite(x)) return {Reduced(to, x), 0};  // Without mantissa bits, a NaN becomes infinite.
    const double middle = Reduced(to, x), low = Reduced(to, x - e * kUp), high = Reduced(to, x + e * kUp);
    if (low == high) return {middle, 0};
    if (!std::isfinite(low) || !std::isfinite(high)) return {0, kUndetermined};
    return {middle, std::max(high - middle, middle - low) * kUp};
  };
}

}  // namespace

Result<ShadowValue> ConvertRule(Context& context, const Instruction& inst, Operands operands) {
  const ShadowValue& x = *operands[0];
  if (!hlo::IsFloat(inst.shape().type())) return FloatToInteger(inst, x);
  return x.IsFloat() ? FloatToFloat(context, inst, x) : IntegerToFloat(context, inst, x);
}

Result<ShadowValue> ReducePrecision(Context& context, const Instruction& inst, Operands operands) {
  const ReducedPrecision to = ReducedPrecisionOf(inst);
  if (context.options.widened) {
    // Reducing to the element's own format does nothing.
    const bool has_bits = to.mantissa_bits >= SignificandBits(inst.shape().type()) - 1;
    if (has_bits && to.exponent_bits >= to.own_exponent_bits) return *operands[0];
    return Apply(Blocks(ReducedBetween(to), 1), inst, operands, operands[0]->held);
  }
  // The interpreter rounds exact operands like every implementation.
  if (!operands[0]->HasBound()) {
    auto exact = ThroughInterpreter(context, inst, operands);
    if (exact && !exact->HasBound()) {
      exact->held = operands[0]->held;
      return std::move(*exact);
    }
  }
  const ReducePrecisionAttrs& attrs = inst.attrs<ReducePrecisionAttrs>();
  const Rounding own = RoundingTo(inst.shape().type(), context.ftz());
  const bool flushes = attrs.exponent_bits < to.own_exponent_bits;
  Rounding reduced = RoundingTo(static_cast<int>(std::min(attrs.exponent_bits, to.own_exponent_bits)),
                                std::min<int>(attrs.mantissa_bits, 52));
  if (!flushes) reduced.least = to.step / 2;
  Finish finish = context.FinishOf(inst, 0.5);
  finish.compute = kNoRounding;
  finish.on_grid = false;
  finish.target = {std::max(own.relative, reduced.relative), std::max(own.least, reduced.least), 0};
  finish.overflow = std::min(own.overflow, reduced.overflow);
  // The comparison of outputs knows only the declared type's overflow threshold.
  finish.is_output = finish.is_output && reduced.overflow >= own.overflow;
  const auto rule = [finish, to](const Pair* in) -> Pair {
    if (!IsDecided(in[0])) return {0, kUndetermined};
    if (!std::isfinite(in[0].value)) return {Reduced(to, in[0].value), 0};
    return Rounded(finish, in[0].value, in[0].bound);
  };
  return Apply(Blocks(rule, 1), inst, operands, operands[0]->held);
}

}  // namespace hlo::shadow
