// Residues modulo the prime 2^61 - 1: docs/comparison.md#residues. A Number represents a float element by a residue and
// a value in f64. Two different polynomials have the same residue at a random point with a probability of about degree
// * 2^-61. The residue of an infinity or a NaN is a hash. The value has an error bound and decides comparisons.
#ifndef HLO_JUDGE_RESIDUES_RESIDUE_H_
#define HLO_JUDGE_RESIDUES_RESIDUE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace hlo::residue {

inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

// x modulo the prime. The residue of 2^61 is 1.
constexpr uint64_t Reduced(uint64_t x) {
  x = (x & kPrime) + (x >> 61);
  return x >= kPrime ? x - kPrime : x;
}
constexpr uint64_t Sum(uint64_t a, uint64_t b) { return Reduced(a + b); }
constexpr uint64_t Negative(uint64_t a) { return a == 0 ? 0 : kPrime - a; }
constexpr uint64_t Difference(uint64_t a, uint64_t b) { return Reduced(a + kPrime - b); }
constexpr uint64_t Product(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return Reduced((static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61));
}
constexpr uint64_t PowerOf(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = Product(base, base)) {
    if ((exponent & 1) != 0) result = Product(result, base);
  }
  return result;
}
constexpr uint64_t Inverse(uint64_t a) { return PowerOf(a, kPrime - 2); }  // The inverse of 0 is 0.
// a * 2^k: rotates the 61 bits by k.
constexpr uint64_t TimesPowerOf2(uint64_t a, int k) {
  const int shift = ((k % 61) + 61) % 61;
  return shift == 0 ? a : Reduced(((a << shift) & kPrime) | (a >> (61 - shift)));
}

constexpr uint64_t OfInteger(uint64_t x) { return Reduced(x); }
constexpr uint64_t OfInteger(int64_t x) {
  return x >= 0 ? Reduced(static_cast<uint64_t>(x)) : Negative(Reduced(0 - static_cast<uint64_t>(x)));
}

constexpr uint64_t Hash(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15 ^ std::rotl(b * 0xC2B2AE3D27D4EB4F, 31);
  for (int i = 0; i < 2; ++i) {
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
  }
  return Reduced(x ^ x >> 32);
}

inline uint64_t Of(double x) {
  if (!std::isfinite(x)) return Hash(1, std::isnan(x) ? 0 : x > 0 ? 1 : 2);
  int exponent;
  const auto mantissa = static_cast<int64_t>(std::frexp(x, &exponent) * 0x1p53);
  return TimesPowerOf2(OfInteger(mantissa), exponent - 53);
}

// Inverts each element, with one call of Inverse for all. 0 stays 0.
void Invert(std::span<uint64_t> all);

inline constexpr double kUnit = 0x1p-53;

// An element of a value. It has 16 bytes, so that the interpreter can move arrays of numbers as c128.
struct Number {
  static constexpr uint64_t kOpen = uint64_t{1} << 63, kInexact = uint64_t{1} << 62;
  // The low bits of an inexact value hold e: its error bound is 2^e units in the last place.
  static constexpr uint64_t kErrorBits = 63;
  static constexpr int kUnbounded = 63;

  double value = 0;
  uint64_t bits = 0;  // The residue, kOpen and kInexact.

  // `value` is the number itself, an infinity or a NaN.
  static Number Exactly(double value) { return {value == 0 ? 0 : value, Of(value)}; }
  static Number Near(double value, double error, uint64_t residue, bool open);

  uint64_t residue() const { return bits & ~(kOpen | kInexact); }
  bool open() const { return (bits & kOpen) != 0; }  // The number depends on a decision that roundings might change.
  bool IsInexact() const { return (bits & kInexact) != 0; }
  // Bound of the distance between the value and the represented number. It may be infinite.
  double error() const {
    if (!IsInexact()) return 0;
    const int e = static_cast<int>(std::bit_cast<uint64_t>(value) & kErrorBits);
    return e == kUnbounded ? std::numeric_limits<double>::infinity() : std::ldexp(BinadeOf(value), e - 52);
  }
  Number Opened(bool open) const { return {value, bits | (open ? kOpen : 0)}; }

  // The largest power of two up to |x|, for a normal x.
  static double BinadeOf(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & uint64_t{0x7FF} << 52); }
};
static_assert(sizeof(Number) == 16);

