// Argument reduction, then a polynomial. The coefficients were fitted at Chebyshev points in 300-bit arithmetic,
// rounded one by one from the lowest with the rest refitted; the truncation errors named here are relative to the
// function.
#include "gpu/kernel/math.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "base/check.h"

namespace hlo::kernel {
namespace {

// The two formats, and the constants of both.
struct Format {
  Type type, bits, unsigned_bits;
  int mantissa;  // Stored bits.
  int bias;
  double magic;              // x + magic has x, rounded to an integer, in its low bits.
  double ln2_high, ln2_low;  // High: exact times any exponent.
  double log2e, log2e_low;
  double half_pi[3];
  double sqrt_half;
  double tiny;  // f(x) rounds to x below this, for f(x) = x + O(x^2).
  double min_normal;
};

constexpr Format kF32 = {.type = Type::kF32,
                         .bits = Type::kS32,
                         .unsigned_bits = Type::kU32,
                         .mantissa = 23,
                         .bias = 127,
                         .magic = 0x1.8p23,
                         .ln2_high = 0x1.62e4p-1,
                         .ln2_low = 0x1.7f7d1cp-20,
                         .log2e = 0x1.715476p+0,
                         .log2e_low = 0x1.4ae0cp-26,
                         .half_pi = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50},
                         .sqrt_half = 0x1.6a09e6p-1,
                         .tiny = 0x1p-25,
                         .min_normal = 0x1p-126};

constexpr Format kF64 = {.type = Type::kF64,
                         .bits = Type::kS64,
                         .unsigned_bits = Type::kU64,
                         .mantissa = 52,
                         .bias = 1023,
                         .magic = 0x1.8p52,
                         .ln2_high = 0x1.62e42fefa38p-1,
                         .ln2_low = 0x1.ef35793c7673p-45,
                         .log2e = 0x1.71547652b82fep+0,
                         .log2e_low = 0x1.777d0ffda0d24p-56,
                         .half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110},
                         .sqrt_half = 0x1.6a09e667f3bcdp-1,
                         .tiny = 0x1p-54,
                         .min_normal = 0x1p-1022};

const Format& FormatOf(Value x) {
  CHECK(x.type() == Type::kF32 || x.type() == Type::kF64, "a function of ", ToString(x.type()));
  return x.type() == Type::kF32 ? kF32 : kF64;
}

bool IsF32(Value x) { return x.type() == Type::kF32; }

// c0 + c1 x + c2 x^2 ..., by Horner's rule.
Value Polynomial(Value x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.end() - 1;
  Value sum = AsValue(x, *c);
  while (c != coefficients.begin()) sum = Fma(sum, x, AsValue(x, *--c));
  return sum;
}

Value Polynomial(Value x, std::initializer_list<double> for_f32, std::initializer_list<double> for_f64) {
  return Polynomial(x, IsF32(x) ? for_f32 : for_f64);
}

Value ToBits(Value x) { return Bitcast(x, FormatOf(x).bits); }
Value Infinity(Value x) { return AsValue(x, std::numeric_limits<double>::infinity()); }
Value NaN(Value x) { return AsValue(x, std::numeric_limits<double>::quiet_NaN()); }

// Keeps NaN.
Value Clamp(Value x, double low, double high) {
  x = Select(x < low, AsValue(x, low), x);
  return Select(x > high, AsValue(x, high), x);
}

// 2^n for an integer n in the range of the exponent.
Value PowerOfTwo(Value n, const Format& format) {
  return Bitcast(ShiftLeft(n + format.bias, ConstantLike(n, int64_t{format.mantissa})), format.type);
}

// x * 2^n, rounded once, for n in twice the range of the exponent and x near 1.
Value Scale(Value x, Value n) {
  const Format& format = FormatOf(x);
  const Value half = ShiftRightArithmetic(n, ConstantLike(n, int64_t{1}));
  return x * PowerOfTwo(half, format) * PowerOfTwo(n - half, format);
}

// x * multiplier, rounded to an integer: as a float, and as an integer of the same width.
struct Rounded {
  Value as_float, as_integer;
};

