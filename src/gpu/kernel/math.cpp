// Most functions reduce their argument and evaluate a polynomial. Coefficients were fitted at Chebyshev points in
// 300-bit arithmetic, and rounded one by one from the lowest degree, after which the others were fitted again. Errors
// below are truncation errors for f32 and f64, relative to the function.
#include "gpu/kernel/math.h"

#include <cstdint>
#include <numbers>

#include "base/check.h"
#include "gpu/kernel/math_parts.h"

namespace hlo::kernel {

const Format& FormatOf(Value x) {
  CHECK(x.type() == Type::kF32 || x.type() == Type::kF64, "a function of ", ToString(x.type()));
  return x.type() == Type::kF32 ? kF32 : kF64;
}

Value Polynomial(Value x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.end() - 1;
  Value sum = AsValue(x, *c);
  while (c != coefficients.begin()) sum = Fma(sum, x, AsValue(x, *--c));
  return sum;
}

Value Polynomial(Value x, std::initializer_list<double> for_f32, std::initializer_list<double> for_f64) {
  return Polynomial(x, IsF32(x) ? for_f32 : for_f64);
}

Rounded RoundedProduct(Value x, double multiplier) {
  const Format& format = FormatOf(x);
  const Value shifted = multiplier == 1 ? x + format.magic : Fma(x, AsValue(x, multiplier), AsValue(x, format.magic));
  return {.as_float = shifted - format.magic, .as_integer = ToBits(shifted) - ToBits(AsValue(x, format.magic))};
}

namespace {

// NaN stays NaN.
Value Clamp(Value x, double low, double high) {
  x = Select(x < low, AsValue(x, low), x);
  return Select(x > high, AsValue(x, high), x);
}

// min(x, high), or 0 where the exponential vanishes. Products that underflow take a processor hundreds of cycles, and
// masked scores contain many such numbers. NaN stays NaN.
Value Bounded(Value x, Value vanishes, double high) {
  return Select(x > high, AsValue(x, high), Select(vanishes, AsValue(x, 0.0), x));
}

Value PowerOfTwo(Value n, const Format& format) {
  return Bitcast(ShiftLeft(n + format.bias, ConstantLike(n, int64_t{format.mantissa})), format.type);
}

// x * 2^n, rounded once, for n in twice the range of the exponent and x near 1.
Value Scale(Value x, Value n) {
  const Format& format = FormatOf(x);
  const Value half = ShiftRightArithmetic(n, ConstantLike(n, int64_t{1}));
  return x * PowerOfTwo(half, format) * PowerOfTwo(n - half, format);
}

// x = n ln2 + r.
struct ExpParts {
  Value r, n;
};

ExpParts ReduceExp(Value x) {
  const Format& format = FormatOf(x);
  const auto [n, integer] = RoundedProduct(x, format.log2e);
  const Value r = Fma(n, AsValue(x, -format.ln2_low), Fma(n, AsValue(x, -format.ln2_high), x));
  return {.r = r, .n = integer};
}

// exp(r) - 1 for |r| <= 0.35. Errors: 2^-30, 2^-64.
Value SmallExpm1(Value r) {
  const Value q =
      Polynomial(r, {0x1p-1, 0x1.555556p-3, 0x1.5554fep-5, 0x1.110fccp-7, 0x1.6d345ap-10, 0x1.a2bfbep-13},
                 {0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555556p-5, 0x1.1111111111373p-7, 0x1.6c16c16c15f8bp-10,
                  0x1.a01a019eb5f7p-13, 0x1.a01a01a864f97p-16, 0x1.71de40058d771p-19, 0x1.27e4d71654043p-22,
                  0x1.ae4f24bb69ef6p-26, 0x1.1f7b02506a07ep-29, 0x1.7ecd3ce78e56fp-33});
  return Fma(r * r, q, r);
}

// exp(x) without clamping: neither the result nor its square overflows or vanishes.
Value ModerateExp(Value x) {
  const auto [r, n] = ReduceExp(x);
  return (SmallExpm1(r) + 1.0) * PowerOfTwo(n, FormatOf(x));
}

// x = 2^exponent (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f - rest.
struct LogParts {
  Value exponent, f, rest;
};

LogParts ReduceLog(Value x, bool denormals) {
  const Format& format = FormatOf(x);
  const Value shift = ConstantLike(ToBits(x), int64_t{format.mantissa});
  Value scaled = x;
  Value extra;
  if (denormals) {
    const Value denormal = x < format.min_normal;
    const double up = IsF32(x) ? 0x1p24 : 0x1p53;
    scaled = Select(denormal, x * up, x);
    extra = Select(denormal, AsValue(x, IsF32(x) ? -24.0 : -53.0), AsValue(x, 0.0));
  }
  const Value bits = ToBits(scaled);
  const Value integer = ShiftRightArithmetic(bits - ToBits(AsValue(x, format.sqrt_half)), shift);
  Value exponent = Convert(integer, x.type());
  if (denormals) exponent = exponent + extra;
  const Value f = Bitcast(bits - ShiftLeft(integer, shift), x.type()) - 1.0;
  const Value half_square = f * f * 0.5;
  // Error: 2^-28.
  if (IsF32(x)) {
    const Value p = Polynomial(f, {0x1.555554p-2, -0x1.fffffp-3, 0x1.999d4ap-3, -0x1.555f48p-3, 0x1.23d66cp-3,
                                   -0x1.fc4552p-4, 0x1.dda3eep-4, -0x1.da9c46p-4, 0x1.25a8e2p-4});
    return {.exponent = exponent, .f = f, .rest = Fma(-(f * f * f), p, half_square)};
  }
  // log(1+f) = 2s + s z R(z), s = f / (2+f), z = s^2. Error: 2^-57.
  const Value s = f / (f + 2.0);
  const Value z = s * s;
  const Value r =
      z * Polynomial(z, {0x1.5555555555558p-1, 0x1.99999999952a2p-2, 0x1.2492492dff90dp-2, 0x1.c71c62cfed016p-3,
                         0x1.7462bb401b31ap-3, 0x1.39fd7e13421afp-3, 0x1.2b636a6a13e16p-3});
  return {.exponent = exponent, .f = f, .rest = half_square - s * (half_square + r)};
}

Value LogEdges(Value x, Value result) {
  result = Select(x < Infinity(x), result, x);
  result = Select(x < 0.0, NaN(x), result);
  return Select(x == 0.0, -Infinity(x), result);
}

// pow in f32 by log2 and a power of two in f64. Errors of log2 and the power: 2^-52, 2^-38.
Value PowF32(Value magnitude, Value y) {
  const Value x = Convert(magnitude, Type::kF64);
  const Value shift = x.builder().Constant(Type::kS64, 52);
  const Value bits = ToBits(x);
  const Value integer = ShiftRightArithmetic(bits - ToBits(AsValue(x, kF64.sqrt_half)), shift);
  const Value m = Bitcast(bits - ShiftLeft(integer, shift), Type::kF64);
  const Value s = (m - 1.0) / (m + 1.0);
  const Value log =
      s * Polynomial(s * s, {0x1.71547652b82ffp+1, 0x1.ec709dc39ccb9p-1, 0x1.2776c5167ec7dp-1, 0x1.a6175698afe8ep-2,
                             0x1.484fa5d8c5eebp-2, 0x1.0bb849310a585p-2, 0x1.f17bf99dffcfdp-3});
  const Value product = Clamp((Convert(integer, Type::kF64) + log) * Convert(y, Type::kF64), -200, 200);
  const auto [n, power] = RoundedProduct(product, 1);
  const Value r = product - n;
  const Value p =
      Polynomial(r, {1.0, 0x1.62e42fef9c34cp-1, 0x1.ebfbdff823192p-3, 0x1.c6b08daa6e302p-5, 0x1.3b2ab719dce5fp-7,
                     0x1.5d877004f6d42p-10, 0x1.4308a85a161cfp-13, 0x1.00c54ef5cbe4bp-16, 0x1.63d6b733d463dp-20});
  return Convert(p * PowerOfTwo(power, kF64), Type::kF32);
}

// A sum of two f64, the second below half an ulp of the first.
struct Double2 {
  Value high, low;
};

// Requires |a| >= |b|.
Double2 FastTwoSum(Value a, Value b) {
  const Value sum = a + b;
  return {.high = sum, .low = b - (sum - a)};
}

Double2 Multiply(Double2 a, Double2 b) {
  const Value product = a.high * b.high;
  return FastTwoSum(product, Fma(a.high, b.low, Fma(a.low, b.high, Fma(a.high, b.high, -product))));
}

Double2 Constant2(Value like, double high, double low) {
  return {.high = AsValue(like, high), .low = AsValue(like, low)};
}

// pow in f64 by log2 in two f64: log(m) = 2 s + 2/3 s^3 + s^5 R(s^2) with s = (m-1)/(m+1). Error: 2^-64.
Value PowF64(Value x, Value y) {
  const Value denormal = x < kF64.min_normal;
  const Value shift = x.builder().Constant(Type::kS64, 52);
  const Value bits = ToBits(Select(denormal, x * 0x1p54, x));
  const Value integer = ShiftRightArithmetic(bits - ToBits(AsValue(x, kF64.sqrt_half)), shift);
  const Value m = Bitcast(bits - ShiftLeft(integer, shift), Type::kF64);
  const Value exponent = Convert(integer, Type::kF64) + Select(denormal, AsValue(x, -54.0), AsValue(x, 0.0));
  const Value f = m - 1.0;
  const Value d = m + 1.0, d_low = m - (d - 1.0);
  const Value s_high = f / d;
  const Double2 s = {.high = s_high, .low = (Fma(-s_high, d, f) - s_high * d_low) / d};
  const Double2 z = Multiply(s, s);
  // The sum of 2 z^k / (2k + 1) for k >= 2. Its error of 2^-53 is 2^-66 of the logarithm. Interpolated at the Chebyshev
  // points of z <= 0.02944.
  const Value tail =
      z.high * z.high *
      Polynomial(z.high, {0x1.999999999999ap-2, 0x1.2492492492521p-2, 0x1.c71c71c6eaa10p-3, 0x1.745d177a96056p-3,
                          0x1.3b1395d2190c1p-3, 0x1.1118c7e4b0917p-3, 0x1.df7cc8e5fa539p-4, 0x1.e02e6fff27908p-4});
  const Double2 third = Multiply(z, Constant2(x, 0x1.5555555555555p-1, 0x1.5555555555555p-55));
  Double2 series = FastTwoSum(AsValue(x, 2.0), third.high);
  series = FastTwoSum(series.high, series.low + third.low + tail);
  const Double2 log2 = Multiply(Multiply(s, series), Constant2(x, kF64.log2e, kF64.log2e_low));
  // The exponent is zero, or at least 1 in magnitude and above |log2|, so the larger number comes first.
  const Value sum = exponent + log2.high;
  const Value sum_low = Select(exponent == 0.0, log2.low, (log2.high - (sum - exponent)) + log2.low);
  const Value product = sum * y;
  const Value product_low = Fma(sum_low, y, Fma(sum, y, -product));
  const Value bounded = Clamp(product, -1100, 1100);
  const auto [n, power] = RoundedProduct(bounded, 1);
  const Value in_range = Abs(product) < 1100.0;
  const Value r = (bounded - n) + Select(in_range, product_low, AsValue(x, 0.0));
  const Value p =
      Polynomial(r, {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a1cbp-5, 0x1.3b2ab6fba4d4dp-7,
                     0x1.5d87fe78772d9p-10, 0x1.430912f8bf217p-13, 0x1.ffcbfd36c6b16p-17, 0x1.62c020fb8aedp-20,
                     0x1.b52360bf3e3c3p-24, 0x1.e4d39cbfdf394p-28, 0x1.ec208adce66d4p-32, 0x1.be9cc528ba6cep-36});
  return Scale(Fma(r, p, AsValue(x, 1.0)), power);
}

}  // namespace

Value Exp(Value x) {
  HLO_KERNEL_WIDEN(Exp);
  const Value vanishes = x < (IsF32(x) ? -104.0 : -746.0);
  const auto [r, n] = ReduceExp(Bounded(x, vanishes, IsF32(x) ? 89 : 710));
  return Select(vanishes, AsValue(x, 0.0), Scale(SmallExpm1(r) + 1.0, n));
}

Value Exp2(Value x) {
  HLO_KERNEL_WIDEN(Exp2);
  const Value vanishes = x < (IsF32(x) ? -151.0 : -1076.0);
  const Value clamped = Bounded(x, vanishes, IsF32(x) ? 129 : 1025);
  const auto [n, integer] = RoundedProduct(clamped, 1);
  const Value r = clamped - n;
  // Errors: 2^-27, 2^-59.
  const Value p =
      Polynomial(r, {0x1.62e43p-1, 0x1.ebfbep-3, 0x1.c6af94p-5, 0x1.3b2a5p-7, 0x1.5efc54p-10, 0x1.441ceep-13},
                 {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a1cbp-5, 0x1.3b2ab6fba4d4dp-7,
                  0x1.5d87fe78772d9p-10, 0x1.430912f8bf217p-13, 0x1.ffcbfd36c6b16p-17, 0x1.62c020fb8aedp-20,
                  0x1.b52360bf3e3c3p-24, 0x1.e4d39cbfdf394p-28, 0x1.ec208adce66d4p-32, 0x1.be9cc528ba6cep-36});
  return Select(vanishes, AsValue(x, 0.0), Scale(Fma(r, p, AsValue(x, 1.0)), integer));
}

Value Expm1(Value x) {
  HLO_KERNEL_WIDEN(Expm1);
  const Value clamped = IsF32(x) ? Clamp(x, -20, 89) : Clamp(x, -40, 710);
  const auto [r, n] = ReduceExp(clamped);
  // First half of 2^n exp(r) - 1, because 2^n may overflow where the result does not.
  const Value half = PowerOfTwo(n - 1, FormatOf(x));
  const Value result = Fma(half, SmallExpm1(r), half - 0.5) * 2.0;
  return Select(Abs(x) < FormatOf(x).tiny, x, result);
}

Value Log(Value x) {
  HLO_KERNEL_WIDEN(Log);
  const Format& format = FormatOf(x);
  const auto [e, f, rest] = ReduceLog(x, true);
  const Value low = Fma(e, AsValue(x, format.ln2_low), -rest) + f;
  return LogEdges(x, Fma(e, AsValue(x, format.ln2_high), low));
}

Value Log2(Value x) {
  HLO_KERNEL_WIDEN(Log2);
  const Format& format = FormatOf(x);
  const auto [e, f, rest] = ReduceLog(x, true);
  const Value high = f - rest;
  const Value low = (f - high) - rest;
  const Value scaled = high * format.log2e;
  const Value error =
      Fma(high, AsValue(x, format.log2e), -scaled) + Fma(low, AsValue(x, format.log2e), high * format.log2e_low);
  const Value sum = e + scaled;
  return LogEdges(x, sum + ((scaled - (sum - e)) + error));
}

Value Log1p(Value x) {
  HLO_KERNEL_WIDEN(Log1p);
  const Format& format = FormatOf(x);
  const Value u = x + 1.0;
  // log(u + d) = log(u) + d/u, with u's rounding error d. d is exact for |x| < 1, and does not matter for large x.
  const Value lost = (x - (u - 1.0)) / u;
  const auto [e, f, rest] = ReduceLog(u, false);
  const Value low = (Fma(e, AsValue(x, format.ln2_low), -rest) + Select(Abs(x) < 0x1p60, lost, AsValue(x, 0.0))) + f;
  const Value result = LogEdges(u, Fma(e, AsValue(x, format.ln2_high), low));
  return Select(Abs(x) < format.tiny, x, result);
}

Value Tanh(Value x) {
  HLO_KERNEL_WIDEN(Tanh);
  const Format& format = FormatOf(x);
  const double most_of_small = IsF32(x) ? 0.59375 : 0.5625;
  const Value a = Abs(x);
  const Value z = x * x;
  // Errors: 2^-26, 2^-61.
  const Value p = Polynomial(
      z, {-0x1.555554p-2, 0x1.110f08p-3, -0x1.b96046p-5, 0x1.5a4e2ep-6, -0x1.9d8e3ap-8},
      {-0x1.5555555555555p-2, 0x1.1111111111034p-3, -0x1.ba1ba1ba0669p-5, 0x1.664f487b30d96p-6, -0x1.226e33dbc9148p-7,
       0x1.d6d3715d359eap-9, -0x1.7d9bad704188ap-10, 0x1.34eccc418abaep-11, -0x1.ed91e65cda7dcp-13,
       0x1.64531329fa03cp-14, -0x1.f1fae34d1c5bep-17, -0x1.c87d81f768dccp-17, 0x1.68964dd647c38p-17});
  const Value small = Fma(a * z, p, a);
  // 1 - 2 / (e^2a + 1): the larger e^2a is, the less its error counts, so a = s + n ln2 / 2 is reduced in one step.
  const double saturated = IsF32(x) ? 10 : 20;
  const Value bounded = Select(a > saturated, AsValue(x, saturated), a);
  const auto [n, integer] = RoundedProduct(bounded, 2 * format.log2e);
  const Value s = Fma(n, AsValue(x, IsF32(x) ? -0x1.62e43p-2 : -0x1.62e42fefa39efp-2), bounded);
  // e^2s. Errors: 2^-26, 2^-64.
  const Value e =
      Polynomial(s, {1, 2, 2, 0x1.5554dcp+0, 0x1.55551ap-1, 0x1.120baep-2, 0x1.6d1148p-4},
                 {1, 2, 2, 0x1.5555555555555p+0, 0x1.5555555555556p-1, 0x1.1111111111373p-2, 0x1.6c16c16c15f8bp-4,
                  0x1.a01a019eb5f7p-6, 0x1.a01a01a864f97p-8, 0x1.71de40058d771p-10, 0x1.27e4d71654043p-12,
                  0x1.ae4f24bb69ef6p-15, 0x1.1f7b02506a07ep-17, 0x1.7ecd3ce78e56fp-20});
  const Value one = AsValue(x, 1.0);
  const Value large = one - AsValue(x, 2.0) / Fma(e, PowerOfTwo(integer, format), one);
  return CopySign(Select(a < most_of_small, small, large), x);
}

Value Logistic(Value x) {
  HLO_KERNEL_WIDEN(Logistic);
  const Value e = Exp(-Abs(x));
  return Select(x < 0.0, e, AsValue(x, 1.0)) / (e + 1.0);
}

Value Erf(Value x) {
  HLO_KERNEL_WIDEN(Erf);
  const Value a = Abs(x);
  // erf below 0.93. Errors: 2^-30, 2^-56.
  const Value small =
      Fma(a,
          Polynomial(a * a,
                     {0x1.06eba8p-3, -0x1.812742p-2, 0x1.ce2deep-4, -0x1.b80d1ap-6, 0x1.54be04p-8, -0x1.a9fdb8p-11,
                      0x1.5c2d7cp-14},
                     {0x1.06eba8214db69p-3, -0x1.812746b037a06p-2, 0x1.ce2f21a044029p-4, -0x1.b82ce312ead99p-6,
                      0x1.565bcd1f25f97p-8, -0x1.c02db78f847bp-11, 0x1.f9a3a73dcd4bbp-14, -0x1.f4deb6af67e6ap-17,
                      0x1.baba6bac7f614p-20, -0x1.69495f05e9e8cp-23, 0x1.4e05acaede78ap-26, -0x1.25df72eb76c85p-28,
                      0x1.5c14a5c3fc8fp-30, -0x1.c572bab29e0a5p-33}),
          a);
  // erfc(t) = exp(-t + t P(t)). From 4 (f32) and 5.95 (f64) on, 1 - erfc rounds to 1. Errors: 2^-31, 2^-62.
  const double one = IsF32(x) ? 4 : 5.95;
  const Value t = Select(a > one, AsValue(x, one), a);
  const Value p =
      Polynomial(t,
                 {-0x1.074a8p-3, -0x1.456b74p-1, -0x1.af7bccp-4, 0x1.74eb92p-6, -0x1.875824p-9, 0x1.26fd42p-14,
                  0x1.5b2b94p-15, -0x1.339cbap-18},
                 {-0x1.06ebabcc15334p-3,  -0x1.45f2fbda0ca07p-1,  -0x1.a4f6d4ad61abep-4,  0x1.39821248e9a5p-6,
                  0x1.9478de8978da7p-13,  -0x1.b4b61f20a160ap-10, 0x1.1e9c0dc22c6c2p-11,  0x1.899d0444d5113p-16,
                  -0x1.caad0cc89ebf4p-14, 0x1.063b671c9f764p-14,  -0x1.7a3a505c63e1cp-16, 0x1.882fc10273c08p-18,
                  -0x1.2344ff1dc2191p-20, 0x1.0ed65dcbc945fp-23,  -0x1.14e0359eeeb89p-29, -0x1.6f3a5c54e8645p-29,
                  0x1.5ae8647087ab1p-31,  -0x1.64e8a02d818abp-34, 0x1.c9dfdc24888a2p-38,  -0x1.59ea161ade4aep-42,
                  0x1.da7835f1896b4p-48});
  const Value large = AsValue(x, 1.0) - ModerateExp(Fma(t, p, -t));
  return CopySign(Select(a < 0.927734375, small, large), x);
}

Value Rsqrt(Value x) {
  HLO_KERNEL_WIDEN(Rsqrt);
  return AsValue(x, 1.0) / Sqrt(x);
}

Value Cbrt(Value x) {
  HLO_KERNEL_WIDEN(Cbrt);
  const Format& format = FormatOf(x);
  const Value a = Abs(x);
  const Value denormal = a < format.min_normal;
  const Value bits = Bitcast(Select(denormal, a * (IsF32(x) ? 0x1p24 : 0x1p54), a), format.unsigned_bits);
  const Value shift = ConstantLike(bits, int64_t{format.mantissa});
  // |x| = 2^(3 third) m, with m in [1, 8).
  const int64_t bias_thirds = (format.bias + 2) / 3;
  const Value exponent = ShiftRightLogical(bits, shift) + (3 * bias_thirds - format.bias);
  const Value third = exponent / 3;
  const Value remainder = exponent - third * 3;
  const Value fraction = bits & ((int64_t{1} << format.mantissa) - 1);
  const Value m = Bitcast(fraction | ShiftLeft(remainder + format.bias, shift), x.type());
  Value y = Polynomial(m, {0x1.6887ecp-1, 0x1.5cc658p-2, -0x1.2e42e6p-5, 0x1.dfc85p-10});  // Error: 2^-6.7.
  // Halley's method triples the number of correct bits.
  for (int step = 0; step < (IsF32(x) ? 1 : 2); ++step) {
    const Value cube = y * y * y;
    y = y * (cube + (m + m)) / (cube + cube + m);
  }
  // Newton's step with the residual m - y^3 in twice the precision.
  const Value square = y * y;
  const Value residual = Fma(-square, y, m) - Fma(y, y, -square) * y;
  y = y + residual / (square * 3.0);
  const Value up = Select(denormal, ConstantLike(bits, int64_t{IsF32(x) ? 8 : 18}), ConstantLike(bits, int64_t{0}));
  const Value scale = Bitcast(ShiftLeft(third - up + (format.bias - bias_thirds), shift), x.type());
  const Value result = CopySign(y * scale, x);
  return Select((a > 0.0) & (a < Infinity(x)), result, x);
}

Value Pow(Value x, Value y) {
  if (IsSmallFloat(x.type())) return Convert(Pow(Convert(x, Type::kF32), Convert(y, Type::kF32)), x.type());
  const Value a = Abs(x);
  const Value infinity = Infinity(x), zero = AsValue(x, 0.0), one = AsValue(x, 1.0);
  Value result = IsF32(x) ? PowF32(a, y) : PowF64(a, y);
  const Value grows = (a > 1.0) == (y > 0.0);
  const Value limit = Select(grows, infinity, zero);
  result = Select((a == 0.0) | (a == infinity) | (Abs(y) == infinity), limit, result);
  const Value whole = Floor(y) == y;
  const Value half = y * 0.5;
  const Value odd = whole & (Floor(half) != half) & (Abs(y) < infinity);
  const Value negative = ToBits(x) < 0;
  result = Select(negative & odd, -result, result);
  result = Select((x < 0.0) & (a < infinity) & ~whole, NaN(x), result);
  result = Select((a == 1.0) & (Abs(y) == infinity), one, result);
  result = Select((x != x) | (y != y), NaN(x), result);
  return Select((x == 1.0) | (y == 0.0), one, result);
}

// log1p(t) with t = |x| + x^2 / (1 + sqrt(1 + x^2)), or log|x| + log 2 if x^2 would overflow.
Value Asinh(Value x) {
  HLO_KERNEL_WIDEN(Asinh);
  const Value a = Abs(x), square = a * a;
  const Value large = a > (IsF32(x) ? 1e18 : 1e150);
  const Value small_value = Log1p(a + square / (1.0 + Sqrt(1.0 + square)));
  return CopySign(Select(large, Log(a) + std::numbers::ln2, small_value), x);
}

// log1p(t + sqrt(2 t + t^2)) with t = x - 1.
Value Acosh(Value x) {
  HLO_KERNEL_WIDEN(Acosh);
  const Value t = x - 1.0;
  const Value large = x > (IsF32(x) ? 1e18 : 1e150);
  const Value result = Select(large, Log(x) + std::numbers::ln2, Log1p(t + Sqrt(t * (t + 2.0))));
  return Select(x < 1.0, NaN(x), result);
}

Value Atanh(Value x) {
  HLO_KERNEL_WIDEN(Atanh);
  const Value a = Abs(x);
  return CopySign(0.5 * Log1p(2.0 * a / (1.0 - a)), x);
}

// Uses exp(|x| / 2), because exp(|x|) may overflow where cosh(x) does not.
Value Cosh(Value x) {
  HLO_KERNEL_WIDEN(Cosh);
  const Value half = Exp(Abs(x) * 0.5);
  return 0.5 * half * half + 0.5 / half / half;
}

Value Sinh(Value x) {
  HLO_KERNEL_WIDEN(Sinh);
  const Value a = Abs(x), half = Exp(a * 0.5), e = Expm1(a);
  // From this bound on, exp(-a) is below 2^-28 (f32) or 2^-57 (f64) of exp(a).
  const Value large = a > (IsF32(x) ? 10.0 : 20.0);
  return CopySign(Select(large, 0.5 * half * half, 0.5 * (e + e / (e + 1.0))), x);
}

// Long division of mantissas, by as many bits at a time as fit into 64 beside the divisor.
Value FloatRemainder(Value x, Value y) {
  KernelBuilder& k = x.builder();
  const Format& format = FormatOf(x);
  const auto u64 = [&](int64_t value) { return k.Constant(Type::kU64, value); };
  const Value a = Abs(x), b = Abs(y);
  const auto split = [&](Value value, Value* exponent) {
    const Value bits = Bitcast(value, format.unsigned_bits);
    const Value wide = format.type == Type::kF64 ? bits : Convert(bits, Type::kU64);
    const Value field = ShiftRightLogical(wide, u64(format.mantissa));
    const Value normal = field != 0;
    *exponent = Convert(Select(normal, field, u64(1)), Type::kS32);
    const Value fraction = wide & ((int64_t{1} << format.mantissa) - 1);
    return Select(normal, fraction | (int64_t{1} << format.mantissa), fraction);
  };
  Value exponent_x, exponent_y;
  const Value mantissa_x = split(a, &exponent_x);
  const Value mantissa_y = split(b, &exponent_y);
  const Value divisor = Select(mantissa_y == 0, u64(1), mantissa_y);
  const int64_t chunk = 63 - format.mantissa;
  const Variable rest = k.MakeVariable(mantissa_x % divisor);
  const Variable left = k.MakeVariable(Max(exponent_x - exponent_y, k.Constant(Type::kS32, 0)));
  const Value steps = Convert((left.Get() + (chunk - 1)) / chunk, Type::kIndex);
  k.Loop(k.Index(0), steps, 1, [&](Value) {
    const Value bits = Min(left.Get(), k.Constant(Type::kS32, chunk));
    rest.Set(ShiftLeft(rest.Get(), Convert(bits, Type::kU64)) % divisor);
    left.Set(left.Get() - bits);
  });
  // rest 2^(exponent_y - bias - mantissa) is exact, also if it is denormal.
  const Value value = Convert(rest.Get(), x.type()) * (IsF32(x) ? 0x1p-23 : 0x1p-52);
  const Value power = exponent_y - format.bias;
  const Value scale = PowerOfTwo(Convert(power, format.bits), format);
  const Value result = CopySign(value * scale, x);
  const Value defined = (a < Infinity(x)) & (b > 0.0) & (b == b);
  return Select(defined, Select(a < b, x, result), NaN(x));
}

#undef HLO_KERNEL_WIDEN

}  // namespace hlo::kernel