inline Number Number::Near(double value, double error, uint64_t residue, bool open) {
  // 2^-126 - 2^-4 and other multiples of the prime have the residue 0, but are not 0.
  if (residue == 0 && !(std::fabs(value) > error)) return Number{0, 0}.Opened(open);
  if (error == 0) return Number{value, residue}.Opened(open);
  constexpr double kLeast = 0x1p-960;  // Above this, a unit in the last place is not subnormal.
  // The error is stored in units of the value's last place, so a value far below its error becomes as large.
  if (std::isfinite(error) && std::fabs(value) < std::fmax(error * 0x1p-8, kLeast)) {
    error = std::fmax(error, kLeast) + std::fabs(value);
    value = std::copysign(error, value);
  }
  const double step = BinadeOf(value) * 0x1p-52;
  error += static_cast<double>(kErrorBits) * step;
  const auto e = static_cast<int>(std::bit_cast<uint64_t>(error / step) >> 52) - 1022;
  const uint64_t coded =
      (std::bit_cast<uint64_t>(value) & ~kErrorBits) | static_cast<uint64_t>(e < kUnbounded ? e : kUnbounded);
  return Number{std::bit_cast<double>(coded), residue | kInexact}.Opened(open);
}

// If an operand or the result is not finite, the result is open: another grouping may change it.
inline Number Arithmetic(double value, double error, uint64_t residue, bool of_finite, bool open) {
  if (!of_finite || !std::isfinite(value)) return Number{value, Of(value)}.Opened(true);
  return Number::Near(value, error, residue, open);
}

inline bool AreFinite(const Number& a, const Number& b) { return std::isfinite(a.value) && std::isfinite(b.value); }
inline bool AreExact(const Number& a, const Number& b) { return ((a.bits | b.bits) & Number::kInexact) == 0; }
inline Number operator-(const Number& a) {
  if (!std::isfinite(a.value)) return Number{-a.value, Of(-a.value)}.Opened(a.open());
  return {a.value == 0 ? 0 : -a.value, Negative(a.residue()) | (a.bits & (Number::kOpen | Number::kInexact))};
}
inline Number SumOfTwo(const Number& a, const Number& b, uint64_t residue) {
  const double value = a.value + b.value, of_b = value - a.value;
  const double rounded = (a.value - (value - of_b)) + (b.value - of_b);
  const double error = a.error() + b.error() + (AreExact(a, b) ? std::fabs(rounded) : std::fabs(value) * kUnit);
  return Arithmetic(value, error, residue, AreFinite(a, b), a.open() || b.open());
}
inline Number operator+(const Number& a, const Number& b) { return SumOfTwo(a, b, Sum(a.residue(), b.residue())); }
inline Number operator-(const Number& a, const Number& b) {
  return SumOfTwo(a, {-b.value, b.bits}, Difference(a.residue(), b.residue()));
}
inline Number operator*(const Number& a, const Number& b) {
  constexpr double kLeast = 0x1p-960;  // Smaller products may lose bits to underflow.
  const double value = a.value * b.value;
  const bool is_exact = AreExact(a, b) && std::fabs(value) >= kLeast && std::fma(a.value, b.value, -value) == 0;
  const double ea = a.error(), eb = b.error();
  const double moved =
      AreExact(a, b) ? 0 : std::fabs(a.value) * eb + std::fabs(b.value) * ea + (ea == 0 || eb == 0 ? 0 : ea * eb);
  const double error = is_exact ? 0 : moved + std::fmax(std::fabs(value), kLeast) * kUnit;
  // An infinite error times 0 is NaN.
  const double bound = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  return Arithmetic(value, bound, Product(a.residue(), b.residue()), AreFinite(a, b), a.open() || b.open());
}
inline Number Quotient(const Number& a, const Number& b, uint64_t inverse) {
  constexpr double kLeast = 0x1p-960;
  const bool defined = AreFinite(a, b) && b.residue() != 0;
  const double value = a.value / b.value, eb = b.error();
  const bool is_exact = AreExact(a, b) && std::fabs(value) >= kLeast && std::fabs(a.value) >= kLeast &&
                        std::fma(value, b.value, -a.value) == 0;
  const double rest = std::fabs(b.value) - eb;
  const double moved = rest > 0 ? (a.error() + std::fabs(value) * eb) / rest : std::numeric_limits<double>::infinity();
  const double error = is_exact ? 0 : moved + std::fmax(std::fabs(value), kLeast) * kUnit;
  return Arithmetic(value, error, Product(a.residue(), inverse), defined, a.open() || b.open());
}

}  // namespace hlo::residue

#endif  // HLO_JUDGE_RESIDUES_RESIDUE_H_