Rounded RoundedProduct(Value x, double multiplier) {
  const Format& format = FormatOf(x);
  const Value shifted = multiplier == 1 ? x + format.magic : Fma(x, AsValue(x, multiplier), AsValue(x, format.magic));
  return {.as_float = shifted - format.magic, .as_integer = ToBits(shifted) - ToBits(AsValue(x, format.magic))};
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

// exp(r) - 1 for |r| <= 0.35; 2^-30, 2^-64.
Value SmallExpm1(Value r) {
  const Value q =
      Polynomial(r, {0x1p-1, 0x1.555556p-3, 0x1.5554fep-5, 0x1.110fccp-7, 0x1.6d345ap-10, 0x1.a2bfbep-13},
                 {0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555556p-5, 0x1.1111111111373p-7, 0x1.6c16c16c15f8bp-10,
                  0x1.a01a019eb5f7p-13, 0x1.a01a01a864f97p-16, 0x1.71de40058d771p-19, 0x1.27e4d71654043p-22,
                  0x1.ae4f24bb69ef6p-26, 0x1.1f7b02506a07ep-29, 0x1.7ecd3ce78e56fp-33});
  return Fma(r * r, q, r);
}

// exp(x) where neither the result nor its square overflows or vanishes; no clamping.
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
  if (IsF32(x)) {  // 2^-28.
    const Value p = Polynomial(f, {0x1.555554p-2, -0x1.fffffp-3, 0x1.999d4ap-3, -0x1.555f48p-3, 0x1.23d66cp-3,
                                   -0x1.fc4552p-4, 0x1.dda3eep-4, -0x1.da9c46p-4, 0x1.25a8e2p-4});
    return {.exponent = exponent, .f = f, .rest = Fma(-(f * f * f), p, half_square)};
  }
  // log(1+f) = 2s + s z R(z), s = f / (2+f), z = s^2; 2^-57.
  const Value s = f / (f + 2.0);
  const Value z = s * s;
  const Value r =
      z * Polynomial(z, {0x1.5555555555558p-1, 0x1.99999999952a2p-2, 0x1.2492492dff90dp-2, 0x1.c71c62cfed016p-3,
                         0x1.7462bb401b31ap-3, 0x1.39fd7e13421afp-3, 0x1.2b636a6a13e16p-3});
  return {.exponent = exponent, .f = f, .rest = half_square - s * (half_square + r)};
}

// What logarithms give at 0, below, and at infinity and NaN.
Value LogEdges(Value x, Value result) {
  result = Select(x < Infinity(x), result, x);
  result = Select(x < 0.0, NaN(x), result);
  return Select(x == 0.0, -Infinity(x), result);
}

// x = quadrant pi/2 + r, |r| <= pi/4.
struct Angle {
  Value r, quadrant;
};

// Payne and Hanek: the bits of x * 2/pi that matter, from the bits of 2/pi.
Angle ReduceHugeF32(Value x) {
  KernelBuilder& k = x.builder();
  const auto u32 = [&](int64_t value) { return k.Constant(Type::kU32, value); };
  const auto u64 = [&](Value value) { return Convert(value, Type::kU64); };
  const Value bits = Bitcast(x, Type::kU32);
  const Value mantissa = ShiftLeft(bits, u32(8)) | 0x80000000;
  const Value exponent = (ShiftRightLogical(bits, u32(23)) & 0xff) - 126;
  const Value word = ShiftRightLogical(exponent, u32(5));
  const Value shift = exponent & 31;
  constexpr int64_t kTwoOverPi[] = {0,          0x28be60db, 0x9391054a, 0x7f09d5f4,
                                    0x7d4d3770, 0x36d8a566, 0x4f10e410, 0x7f9458ea};
  const auto pick = [&](int offset) {
    Value picked = u32(kTwoOverPi[offset]);
    for (int i = 1; i < 5; ++i) picked = Select(word == i, u32(kTwoOverPi[offset + i]), picked);
    return picked;
  };
  const auto join = [&](Value high, Value low) { return ShiftLeft(high, shift) | ShiftRightLogical(low, 32 - shift); };
  const Value w0 = pick(0), w1 = pick(1), w2 = pick(2), w3 = pick(3);
  const Value wide = u64(mantissa);
  const Value thirty_two = k.Constant(Type::kU64, 32);
  Value product = ShiftRightLogical(wide * u64(join(w2, w3)), thirty_two) + wide * u64(join(w1, w2));
  product = product + ShiftLeft(wide * u64(join(w0, w1)), thirty_two);
  // Two bits of quadrant, then the fraction; to the nearest quadrant, so the fraction is signed.
  const Value quadrant = ShiftRightLogical(product + (int64_t{1} << 61), k.Constant(Type::kU64, 62));
  const Value fraction = Bitcast(product - ShiftLeft(quadrant, k.Constant(Type::kU64, 62)), Type::kS64);
  const Value r = Convert(Convert(fraction, Type::kF64) * 0x1.921fb54442d18p-62, Type::kF32);
  const Value q = Convert(quadrant, Type::kS32);
  return {.r = Select(x < 0.0, -r, r), .quadrant = Select(x < 0.0, -q, q)};
}

