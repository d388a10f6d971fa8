// Complex functions of kernels. Sums, differences and products have the parts' type. Functions and quotients are
// computed in f64, as in the interpreter. There, squares of f32 neither overflow nor cancel, so plain formulas are
// right for c64.
#include "gpu/emitters/complex.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "gpu/emitters/scalar.h"
#include "gpu/kernel/math.h"

namespace hlo::gpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Number {
  Value real, imag;
};

Value Like(Value x, double constant) { return kernel::ConstantLike(x, constant); }
Value IsNan(Value x) { return x != x; }
Value IsInfinite(Value x) { return Abs(x) == kInfinity; }
Value IsFinite(Value x) { return Abs(x) < kInfinity; }
Value Square(Value x) { return x * x; }
// x * y, except that a zero x gives zero for any y.
Value ZeroOrTimes(Value x, Value y) { return Select(x == 0.0, x * CopySign(Like(y, 1.0), y), x * y); }

Number operator+(Number x, Number y) { return {x.real + y.real, x.imag + y.imag}; }
Number operator-(Number x, Number y) { return {x.real - y.real, x.imag - y.imag}; }
Number operator-(Number x) { return {-x.real, -x.imag}; }
Number operator*(Number x, Number y) { return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real}; }
Number operator*(Number x, double y) { return {x.real * y, x.imag * y}; }
Value operator==(Number x, Number y) { return (x.real == y.real) & (x.imag == y.imag); }
Value operator!=(Number x, Number y) { return (x.real != y.real) | (x.imag != y.imag); }
Number Choose(Value condition, Number x, Number y) {
  return {Select(condition, x.real, y.real), Select(condition, x.imag, y.imag)};
}
Number Real(Value real) { return {real, Like(real, 0.0)}; }
Number To(Type type, Number x) { return {Convert(x.real, type), Convert(x.imag, type)}; }

// |z|. The larger part is factored out, because its square may overflow in c128.
Value Size(Number z) {
  const Value a = Abs(z.real), b = Abs(z.imag), large = Max(a, b), ratio = Min(a, b) / large;
  const Value size = Select(large == 0.0, large, large * Sqrt(1.0 + ratio * ratio));
  return Select(IsInfinite(a) | IsInfinite(b), Like(a, kInfinity), size);
}

// Replaces a NaN quotient by the value that C, annex G, defines for infinite parts and zero divisors.
Number Recovered(Number x, Number y, Number quotient) {
  const auto unit = [](Value part) {
    return CopySign(Select(IsInfinite(part), Like(part, 1.0), Like(part, 0.0)), part);
  };
  const auto scaled = [](Number a, Number b, double by) {
    return Number{(a.real * b.real + a.imag * b.imag) * by, (a.imag * b.real - a.real * b.imag) * by};
  };
  const auto is_infinite = [](Number z) { return IsInfinite(z.real) | IsInfinite(z.imag); };
  const auto is_finite = [](Number z) { return IsFinite(z.real) & IsFinite(z.imag); };
  const Value lost = IsNan(quotient.real) & IsNan(quotient.imag);
  const Value by_zero = (y.real == 0.0) & (y.imag == 0.0) & ~(IsNan(x.real) & IsNan(x.imag));
  const Value infinity = CopySign(Like(y.real, kInfinity), y.real);
  const Number of_infinite = scaled({unit(x.real), unit(x.imag)}, y, kInfinity);
  const Number by_infinite = scaled(x, {unit(y.real), unit(y.imag)}, 0.0);
  Number result = Choose(lost & is_infinite(y) & is_finite(x), by_infinite, quotient);
  result = Choose(lost & is_infinite(x) & is_finite(y), of_infinite, result);
  return Choose(lost & by_zero, {infinity * x.real, infinity * x.imag}, result);
}

// Smith's method needs the ratio of the divisor's parts, and no squares.
Number operator/(Number x, Number y) {
  const Value by_real = Abs(y.real) >= Abs(y.imag);
  const Number large = Choose(by_real, y, {y.imag, y.real}), above = Choose(by_real, x, {x.imag, x.real});
  const Value ratio = large.imag / large.real, below = large.real + large.imag * ratio;
  const Value imag = Select(by_real, x.imag - x.real * ratio, x.imag * ratio - x.real);
  return Recovered(x, y, {(above.real + above.imag * ratio) / below, imag / below});
}

