// Bounds of operands keep floats finite and in the domain.
#include <cmath>

#include "driver/fuzz/grower.h"
#include "interp/functions.h"

namespace hlo {
namespace {

using enum PrimitiveType;

bool IsFloatOrComplex(PrimitiveType type) { return IsFloat(type) || IsComplex(type); }
bool HasBits(PrimitiveType type) { return IsInteger(type) || type == kPred; }

Instruction& AnyLike(Grower& g, const Instruction& x) { return g.Any(x.shape().type(), x.shape().dims()); }

bool KeepWithin(Grower& g, Instruction& inst, double low, double high) {
  g.SetInterval(inst, {low, high});
  g.Keep(inst);
  return true;
}

// Brings a value into the domain, away from poles, and away from 0 if the domain begins there, where a square root is
// too steep.
Instruction& Tamed(Grower& g, const FloatFunction& function, Instruction& x) {
  const auto& [domain, made_up, samples, slope, period, tame, tame_complex, complex_values, weight] = function.facts;
  if (domain.high < HUGE_VAL) return g.Bounded(x, 0.75 * domain.high);
  if (domain.low > -HUGE_VAL) return g.Positive(x, domain.low == 0 ? 0.25 : std::max(0.0, made_up.low));
  if (IsComplex(x.shape().type())) return g.Bounded(x, tame_complex);
  const double limit = Grower::LimitOf(x.shape().type());
  const bool too_much = tame < HUGE_VAL && function.f64(tame) > limit;
  return g.Bounded(x, too_much ? std::min(tame, std::log(limit)) : tame);
}

Interval ValuesOf(const FloatFunction& function, Interval x) {
  if (function.course == Course::kWaves) return {-1, 1};
  const double a = function.f64(std::max(x.low, function.facts.domain.low)), b = function.f64(x.high);
  const double between = function.course == Course::kFallsThenRises && x.low < 0 && x.high > 0 ? function.f64(0) : a;
  return {std::min({a, b, between}), std::max(a, b)};
}

bool GrowFunction(Grower& g, Opcode opcode) {
  const FloatFunction& function = *FloatFunctionOf(opcode);
  Instruction& x =
      Tamed(g, function,
            g.PickOf([&](PrimitiveType type) { return IsFloat(type) || (function.of_complex && IsComplex(type)); }));
  const Interval is = g.IntervalOf(x);
  Interval values = ValuesOf(function, is);
  if (IsComplex(x.shape().type())) {
    const double most = function.facts.complex_values > 0 ? function.facts.complex_values : is.size() + 4;
    values = {-most, most};
  }
  // In types with one mantissa bit, rounding moves a value by up to a quarter.
  return KeepWithin(g, g.Add(opcode, {&x}), values.low - values.size() / 4, values.high + values.size() / 4);
}

bool GrowRounding(Grower& g, Opcode opcode) {
  Instruction& x = g.PickOf(IsFloat);
  const double size = g.IntervalOf(x).size();
  return KeepWithin(g, g.Add(opcode, {&x}), -size - 1, size + 1);
}

bool GrowSignUnary(Grower& g, Opcode opcode) {
  const bool unsigned_too = opcode == Opcode::kNegate;
  Instruction& x = g.PickOf([&](PrimitiveType type) {
    return IsSigned(type) || IsFloatOrComplex(type) || (unsigned_too && IsUnsigned(type));
  });
  const Interval is = g.IntervalOf(x);
  Instruction& inst = g.Add(opcode, {&x});
  if (opcode == Opcode::kNegate) return KeepWithin(g, inst, -is.high, -is.low);
  if (opcode == Opcode::kSign) return KeepWithin(g, inst, -1, 1);
  return KeepWithin(g, inst, 0, (IsComplex(x.shape().type()) ? 1.5 : 1) * is.size());
}

bool GrowBitUnary(Grower& g, Opcode opcode) {
  g.Keep(g.Add(opcode, {&g.PickOf(opcode == Opcode::kNot ? HasBits : IsInteger)}));
  return true;
}

bool GrowIsFinite(Grower& g, Opcode opcode) {
  g.Keep(g.Add(opcode, {&g.PickOf(IsFloat)}));
  return true;
}

bool GrowAsItIs(Grower& g, Opcode opcode) {
  Instruction& x = g.PickOf(IsArrayType);
  const Interval is = g.IntervalOf(x);
  return KeepWithin(g, g.Add(opcode, {&x}), is.low, is.high);
}

bool GrowRealImag(Grower& g, Opcode opcode) {
  Instruction& x = g.PickOf(IsFloatOrComplex);
  const double size = g.IntervalOf(x).size();
  return KeepWithin(g, g.Add(opcode, {&x}), -size, size);
}

bool GrowComplex(Grower& g, Opcode opcode) {
  Instruction& real = g.PickOf([](PrimitiveType type) { return type == kF32 || type == kF64; });
  Instruction& imaginary = AnyLike(g, real);
  const double size = std::max(g.IntervalOf(real).size(), g.IntervalOf(imaginary).size());
  return KeepWithin(g, g.Add(opcode, {&real, &imaginary}), -size, size);
}

bool GrowConvert(Grower& g, Opcode) {
  Instruction& x = g.PickOf(IsArrayType);
  PrimitiveType to = g.AnyType();
  if (IsComplex(x.shape().type()) && !IsComplex(to)) to = kC64;
  if (to == x.shape().type()) return false;
  g.Keep(g.Convert(x, to));
  return true;
}

// Converts to integers of at most the same width: floats from arbitrary bits would have no bound.
bool GrowBitcastConvert(Grower& g, Opcode opcode) {
  Instruction& x = g.PickOf([](PrimitiveType type) { return HasBits(type) || IsFloat(type); });
  const PrimitiveType from = x.shape().type();
  Dims dims = x.shape().dims();
  PrimitiveType to = kU8;
  switch (from == kPred ? 8 : BitWidth(from)) {
    case 4: to = from == kS4 ? kU4 : kS4; break;
    case 8: to = g.chance.OneOf({kS8, kU8}); break;
    case 16: to = g.chance.OneOf({kS16, kU16}); break;
    case 32: to = g.chance.OneOf({kS32, kU32, kU16}); break;
    case 64: to = g.chance.OneOf({kS64, kU64, kU32, kS8}); break;
    default: return false;
  }
  const int ratio = (from == kPred ? 8 : BitWidth(from)) / BitWidth(to);
  if (ratio > 1) dims.push_back(ratio);
  if (ratio > 1 && (x.shape().NumElements() * ratio > g.max_elems() || g.scalars_only())) return false;
  if (from == to) return false;
  g.Keep(g.AddShaped(opcode, Shape(to, dims), {&x}));
  return true;
}

bool GrowReducePrecision(Grower& g, Opcode opcode) {
  Instruction& x = g.PickOf([](PrimitiveType type) { return IsFloat(type) && BitWidth(type) >= 16; });
  const Interval is = g.IntervalOf(x);
  // With five exponent bits, the fewest, the largest number is at least 32768.
  const ReducePrecisionAttrs attrs{g.chance.OneOf<int64_t>({5, 6, 8, 11}),
                                   g.chance.OneOf<int64_t>({0, 1, 2, 7, 10, 23})};
  return KeepWithin(g, g.Add(opcode, {&x}, attrs), 1.5 * is.low, 1.5 * is.high);
}

bool GrowBinary(Grower& g, Opcode opcode) {
  const bool pred_too = opcode != Opcode::kSubtract && opcode != Opcode::kDivide && opcode != Opcode::kRemainder &&
                        opcode != Opcode::kPower;
  const bool complex_too = opcode != Opcode::kRemainder;
  Instruction* a =
      &g.PickOf([&](PrimitiveType type) { return (pred_too || type != kPred) && (complex_too || !IsComplex(type)); });
  Instruction* b = &AnyLike(g, *a);
  if (!IsFloatOrComplex(a->shape().type())) {
    g.Keep(g.Add(opcode, {a, b}));
    return true;
  }
  const double limit = Grower::LimitOf(a->shape().type());
  const bool complex = IsComplex(a->shape().type());
  // A complex divisor or base cannot be kept away from 0 by |b| + c.
  if (complex && (opcode == Opcode::kDivide || opcode == Opcode::kPower)) {
    b = &g.Splat(b->shape().type(), b->shape().dims(), 2);
    a = &g.Bounded(*a, 8);
    return KeepWithin(g, g.Add(opcode, {a, b}), -160, 160);
  }
  if (opcode == Opcode::kDivide || opcode == Opcode::kRemainder) b = &g.Positive(*b, 0.25);
  if (opcode == Opcode::kPower) {
    const double small = limit < 100 ? 1 : 4;
    a = &g.Bounded(g.Positive(g.Bounded(*a, small), 0.5), small);
    b = &g.Bounded(*b, 2);
    return KeepWithin(g, g.Add(opcode, {a, b}), 0, 256);
  }
  if (opcode == Opcode::kMultiply) {
    a = &g.Bounded(*a, limit / 2);
    b = &g.Bounded(*b, limit < 100 ? 2 : limit / 2);
  }
  const Interval x = g.IntervalOf(*a), y = g.IntervalOf(*b);
  Instruction& inst = g.Add(opcode, {a, b});
  switch (opcode) {
    case Opcode::kAdd: return KeepWithin(g, inst, x.low + y.low, x.high + y.high);
    case Opcode::kSubtract: return KeepWithin(g, inst, x.low - y.high, x.high - y.low);
    case Opcode::kMultiply: {
      const double size = (complex ? 2 : 1) * x.size() * y.size();
      return KeepWithin(g, inst, -size, size);
    }
    case Opcode::kDivide: return KeepWithin(g, inst, -4 * x.size(), 4 * x.size());
    case Opcode::kRemainder: return KeepWithin(g, inst, -y.size(), y.size());
    case Opcode::kAtan2: return KeepWithin(g, inst, -3.5, 3.5);
    default: return KeepWithin(g, inst, std::min(x.low, y.low), std::max(x.high, y.high));
  }
}

bool GrowAtan2(Grower& g, Opcode opcode) {
  Instruction& a = g.PickOf(IsFloat);
  return KeepWithin(g, g.Add(opcode, {&a, &AnyLike(g, a)}), -3.5, 3.5);
}

bool GrowBits(Grower& g, Opcode opcode) {
  Instruction& a = g.PickOf(HasBits);
  g.Keep(g.Add(opcode, {&a, &AnyLike(g, a)}));
  return true;
}

bool GrowShift(Grower& g, Opcode opcode) {
  Instruction& a = g.PickOf(IsInteger);
  Instruction& amount = g.chance.Percent(60)
                            ? g.Splat(a.shape().type(), a.shape().dims(),
                                      static_cast<double>(g.chance.Below(std::min(7, BitWidth(a.shape().type())))))
                            : AnyLike(g, a);
  g.Keep(g.Add(opcode, {&a, &amount}));
  return true;
}

bool GrowMulhi(Grower& g, Opcode opcode) {
  Instruction& a = g.PickOf(IsInteger);
  g.Keep(g.Add(opcode, {&a, &AnyLike(g, a)}));
  return true;
}

bool GrowCompare(Grower& g, Opcode opcode) {
  Instruction& a = g.PickOf(IsArrayType);
  CompareAttrs attrs;
  using enum ComparisonDirection;
  attrs.direction =
      IsComplex(a.shape().type()) ? g.chance.OneOf({kEq, kNe}) : g.chance.OneOf({kEq, kNe, kGe, kGt, kLe, kLt});
  if (IsFloat(a.shape().type()) && g.chance.Percent(25)) attrs.type = ComparisonType::kTotalOrder;
  g.Keep(g.Add(opcode, {&a, &AnyLike(g, a)}, attrs));
  return true;
}

bool GrowSelect(Grower& g, Opcode opcode) {
  Instruction& a = g.PickOf(IsArrayType);
  Instruction& b = AnyLike(g, a);
  const bool scalar = g.chance.Percent(20);
  Instruction& predicate = g.Any(kPred, scalar ? Dims() : a.shape().dims());
  const Interval x = g.IntervalOf(a), y = g.IntervalOf(b);
  return KeepWithin(g, g.Add(opcode, {&predicate, &a, &b}), std::min(x.low, y.low), std::max(x.high, y.high));
}

bool GrowClamp(Grower& g, Opcode opcode) {
  Instruction& x = g.PickOf([](PrimitiveType type) { return !IsComplex(type); });
  const bool scalars = g.chance.Percent(50);
  const Dims dims = scalars ? Dims() : x.shape().dims();
  Instruction& low = g.Any(x.shape().type(), dims);
  Instruction& high = g.Any(x.shape().type(), dims);
  // If the bounds are in the wrong order, the upper bound wins.
  const double size = std::max({g.IntervalOf(x).size(), g.IntervalOf(low).size(), g.IntervalOf(high).size()});
  return KeepWithin(g, g.Add(opcode, {&low, &x, &high}), -size, size);
}

bool GrowStochasticConvert(Grower& g, Opcode opcode) {
  constexpr double kMost = 100;
  Instruction& x = g.PickOf([](PrimitiveType type) { return type == kF32; });
  const PrimitiveType to = g.chance.OneOf({kS8, kS16, kS32});
  Instruction& bounded = g.Bounded(x, kMost);
  Instruction& random = g.Any(kU32, x.shape().dims());
  return KeepWithin(g, g.AddShaped(opcode, x.shape().WithType(to).WithDefaultLayout(), {&bounded, &random}), -kMost - 1,
                    kMost + 1);
}

constexpr GrowRow kBefore[] = {
    {Opcode::kAbs, 2, true, GrowSignUnary},
    {Opcode::kNegate, 2, true, GrowSignUnary},
    {Opcode::kSign, 1, true, GrowSignUnary},
    {Opcode::kNot, 2, true, GrowBitUnary},
    {Opcode::kPopulationCount, 1, true, GrowBitUnary},
    {Opcode::kCountLeadingZeros, 1, true, GrowBitUnary},
    {Opcode::kIsFinite, 1, true, GrowIsFinite},
    {Opcode::kCopy, 2, true, GrowAsItIs},
    {Opcode::kOptimizationBarrier, 1, true, GrowAsItIs},
    {Opcode::kReal, 1, true, GrowRealImag},
    {Opcode::kImag, 1, true, GrowRealImag},
    {Opcode::kComplex, 4, false, GrowComplex},
    {Opcode::kConvert, 6, true, GrowConvert},
    {Opcode::kBitcastConvert, 2, true, GrowBitcastConvert},
    {Opcode::kReducePrecision, 1, true, GrowReducePrecision},
    {Opcode::kStochasticConvert, 1, false, GrowStochasticConvert},
};
constexpr GrowRow kBehind[] = {
    {Opcode::kFloor, 1, true, GrowRounding},
    {Opcode::kCeil, 1, true, GrowRounding},
    {Opcode::kRoundNearestAfz, 1, true, GrowRounding},
    {Opcode::kRoundNearestEven, 1, true, GrowRounding},
    {Opcode::kAdd, 6, true, GrowBinary},
    {Opcode::kSubtract, 4, true, GrowBinary},
    {Opcode::kMultiply, 6, true, GrowBinary},
    {Opcode::kDivide, 3, true, GrowBinary},
    {Opcode::kRemainder, 2, true, GrowBinary},
    {Opcode::kPower, 1, true, GrowBinary},
    {Opcode::kMaximum, 3, true, GrowBinary},
    {Opcode::kMinimum, 3, true, GrowBinary},
    {Opcode::kAtan2, 1, true, GrowAtan2},
    {Opcode::kAnd, 2, true, GrowBits},
    {Opcode::kOr, 2, true, GrowBits},
    {Opcode::kXor, 2, true, GrowBits},
    {Opcode::kShiftLeft, 1, true, GrowShift},
    {Opcode::kShiftRightArithmetic, 1, true, GrowShift},
    {Opcode::kShiftRightLogical, 1, true, GrowShift},
    {Opcode::kMulhi, 1, true, GrowMulhi},
    {Opcode::kCompare, 5, true, GrowCompare},
    {Opcode::kSelect, 5, true, GrowSelect},
    {Opcode::kClamp, 3, true, GrowClamp},
};

}  // namespace

std::span<const GrowRow> ElementwiseRows() {
  static const std::vector<GrowRow> rows = [] {
    std::vector<GrowRow> all(std::begin(kBefore), std::end(kBefore));
    for (const FloatFunction& function : FloatFunctions())
      all.push_back({function.opcode, function.facts.weight, true, GrowFunction});
    all.insert(all.end(), std::begin(kBehind), std::end(kBehind));
    return all;
  }();
  return rows;
}

}  // namespace hlo