Angle ReduceHugeF64(Value x) {
  KernelBuilder& k = x.builder();
  const auto u64 = [&](int64_t value) { return k.Constant(Type::kU64, value); };
  const Array table = k.Table("two_over_pi", Type::kU64,
                              {0,
                               0x28be60db9391054a,
                               0x7f09d5f47d4d3770,
                               0x36d8a5664f10e410,
                               0x7f9458eaf7aef158,
                               0x6dc91b8e909374b8,
                               0x1924bba82746487,
                               0x3f877ac72c4a69cf,
                               static_cast<int64_t>(0xba208d7d4baed121),
                               0x3a671c09ad17df90,
                               0x4e64758e60d4ce7d,
                               0x272117e2ef7e4a0e,
                               static_cast<int64_t>(0xc7fe25fff7816603),
                               static_cast<int64_t>(0xfbcbc462d6829b47),
                               static_cast<int64_t>(0xdb4d9fb3c9f2c26d),
                               static_cast<int64_t>(0xd3d18fd9a797fa8b),
                               0x5d49eeb1faf97c5e,
                               static_cast<int64_t>(0xcf41ce7de294a4ba),
                               static_cast<int64_t>(0x9afed7ec47e35742),
                               0x1580cc11bf1edaea});
  const Value bits = Bitcast(x, Type::kU64);
  const Value mantissa = ShiftLeft(bits, u64(11)) | u64(INT64_MIN);
  const Value exponent = (ShiftRightLogical(bits, u64(52)) & 0x7ff) - 1022;
  // Infinity and small values come here too, in lanes that throw the result away.
  const Value word = Convert(Min(ShiftRightLogical(exponent, u64(6)), u64(16)), Type::kIndex);
  const Value shift = exponent & 63;
  const auto join = [&](Value high, Value low) { return ShiftLeft(high, shift) | ShiftRightLogical(low, 64 - shift); };
  const Value w0 = table.Load(word), w1 = table.Load(word + 1), w2 = table.Load(word + 2), w3 = table.Load(word + 3);
  const Value middle = join(w1, w2);
  const Value low = mantissa * middle + MulHigh(mantissa, join(w2, w3));
  const Value carry = Convert(low < mantissa * middle, Type::kU64);
  const Value high = mantissa * join(w0, w1) + MulHigh(mantissa, middle) + carry;
  const Value quadrant = ShiftRightLogical(high + (int64_t{1} << 61), u64(62));
  const Value fraction = Bitcast(high - ShiftLeft(quadrant, u64(62)), Type::kS64);
  const Value scaled = Fma(Convert(low, Type::kF64), AsValue(x, 0x1p-64), Convert(fraction, Type::kF64));
  const Value r = scaled * 0x1.921fb54442d18p-62;
  const Value q = Bitcast(quadrant, Type::kS64);
  return {.r = Select(x < 0.0, -r, r), .quadrant = Select(x < 0.0, -q, q)};
}

Angle ReduceAngle(Value x) {
  KernelBuilder& k = x.builder();
  const Format& format = FormatOf(x);
  const auto [n, integer] = RoundedProduct(x, 2 / std::numbers::pi);
  Value r = x;
  for (const double part : format.half_pi) r = Fma(n, AsValue(x, -part), r);
  const Variable angle = k.MakeVariable(r);
  const Variable quadrant = k.MakeVariable(integer);
  k.If(Abs(x) > (IsF32(x) ? 65536.0 : 0x1p27), [&] {
    const Angle huge = IsF32(x) ? ReduceHugeF32(x) : ReduceHugeF64(x);
    angle.Set(huge.r);
    quadrant.Set(huge.quadrant);
  });
  return {.r = angle.Get(), .quadrant = quadrant.Get()};
}