// Scales both numbers by a power of 2, so that Smith's sums neither overflow nor are subnormal. Only c128 needs this.
// Without it, a divisor with two parts near the largest number would count as infinite.
Number QuotientOfExtremes(Number x, Number y) {
  const auto larger = [](Number z) { return Max(Abs(z.real), Abs(z.imag)); };
  const Value of_x = larger(x), of_y = larger(y);
  const Value is_huge = (of_y > 0x1p1022) | ((of_x > 0x1p1022) & (of_y > 0x1p-900));
  const Value is_tiny = ((of_x < 0x1p-900) | (of_y < 0x1p-900)) & (Max(of_x, of_y) < 0x1p900);
  const Value by = Select(is_huge, Like(of_x, 0.5), Select(is_tiny, Like(of_x, 0x1p104), Like(of_x, 1.0)));
  return Number{x.real * by, x.imag * by} / Number{y.real * by, y.imag * by};
}

// With an imaginary part that is not finite, exp(-inf) is 0, and exp(inf) is infinite (C, annex G).
Number ExpOf(Number z) {
  const Value size = Exp(z.real);
  const Number found = {size * Cos(z.imag), ZeroOrTimes(Sin(z.imag), size)};
  const Number limit = {size, Select(z.real < 0.0, size, z.imag - z.imag)};
  return Choose(IsInfinite(z.real) & ~IsFinite(z.imag), limit, found);
}

// log |z|, computed from z / 2 if |z| may overflow.
Value LogOfSize(Number z) {
  const Value is_huge = IsInfinite(Max(Abs(z.real), Abs(z.imag)) * 2.0);
  const Value by = Select(is_huge, Like(z.real, 0.5), Like(z.real, 1.0));
  return Log(Size({z.real * by, z.imag * by})) + Select(is_huge, Like(z.real, std::numbers::ln2), Like(z.real, 0.0));
}

// Near the unit circle, log |z| is computed from |z|^2 - 1, which a rounded |z| would lose.
Number LogOf(Number z) {
  const Value a = Abs(z.real), b = Abs(z.imag), large = Max(a, b), small = Min(a, b);
  const Value near = Log1p((large - 1.0) * (large + 1.0) + small * small) * 0.5;
  const Value is_near = (large > 0.5) & (large < 2.0);
  return {Select(is_near, near, LogOfSize(z)), Atan2(z.imag, z.real)};
}

Number Log1pOf(Number z) {
  const Number more = {z.real + 1.0, z.imag};
  const Value near = Log1p(z.real * (z.real + 2.0) + Square(z.imag)) * 0.5;
  const Value is_near = (Abs(z.real) < 0.5) & (Abs(z.imag) < 0.5);
  return {Select(is_near, near, LogOfSize(more)), Atan2(z.imag, more.real)};
}

// sqrt((|z| + |real|) / 2) does not cancel. The other part is |imag| divided by twice this root. The division takes
// more bits than subnormals have, so small numbers are scaled up. Large ones are scaled down, because |z| may overflow.
Number SqrtOf(Number z) {
  const Value one = Like(z.real, 1.0), larger = Max(Abs(z.real), Abs(z.imag));
  const Value is_small = larger < 0x1p-1000, is_large = larger > 0x1p1000;
  const Value up = Select(is_small, Like(one, 0x1p104), Select(is_large, Like(one, 0x1p-104), one));
  const Value down = Select(is_small, Like(one, 0x1p-52), Select(is_large, Like(one, 0x1p52), one));
  const Number high = {Abs(z.real) * up, Abs(z.imag) * up};
  const Value of_high = Sqrt(high.real * 0.5 + Size(high) * 0.5);
  const Value root = of_high * down, other = Select(of_high == 0.0, high.imag, high.imag / (of_high * 2.0)) * down;
  const Value right = (z.real >= 0.0) | IsNan(z.real);
  const Number found = {Select(right, root, other), CopySign(Select(right, other, root), z.imag)};
  return Choose(IsInfinite(z.imag), {Like(z.real, kInfinity), z.imag}, found);
}

