// Trigonometric functions and inverses. math.cpp describes errors and coefficients.
#include <cstdint>
#include <numbers>

#include "gpu/kernel/math_parts.h"

namespace hlo::kernel {
namespace {

// x = quadrant pi/2 + r, |r| <= pi/4.
struct Angle {
  Value r, quadrant;
};

// Payne and Hanek's reduction computes the relevant bits of x * 2/pi from the bits of 2/pi.
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
  // Two bits of quadrant precede the fraction, which rounding to the nearest quadrant makes signed.
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

// sin(r) and cos(r) for |r| <= pi/4. Errors: 2^-30, 2^-60.
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

// atan(small / large): in f32 by a polynomial on [0, 1] (error: 2^-28), in f64 through (t-1)/(t+1) above tan(pi/8)
// (error: 2^-62).
Value AtanOfRatio(Value small, Value large) {
  if (IsF32(small)) {
    const Value t = small / large;
    const Value z = t * t;
    const Value p = Polynomial(z, {-0x1.555556p-2, 0x1.9999bep-3, -0x1.2490b8p-3, 0x1.c6a61cp-4, -0x1.6ff086p-4,
                                   0x1.256f7cp-4, -0x1.a1f138p-5, 0x1.ce2572p-6, -0x1.4b1c42p-7, 0x1.bbab1ep-10});
    return Fma(t * z, p, t);
  }
  const Value steep = small > large * 0.41421356237309503;
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

// asin(a) = start + rest for a <= 1/2. For larger a, `steep` is true and start + rest is asin(sqrt((1 - a) / 2)), half
// of the difference to a right angle. NaN above 1.
struct Arc {
  Value start, rest, steep;
};

// Errors: 2^-31, 2^-59.
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

}  // namespace

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
  const Value lost = (high - left) - twice;  // Rounding error of `left`.
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

}  // namespace hlo::kernel