// On |r| <= pi/4; 2^-30, 2^-60.
Value SmallSin(Value r) {
  const Value z = r * r;
  const Value p =
      Polynomial(z, {-0x1.555556p-3, 0x1.111196p-7, -0x1.a07f9ap-13, 0x1.86376ep-19},
                 {-0x1.5555555555555p-3, 0x1.1111111111023p-7, -0x1.a01a019fea7c7p-13, 0x1.71de3a1436decp-19,
                  -0x1.ae63ff1273033p-26, 0x1.60eb7176ffb8cp-33, -0x1.90a6e3bc03c76p-41});
  return Fma(r * z, p, r);
}

Value SmallCos(Value r) {
  const Value z = r * r;
  const Value p =
      Polynomial(z, {0x1.555556p-5, -0x1.6c17cep-10, 0x1.a0ec7p-16, -0x1.55d1e4p-22},
                 {0x1.5555555555555p-5, -0x1.6c16c16c16a3cp-10, 0x1.a01a019fbb9dp-16, -0x1.27e4faf6c2c49p-22,
                  0x1.1eece3fdb4f88p-29, -0x1.92bcadd629a43p-37, 0x1.41d23543655e8p-45});
  const Value h = z * 0.5;
  const Value w = AsValue(r, 1.0) - h;
  return w + Fma(z * z, p, (AsValue(r, 1.0) - w) - h);
}

Value SinOfQuadrant(Angle angle) {
  const Value odd = (angle.quadrant & 1) != 0;
  const Value value = Select(odd, SmallCos(angle.r), SmallSin(angle.r));
  return Select((angle.quadrant & 2) != 0, -value, value);
}

// log2 and the power of two in f64, for pow in f32: 2^-52 and 2^-38.
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