Number SinhOf(Number z) { return {Sinh(z.real) * Cos(z.imag), ZeroOrTimes(Sin(z.imag), Cosh(z.real))}; }
Number CoshOf(Number z) { return {Cosh(z.real) * Cos(z.imag), ZeroOrTimes(Sin(z.imag), Sinh(z.real))}; }
Number TimesI(Number z) { return {-z.imag, z.real}; }
Number TimesMinusI(Number z) { return {z.imag, -z.real}; }

// z = a + i b. With e = exp(-2 |a|), tanh z = (1 - e^2 + 4 e i sin b cos b) / ((1 - e)^2 + 4 e cos^2 b), where nothing
// overflows or cancels. If a is infinite, the result is +-1 for every b (C, annex G).
Number TanhOf(Number z) {
  const Value twice = Abs(z.real) * -2.0, e4 = Exp(twice) * 4.0;
  const Value below = Square(Expm1(twice)) + e4 * Square(Cos(z.imag));
  const Number found = {CopySign(-Expm1(twice * 2.0), z.real) / below, e4 * Sin(z.imag) * Cos(z.imag) / below};
  const Number limit = {CopySign(Like(z.real, 1.0), z.real), CopySign(Like(z.imag, 0.0), z.imag)};
  return Choose(IsInfinite(z.real) & ~IsFinite(z.imag), limit, found);
}

Number Expm1Of(Number z) {
  const Value half = Sin(z.imag * 0.5);
  const Number found = {Expm1(z.real) * Cos(z.imag) - half * half * 2.0, Exp(z.real) * Sin(z.imag)};
  return Choose(z.imag == 0.0, {Expm1(z.real), z.imag}, found);
}

// 1 if the exponent is 0 or the base is 1, even if the other number is NaN.
Number PowerOf(Number x, Number y) {
  const Value is_real = y.imag == 0.0, rises = y.real > 0.0;
  const Number zero = Real(Like(x.real, 0.0)), one = Real(Like(x.real, 1.0)), infinity = Real(Like(x.real, kInfinity));
  Number result = ExpOf(y * LogOf(x));
  result = Choose((x == zero) & is_real & rises, zero, result);
  result = Choose((x == infinity) & is_real, Choose(rises, infinity, zero), result);
  return Choose((x == one) | (y == zero), one, Choose(y == one, x, result));
}

// A number with a NaN wins, the left one if both have one. For equal numbers, each part is the maximum (minimum) of
// both parts, which only matters for zeros.
template <bool kMax>
Number ExtremeOf(Number x, Number y) {
  const auto beats = [](Value a, Value b) { return kMax ? a > b : a < b; };
  const Value same_real = x.real == y.real, same = same_real & (x.imag == y.imag);
  const Value x_is_nan = IsNan(x.real) | IsNan(x.imag), y_is_nan = IsNan(y.real) | IsNan(y.imag);
  const Value x_beats = beats(x.real, y.real) | (same_real & beats(x.imag, y.imag));
  const Number both = {kMax ? Max(x.real, y.real) : Min(x.real, y.real),
                       kMax ? Max(x.imag, y.imag) : Min(x.imag, y.imag)};
  return Choose(x_is_nan | (x_beats & ~y_is_nan), x, Choose(same, both, y));
}

Number SignOf(Number z) {
  const Value size = Size(z);
  return Choose(size == 0.0, z, {z.real / size, z.imag / size});
}

