// Residues modulo the prime 2^61 - 1, and numbers, by which the judge represents elements: a value in f64 and a
// residue.
//
// Every finite float is m * 2^e. 2 has an inverse modulo the prime, so the float has a residue, and sums, products and
// quotients of floats have the residues of the exact results, in any order and grouping. Two different polynomials have
// the same residue at a point with probability of about degree * 2^-61. The residue of an infinity or a NaN is a hash
// of it. The value in f64 takes the program's decisions: comparisons, roundings to integers, indices.
#ifndef HLO_JUDGE_RESIDUE_H_
#define HLO_JUDGE_RESIDUE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace hlo::residue {

inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

// x modulo the prime, for x < 2^64. 2^61 is 1.
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
constexpr uint64_t Inverse(uint64_t a) { return PowerOf(a, kPrime - 2); }  // 0 of 0.
// a * 2^k: a rotation of the 61 bits.
constexpr uint64_t TimesPowerOf2(uint64_t a, int k) {
  const int shift = ((k % 61) + 61) % 61;
  return shift == 0 ? a : Reduced(((a << shift) & kPrime) | (a >> (61 - shift)));
}

constexpr uint64_t OfInteger(uint64_t x) { return Reduced(x); }
constexpr uint64_t OfInteger(int64_t x) {
  return x >= 0 ? Reduced(static_cast<uint64_t>(x)) : Negative(Reduced(0 - static_cast<uint64_t>(x)));
}

// A well mixed residue of two words.
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

// Inverses of all, with one inversion: the inverse of the product of all, times the other factors. 0 stays 0.
void Invert(std::span<uint64_t> all);

// An element. 16 bytes, so that the interpreter moves arrays of elements as arrays of c128.
struct Number {
  static constexpr uint64_t kOpen = uint64_t{1} << 63;

  double value = 0;
  uint64_t bits = 0;  // The residue, and whether it is open.

  static Number Make(double value, uint64_t residue, bool open) { return {value, residue | (open ? kOpen : 0)}; }
  static Number Exactly(double value) { return {value == 0 ? 0 : value, Of(value)}; }

  uint64_t residue() const { return bits & ~kOpen; }
  bool open() const { return (bits & kOpen) != 0; }        // It depends on a decision that roundings might change.
  bool IsExact() const { return Of(value) == residue(); }  // The value in f64 is the number itself.
};
static_assert(sizeof(Number) == 16);

// The result of arithmetic. A result of infinities, NaNs or an overflow, or a quotient by zero, may be another value
// in another grouping.
inline Number Arithmetic(double value, uint64_t residue, bool of_finite, bool open) {
  if (!of_finite || !std::isfinite(value)) return Number::Make(value, Of(value), true);
  return Number::Make(residue == 0 ? 0 : value, residue, open);
}

inline bool AreFinite(const Number& a, const Number& b) { return std::isfinite(a.value) && std::isfinite(b.value); }
inline Number operator-(const Number& a) {
  return std::isfinite(a.value) ? Number::Make(-a.value, Negative(a.residue()), a.open())
                                : Number::Make(-a.value, Of(-a.value), a.open());
}
inline Number operator+(const Number& a, const Number& b) {
  return Arithmetic(a.value + b.value, Sum(a.residue(), b.residue()), AreFinite(a, b), a.open() || b.open());
}
inline Number operator-(const Number& a, const Number& b) {
  return Arithmetic(a.value - b.value, Difference(a.residue(), b.residue()), AreFinite(a, b), a.open() || b.open());
}
inline Number operator*(const Number& a, const Number& b) {
  return Arithmetic(a.value * b.value, Product(a.residue(), b.residue()), AreFinite(a, b), a.open() || b.open());
}
// `inverse`: the inverse of the residue of b.
inline Number Quotient(const Number& a, const Number& b, uint64_t inverse) {
  const bool defined = AreFinite(a, b) && b.residue() != 0;
  return Arithmetic(a.value / b.value, Product(a.residue(), inverse), defined, a.open() || b.open());
}

}  // namespace hlo::residue

#endif  // HLO_JUDGE_RESIDUE_H_