Double2 FastTwoSum(Value a, Value b) {  // |a| >= |b|.
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

// log2(x) to 2^-64 in two f64: 2 s + 2/3 s^3 + s^5 R(s^2), s = (m-1)/(m+1).
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
  // The series beyond the two leading terms: sum of 2 z^k / (2k + 1), k >= 2.
  const Value tail = z.high * z.high *
                     Polynomial(z.high, {0x1.99999999952a2p-2, 0x1.2492492dff90dp-2, 0x1.c71c62cfed016p-3,
                                         0x1.7462bb401b31ap-3, 0x1.39fd7e13421afp-3, 0x1.2b636a6a13e16p-3});
  const Double2 third = Multiply(z, Constant2(x, 0x1.5555555555555p-1, 0x1.5555555555555p-55));
  Double2 series = FastTwoSum(AsValue(x, 2.0), third.high);
  series = FastTwoSum(series.high, series.low + third.low + tail);
  const Double2 log2 = Multiply(Multiply(s, series), Constant2(x, kF64.log2e, kF64.log2e_low));
  // |exponent| >= 1 > |log2| / 1, or it is zero: the sum of the larger and the smaller.
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

// On [0, 1] (f32; 2^-28), and through (t-1)/(t+1) above tan(pi/8) in f64 (2^-62): atan(small / large).
Value AtanOfRatio(Value small, Value large) {
  if (IsF32(small)) {
    const Value t = small / large;
    const Value z = t * t;
    const Value p = Polynomial(z, {-0x1.555556p-2, 0x1.9999bep-3, -0x1.2490b8p-3, 0x1.c6a61cp-4, -0x1.6ff086p-4,
                                   0x1.256f7cp-4, -0x1.a1f138p-5, 0x1.ce2572p-6, -0x1.4b1c42p-7, 0x1.bbab1ep-10});
    return Fma(t * z, p, t);
  }
  const Value steep = small > large * 0.41421356237309503;
  // Halves of what is large, so that the sum cannot overflow.
  const Value scale = Select(large > 1.0, AsValue(large, 0.5), AsValue(large, 1.0));
  const Value y = small * scale, x = large * scale;
  const Value t = Select(steep, y - x, y) / Select(steep, y + x, x);
  const Value z = t * t;
  const Value p =
      Polynomial(z, {-0x1.5555555555555p-2, 0x1.9999999999804p-3, -0x1.24924924806cep-3, 0x1.c71c71bb6c3a5p-4,
                     -0x1.745d152091133p-4, 0x1.3b1372c0ed7ddp-4, -0x1.110c6856f3a85p-4, 0x1.e169ad33a9729p-5,
                     -0x1.ab04fe44c3eabp-5, 0x1.6d583c29d17bdp-5, -0x1.026c596abead5p-5, 0x1.591791799ac43p-7,
                     0x1.3ae303939b4abp-8});
  const Value atan = Fma(t * z, p, t);
  return Select(steep, (atan + 0x1.1a62633145c07p-55) + 0x1.921fb54442d18p-1, atan);
}

// start + rest: asin(a) for a <= 1/2; beyond, `steep`, asin(sqrt((1 - a) / 2)), half of what is left to a right angle.
// NaN above 1.
struct Arc {
  Value start, rest, steep;
};

// 2^-31, 2^-59.
Arc AsinOfMagnitude(Value a) {
  const Value steep = a > 0.5;
  const Value z = Select(steep, (1.0 - a) * 0.5, a * a);
  const Value s = Select(steep, Sqrt(z), a);
  const Value p = Polynomial(
      z, {0x1.55554cp-3, 0x1.33389ap-4, 0x1.6cab9ep-5, 0x1.04a632p-5, 0x1.d8274ap-7, 0x1.339d4cp-5},
      {0x1.5555555555577p-3, 0x1.333333332e1cfp-4, 0x1.6db6db720719fp-5, 0x1.f1c71a9a148c8p-6, 0x1.6e8bde3f7b103p-6,
       0x1.1c49fc65881d9p-6, 0x1.ca1e60d2c0ed9p-7, 0x1.758f673d28cccp-7, 0x1.61044ffabf9b5p-7, 0x1.e94ffef1b5ff1p-9,
       0x1.6295e03cc9fd7p-6, -0x1.56890f4fe5aecp-6, 0x1.0ad250b46e8b4p-5});
  return {.start = s, .rest = s * z * p, .steep = steep};
}

// f16 and bf16 in f32.
Value Narrowed(Value (*function)(Value), Value x) { return Convert(function(Convert(x, Type::kF32)), x.type()); }

}  // namespace

#define HLO_KERNEL_WIDEN(Function) \
  if (IsSmallFloat(x.type())) return Narrowed(Function, x)

Value Exp(Value x) {
  HLO_KERNEL_WIDEN(Exp);
  const Value clamped = IsF32(x) ? Clamp(x, -104, 89) : Clamp(x, -746, 710);
  const auto [r, n] = ReduceExp(clamped);
  return Scale(SmallExpm1(r) + 1.0, n);
}

Value Exp2(Value x) {
  HLO_KERNEL_WIDEN(Exp2);
  const Value clamped = IsF32(x) ? Clamp(x, -151, 129) : Clamp(x, -1076, 1025);
  const auto [n, integer] = RoundedProduct(clamped, 1);
  const Value r = clamped - n;
  // 2^-27, 2^-59.
  const Value p =
      Polynomial(r, {0x1.62e43p-1, 0x1.ebfbep-3, 0x1.c6af94p-5, 0x1.3b2a5p-7, 0x1.5efc54p-10, 0x1.441ceep-13},
                 {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a1cbp-5, 0x1.3b2ab6fba4d4dp-7,
                  0x1.5d87fe78772d9p-10, 0x1.430912f8bf217p-13, 0x1.ffcbfd36c6b16p-17, 0x1.62c020fb8aedp-20,
                  0x1.b52360bf3e3c3p-24, 0x1.e4d39cbfdf394p-28, 0x1.ec208adce66d4p-32, 0x1.be9cc528ba6cep-36});
  return Scale(Fma(r, p, AsValue(x, 1.0)), integer);
}