// Kahan's formulas use the roots of 1 - z and 1 + z, which do not cancel (Branch cuts for complex elementary functions,
// 1987). Products of large roots may overflow, so one is multiplied by 0.25.
Number Conjugate(Number z) { return {z.real, -z.imag}; }
Value QuarterOfLarge(Number root) {
  return Select(Max(Abs(root.real), Abs(root.imag)) > 0x1p500, Like(root.real, 0.25), Like(root.real, 1.0));
}
Number Times(Number z, Value factor) { return {z.real * factor, z.imag * factor}; }
// asinh(x), or asinh(4 x) of a large x with `quarter` = 0.25.
Value AsinhOfQuarter(Value x, Value quarter) {
  const Value found = Asinh(x);
  return Select(quarter < 1.0, found + CopySign(Like(x, 2 * std::numbers::ln2), x), found);
}
Number AsinOf(Number z) {
  const Number below = SqrtOf({1.0 - z.real, -z.imag}), above = SqrtOf({z.real + 1.0, z.imag});
  const Value quarter = QuarterOfLarge(above);
  const Number less = Times(below, quarter);
  return {Atan2(z.real * quarter, (less * above).real), AsinhOfQuarter((Conjugate(less) * above).imag, quarter)};
}
Number AcosOf(Number z) {
  const Number below = SqrtOf({1.0 - z.real, -z.imag}), above = SqrtOf({z.real + 1.0, z.imag});
  const Value quarter = QuarterOfLarge(above);
  return {Atan2(below.real, above.real) * 2.0,
          AsinhOfQuarter((Conjugate(above) * Times(below, quarter)).imag, quarter)};
}
Number AcoshOf(Number z) {
  const Number less = SqrtOf({z.real - 1.0, z.imag}), above = SqrtOf({z.real + 1.0, z.imag});
  const Value quarter = QuarterOfLarge(above);
  return {AsinhOfQuarter((Conjugate(Times(less, quarter)) * above).real, quarter), Atan2(less.imag, above.real) * 2.0};
}
// For a = |real| nothing cancels. At a = 1 the square of a small b = |imag| would underflow, so log b is used. The real
// part is 0 at infinity and at a = 0 (C, annex G). If squares would overflow, the real part equals the real part of 1 /
// z.
Number AtanhOf(Number z) {
  const Value a = Abs(z.real), b = Abs(z.imag), less = 1.0 - a, square = Square(z.imag);
  const Value near = (Log(b) - std::numbers::ln2) * -0.5, far = Log1p(a * 4.0 / (Square(less) + square)) * 0.25;
  const Value is_far = IsInfinite(a) | IsInfinite(b);
  const Value larger = Max(a, b), is_large = larger > 1e150;
  const Value inverse = a / larger / larger / (Square(Min(a, b) / larger) + 1.0);
  const Value finite = Select(is_large, inverse, Select((a == 1.0) & (b < 1e-100), near, far));
  const Value size = Select(is_far | (a == 0.0), Like(a, 0.0), finite);
  const Value angle = Atan2(z.imag * 2.0, less * (a + 1.0) - square) * 0.5;
  const Value right_angle = CopySign(Like(b, std::numbers::pi / 2), z.imag);
  return {CopySign(size, z.real), Select((is_far | is_large) & ~IsNan(b), right_angle, angle)};
}
Number Atan2Of(Number y, Number x) { return TimesMinusI(LogOf((x + TimesI(y)) / SqrtOf(x * x + y * y))); }

// ---- The table ---------------------------------------------------------------------------------------------------

using Parts = std::span<const Value>;
using ComplexFunction = std::vector<Value> (*)(const Instruction&, Parts);

Number First(Parts v) { return {v[0], v[1]}; }
Number Second(Parts v) { return {v[2], v[3]}; }
std::vector<Value> ComponentsOf(Number z) { return {z.real, z.imag}; }

template <class F>
std::vector<Value> InWide(Parts v, F f) {
  return ComponentsOf(To(v[0].type(), f(To(Type::kF64, First(v)))));
}
template <class F>
std::vector<Value> InWideOfTwo(Parts v, F f) {
  return ComponentsOf(To(v[0].type(), f(To(Type::kF64, First(v)), To(Type::kF64, Second(v)))));
}

std::vector<Value> EmitConvert(const Instruction& inst, Parts v) {
  const PrimitiveType to = inst.shape().type();
  const Type type = KernelTypeOf(to);
  if (to == PrimitiveType::kPred) return {First(v) != Real(Like(v[0], 0.0))};
  if (!IsComplex(to)) return {Convert(v[0], type)};
  if (v.size() == 1) return ComponentsOf(Real(Convert(v[0], type)));
  return ComponentsOf(To(type, First(v)));
}

template <Opcode>
struct ComplexRow;

#define ROW(Name, ...)                                                                                \
  template <>                                                                                         \
  struct ComplexRow<Opcode::k##Name> {                                                                \
    static std::vector<Value> Emit([[maybe_unused]] const Instruction& inst, Parts v) { __VA_ARGS__ } \
  };