Value Expm1(Value x) {
  HLO_KERNEL_WIDEN(Expm1);
  const Value clamped = IsF32(x) ? Clamp(x, -20, 89) : Clamp(x, -40, 710);
  const auto [r, n] = ReduceExp(clamped);
  // 2^n (em + 1) - 1, halved so that 2^n does not overflow before the result does.
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
  const Value lost = (x - (u - 1.0)) / u;  // log(u + d) = log(u) + d/u; exact for |x| < 1, no matter for large x.
  const auto [e, f, rest] = ReduceLog(u, false);
  const Value low = (Fma(e, AsValue(x, format.ln2_low), -rest) + Select(Abs(x) < 0x1p60, lost, AsValue(x, 0.0))) + f;
  const Value result = LogEdges(u, Fma(e, AsValue(x, format.ln2_high), low));
  return Select(Abs(x) < format.tiny, x, result);
}

Value Tanh(Value x) {
  HLO_KERNEL_WIDEN(Tanh);
  const Value a = Abs(x);
  const Value z = x * x;
  // Below 0.56: 2^-27, 2^-61.
  const Value p = Polynomial(
      z, {-0x1.555554p-2, 0x1.110facp-3, -0x1.b99056p-5, 0x1.5c6fep-6, -0x1.ac455cp-8},
      {-0x1.5555555555555p-2, 0x1.1111111111034p-3, -0x1.ba1ba1ba0669p-5, 0x1.664f487b30d96p-6, -0x1.226e33dbc9148p-7,
       0x1.d6d3715d359eap-9, -0x1.7d9bad704188ap-10, 0x1.34eccc418abaep-11, -0x1.ed91e65cda7dcp-13,
       0x1.64531329fa03cp-14, -0x1.f1fae34d1c5bep-17, -0x1.c87d81f768dccp-17, 0x1.68964dd647c38p-17});
  const Value small = Fma(a * z, p, a);
  const double saturated = IsF32(x) ? 10 : 20;
  const Value bounded = Select(a > saturated, AsValue(x, saturated), a);
  const Value large = AsValue(x, 1.0) - AsValue(x, 2.0) / (ModerateExp(bounded + bounded) + 1.0);
  return CopySign(Select(a < 0.5625, small, large), x);
}

Value Logistic(Value x) {
  HLO_KERNEL_WIDEN(Logistic);
  const Value e = Exp(-Abs(x));
  return Select(x < 0.0, e, AsValue(x, 1.0)) / (e + 1.0);
}

Value Erf(Value x) {
  HLO_KERNEL_WIDEN(Erf);
  const Value a = Abs(x);
  // Below 0.93: 2^-30, 2^-56.
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
  // erfc(t) = exp(-t + t P(t)); 1 - erfc rounds to 1 from 4 (5.95) on. 2^-31, 2^-62.
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

Value Sin(Value x) {
  HLO_KERNEL_WIDEN(Sin);
  const Value result = SinOfQuadrant(ReduceAngle(x));
  const double tiny = IsF32(x) ? 0x1p-13 : 0x1p-27;
  return Select(Abs(x) < tiny, x, Select(Abs(x) < Infinity(x), result, NaN(x)));
}

Value Cos(Value x) {
  HLO_KERNEL_WIDEN(Cos);
  Angle angle = ReduceAngle(x);
  angle.quadrant = angle.quadrant + 1;
  return Select(Abs(x) < Infinity(x), SinOfQuadrant(angle), NaN(x));
}

Value Tan(Value x) {
  HLO_KERNEL_WIDEN(Tan);
  const auto [r, quadrant] = ReduceAngle(x);
  const Value sin = SmallSin(r), cos = SmallCos(r);
  const Value odd = (quadrant & 1) != 0;
  const Value result = Select(odd, -cos, sin) / Select(odd, sin, cos);
  const double tiny = IsF32(x) ? 0x1p-13 : 0x1p-27;
  return Select(Abs(x) < tiny, x, Select(Abs(x) < Infinity(x), result, NaN(x)));
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
  // |x| = 2^(3 third) m, m in [1, 8).
  const int64_t bias_thirds = (format.bias + 2) / 3;
  const Value exponent = ShiftRightLogical(bits, shift) + (3 * bias_thirds - format.bias);
  const Value third = exponent / 3;
  const Value remainder = exponent - third * 3;
  const Value fraction = bits & ((int64_t{1} << format.mantissa) - 1);
  const Value m = Bitcast(fraction | ShiftLeft(remainder + format.bias, shift), x.type());
  Value y = Polynomial(m, {0x1.6887ecp-1, 0x1.5cc658p-2, -0x1.2e42e6p-5, 0x1.dfc85p-10});  // 2^-6.7.
  for (int step = 0; step < (IsF32(x) ? 1 : 2); ++step) {  // Halley: three times the bits.
    const Value cube = y * y * y;
    y = y * (cube + (m + m)) / (cube + cube + m);
  }
  // Newton with the residual m - y^3 to twice the precision.
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
  // Zero and infinity, to any power but zero.
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

Value Atan2(Value y, Value x) {
  if (IsSmallFloat(x.type())) return Convert(Atan2(Convert(y, Type::kF32), Convert(x, Type::kF32)), x.type());
  const Format& format = FormatOf(x);
  const Value a = Abs(x), b = Abs(y);
  const Value steep = b > a;
  const Value both_infinite = (a == Infinity(x)) & (b == Infinity(x));
  const Value both_zero = (a == 0.0) & (b == 0.0);
  const Value one = AsValue(x, 1.0);
  const Value small = Select(both_infinite, one, Select(steep, a, b));
  const Value large = Select(both_infinite | both_zero, one, Select(steep, b, a));
  Value angle = AtanOfRatio(small, large);
  const double high = format.half_pi[0], low = format.half_pi[1];
  angle = Select(steep, AsValue(x, high) - (angle - low), angle);
  angle = Select(ToBits(x) < 0, AsValue(x, 2 * high) - (angle - 2 * low), angle);
  return Select((x != x) | (y != y), NaN(x), CopySign(angle, y));
}

Value Asin(Value x) {
  HLO_KERNEL_WIDEN(Asin);
  const Value high = AsValue(x, FormatOf(x).half_pi[0]), low = AsValue(x, FormatOf(x).half_pi[1]);
  const auto [start, rest, steep] = AsinOfMagnitude(Abs(x));
  const Value twice = 2.0 * start;
  const Value left = high - twice;
  const Value lost = (high - left) - twice;  // In the line before.
  return CopySign(Select(steep, left + (lost + (low - 2.0 * rest)), start + rest), x);
}

Value Acos(Value x) {
  HLO_KERNEL_WIDEN(Acos);
  const double high = FormatOf(x).half_pi[0], low = FormatOf(x).half_pi[1];
  const auto [start, rest, steep] = AsinOfMagnitude(Abs(x));
  const Value angle = start + rest;
  const Value twice = 2.0 * angle;
  const Value near_end = Select(x > 0.0, twice, AsValue(x, 2 * high) - (twice - 2 * low));
  return Select(steep, near_end, AsValue(x, high) - (CopySign(angle, x) - low));
}

// log1p(t) with t = |x| + x^2 / (1 + sqrt(1 + x^2)); where x^2 would overflow, log|x| + log 2.
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

// exp(|x|) may overflow where the result does not: exp(|x| / 2) twice.
Value Cosh(Value x) {
  HLO_KERNEL_WIDEN(Cosh);
  const Value half = Exp(Abs(x) * 0.5);
  return 0.5 * half * half + 0.5 / half / half;
}

Value Sinh(Value x) {
  HLO_KERNEL_WIDEN(Sinh);
  const Value a = Abs(x), half = Exp(a * 0.5), e = Expm1(a);
  // From here on exp(-a) is less than 2^-28 (2^-57) of exp(a).
  const Value large = a > (IsF32(x) ? 10.0 : 20.0);
  return CopySign(Select(large, 0.5 * half * half, 0.5 * (e + e / (e + 1.0))), x);
}

// Long division of the mantissas, as many bits at a time as fit beside the divisor.
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
  // rest 2^(exponent_y - bias - mantissa): exact, also when it is denormal.
  const Value value = Convert(rest.Get(), x.type()) * (IsF32(x) ? 0x1p-23 : 0x1p-52);
  const Value power = exponent_y - format.bias;
  const Value scale = PowerOfTwo(Convert(power, format.bits), format);
  const Value result = CopySign(value * scale, x);
  const Value defined = (a < Infinity(x)) & (b > 0.0) & (b == b);
  return Select(defined, Select(a < b, x, result), NaN(x));
}

#undef HLO_KERNEL_WIDEN

}  // namespace hlo::kernel