// EXACT computes in the type of the parts, FUNCTION in f64.
#define EXACT(Name, ...) ROW(Name, const Number x = First(v); return ComponentsOf(__VA_ARGS__);)
#define EXACT_OF_TWO(Name, ...) ROW(Name, const Number x = First(v), y = Second(v); return ComponentsOf(__VA_ARGS__);)
#define FUNCTION(Name, ...) ROW(Name, return InWide(v, [](Number x) { return __VA_ARGS__; });)
#define FUNCTION_OF_TWO(Name, ...) ROW(Name, return InWideOfTwo(v, [](Number x, Number y) { return __VA_ARGS__; });)

ROW(Abs, return {Convert(Size(To(Type::kF64, First(v))), v[0].type())};)
FUNCTION(Acos, AcosOf(x))
FUNCTION(Acosh, AcoshOf(x))
EXACT_OF_TWO(Add, x + y)
FUNCTION(Asin, AsinOf(x))
FUNCTION(Asinh, TimesMinusI(AsinOf(TimesI(x))))
FUNCTION_OF_TWO(Atan2, Atan2Of(x, y))
FUNCTION(Atanh, AtanhOf(x))
ROW(Compare, const bool equal = inst.attrs<CompareAttrs>().direction == ComparisonDirection::kEq;
    return {equal ? First(v) == Second(v) : First(v) != Second(v)};)
EXACT(Complex, x)
ROW(Convert, return EmitConvert(inst, v);)
ROW(Copy, return EmitConvert(inst, v);)
FUNCTION(Cos, CoshOf(TimesI(x)))
FUNCTION(Cosh, CoshOf(x))
ROW(Divide, return InWideOfTwo(v, [&](Number x, Number y) {
      return v[0].type() == Type::kF64 ? QuotientOfExtremes(x, y) : x / y;
    });)
FUNCTION(Exp, ExpOf(x))
FUNCTION(Exp2, ExpOf(x* std::numbers::ln2))
FUNCTION(Expm1, Expm1Of(x))
ROW(Imag, return {v[1]};)
FUNCTION(Log, LogOf(x))
FUNCTION(Log1p, Log1pOf(x))
FUNCTION(Log2, LogOf(x) * (1 / std::numbers::ln2))
FUNCTION(Logistic, Real(Like(x.real, 1.0)) / (Real(Like(x.real, 1.0)) + ExpOf(-x)))
EXACT_OF_TWO(Maximum, ExtremeOf<true>(x, y))
EXACT_OF_TWO(Minimum, ExtremeOf<false>(x, y))
EXACT_OF_TWO(Multiply, x* y)
EXACT(Negate, -x)
FUNCTION_OF_TWO(Power, PowerOf(x, y))
ROW(Real, return {v[0]};)
FUNCTION(Rsqrt, Real(Like(x.real, 1.0)) / SqrtOf(x))
ROW(Select, return ComponentsOf(Choose(v[0], {v[1], v[2]}, {v[3], v[4]}));)
FUNCTION(Sign, SignOf(x))
FUNCTION(Sin, TimesMinusI(SinhOf(TimesI(x))))
FUNCTION(Sinh, SinhOf(x))
FUNCTION(Sqrt, SqrtOf(x))
EXACT_OF_TWO(Subtract, x - y)
FUNCTION(Tan, TimesMinusI(TanhOf(TimesI(x))))
FUNCTION(Tanh, TanhOf(x))

#undef ROW
#undef EXACT
#undef EXACT_OF_TWO
#undef FUNCTION
#undef FUNCTION_OF_TWO

template <size_t... i>
ComplexFunction RowOf(Opcode opcode, std::index_sequence<i...>) {
  ComplexFunction found = nullptr;
  ((kComplexOps[i] == opcode ? void(found = &ComplexRow<kComplexOps[i]>::Emit) : void()), ...);
  return found;
}

}  // namespace

std::vector<Value> EmitComplex(const Instruction& inst, Parts parts) {
  const ComplexFunction emit = RowOf(inst.opcode(), std::make_index_sequence<std::size(kComplexOps)>());
  CHECK(emit != nullptr, inst.name());
  return emit(inst, parts);
}

std::vector<Value> AddComplexProduct(Parts sum, Parts a, Parts b) {
  return {Fma(-a[1], b[1], Fma(a[0], b[0], sum[0])), Fma(a[1], b[0], Fma(a[0], b[1], sum[1]))};
}

}  // namespace hlo::gpu
