// Functions of f32 in f64, without branches and calls, so that loops are vectorised. They use only IEEE 754 operations,
// so all machines give the same bits.
//
// Errors are a few units in the last place of f64. Rounded to f32, no result is known to be wrong
// (tests/interp/wide_math_test.cpp). Zeros keep their sign and NaNs their bits. The polynomials are Taylor series.
#ifndef HLO_INTERP_OPS_WIDE_MATH_H_
#define HLO_INTERP_OPS_WIDE_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "ir/opcode.h"

namespace hlo::wide {

template <class... Rest>
double Polynomial(double x, double first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) return first;
  else return std::fma(Polynomial(x, rest...), x, first);
}

// x + kToInteger has the nearest integer in its low bits, for |x| < 2^51.
constexpr double kToInteger = 0x1.8p52;

constexpr double kLn2High = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kLog2E = 0x1.71547652b82fep0;

// e^x = scale * (1 + part), with part in [-0.3, 0.42].
struct ExpParts {
  double scale, part;
};

// Requires |x| < 700.
inline ExpParts ExpOf(double x) {
  const double shifted = std::fma(x, kLog2E, kToInteger), n = shifted - kToInteger;
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  const uint64_t exponent = std::bit_cast<uint64_t>(shifted) << 52;
  return {std::bit_cast<double>(exponent + std::bit_cast<uint64_t>(1.0)),
          std::fma(r * r,
                   Polynomial(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880.,
                              1. / 3628800., 1. / 39916800, 1. / 479001600, 1. / 6227020800),
                   r)};
}

inline double Clamp(double x, double most) { return x < -most ? -most : x > most ? most : x; }

// Rounded to f32, e^150 is infinite and e^-150 is 0.
constexpr double kExpLimit = 150;

// Evaluate(x) requires Covers(x).
struct Exp {
  static bool Covers(double) { return true; }
  static double Evaluate(double x) {
    const auto [scale, part] = ExpOf(Clamp(x, kExpLimit));
    return std::fma(scale, part, scale);
  }
};

inline double Expm1Of(double x) {
  const auto [scale, part] = ExpOf(x);
  return std::fma(scale, part, scale - 1);
}

struct Expm1 {
  static bool Covers(double) { return true; }
  static double Evaluate(double x) {
    const double y = Expm1Of(Clamp(x, kExpLimit));
    return x == 0 ? x : y;
  }
};

struct Logistic {
  static bool Covers(double) { return true; }
  static double Evaluate(double x) { return 1 / (1 + Exp::Evaluate(-x)); }
};

// (e^2x - 1) / (e^2x + 1), which is 1 in f64 for x = 20.
struct Tanh {
  static bool Covers(double) { return true; }
  static double Evaluate(double x) {
    const double y = Expm1Of(2 * Clamp(x, 20));
    return x == 0 ? x : y / (y + 2);
  }
};

// x = 2^n * m with m in [sqrt(1/2), sqrt(2)), for normal numbers.
struct LogParts {
  double n, m;
};
inline LogParts SplitForLog(double x) {
  const auto sqrt_half = std::bit_cast<uint64_t>(0x1.6a09e667f3bcdp-1), bits = std::bit_cast<uint64_t>(x) - sqrt_half;
  const uint64_t biased = (bits + (uint64_t{1024} << 52)) >> 52;
  const double n = std::bit_cast<double>(biased | std::bit_cast<uint64_t>(0x1p52)) - (0x1p52 + 1024);
  return {n, std::bit_cast<double>((bits & (~uint64_t{0} >> 12)) + sqrt_half)};
}

// log(1 + f) = 2 atanh(f / (2 + f)) = head + tail, for 1 + f in [sqrt(1/2), sqrt(2)].
struct Log1pParts {
  double head, tail;
};
inline Log1pParts Log1pOf(double f) {
  const double s = f / (2 + f), z = s * s;
  return {2 * s, s * (z * Polynomial(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19,
                                     2. / 21, 2. / 23))};
}

inline double LogOf(double n, double f) {
  const auto [head, tail] = Log1pOf(f);
  return std::fma(n, kLn2High, head + std::fma(n, kLn2Low, tail));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Log {
  static bool Covers(double x) { return x > 0 && x < kInfinity; }
  static double Evaluate(double x) {
    const auto [n, m] = SplitForLog(x);
    return LogOf(n, m - 1);
  }
};

struct Log2 {
  static bool Covers(double x) { return x > 0 && x < kInfinity; }
  static double Evaluate(double x) {
    const auto [n, m] = SplitForLog(x);
    const auto [head, tail] = Log1pOf(m - 1);
    return std::fma(head + tail, kLog2E, n);
  }
};

// If n is 0, x is more precise than m - 1, because 1 + x is rounded.
struct Log1p {
  static bool Covers(double x) { return x > -1 && x < kInfinity; }
  static double Evaluate(double x) {
    const auto [n, m] = SplitForLog(1 + x);
    const double y = LogOf(n, n == 0 ? x : m - 1);
    return x == 0 ? x : y;
  }
};

// x = k * pi/2 + r, for the integer k nearest to x * 2/pi. `n` has the low bits of k and other high bits. For
// |x| < 2^20, k * kHalfPiHigh - x is exact.
struct Quadrant {
  uint64_t n;
  double r;
};
inline Quadrant QuadrantOf(double x) {
  constexpr double kHalfPiHigh = 0x1.921fb54442d18p0, kHalfPiLow = 0x1.1a62633145c07p-54;
  const double shifted = std::fma(x, 0x1.45f306dc9c883p-1, kToInteger), n = shifted - kToInteger;
  return {std::bit_cast<uint64_t>(shifted), std::fma(-n, kHalfPiLow, std::fma(-n, kHalfPiHigh, x))};
}

inline double SinOf(uint64_t n, double r) {
  const double z = r * r;
  const double sine = std::fma(r,
                               z * Polynomial(z, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800,
                                              1. / 6227020800., -1. / 1307674368000., 1. / 355687428096000.),
                               r),
               cosine = std::fma(z,
                                 Polynomial(z, -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600.,
                                            -1. / 87178291200, 1. / 20922789888000),
                                 1);
  const double y = (n & 1) != 0 ? cosine : sine;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(y) ^ (n >> 1 << 63));
}

constexpr double kQuadrantLimit = 0x1p20;

struct Sin {
  static bool Covers(double x) { return std::fabs(x) < kQuadrantLimit; }
  static double Evaluate(double x) {
    const auto [n, r] = QuadrantOf(x);
    const double y = SinOf(n, r);
    return x == 0 ? x : y;
  }
};

struct Cos {
  static bool Covers(double x) { return std::fabs(x) < kQuadrantLimit; }
  static double Evaluate(double x) {
    const auto [n, r] = QuadrantOf(x);
    return SinOf(n + 1, r);
  }
};

struct ErfTable {
  double value[65], slope[65];
};
constexpr ErfTable kErf = [] {
  ErfTable table = {};
  for (int i = 0; i <= 64; ++i) {
    const long double c = i / 16.0L;
    // e^(c^2) = sum of c^2k / k!, erf c = 2/sqrt(pi) e^(-c^2) * sum of 2^k c^(2k+1) / (1 * 3 * ... * (2k+1)).
    long double exp = 1, exp_term = 1, sum = c, term = c;
    for (int k = 1; k < 120; ++k) {
      exp += exp_term *= c * c / k;
      sum += term *= 2 * c * c / (2 * k + 1);
    }
    const long double slope = 1.12837916709551257389615890312154517L / exp;
    table.slope[i] = static_cast<double>(slope);
    table.value[i] = static_cast<double>(slope * sum);
  }
  return table;
}();

// erf(c + d) = erf c + erf' c * (integral over d of e^(-2cd - d^2), by its Taylor series). Rounded to f32, erf 4 is 1.
struct Erf {
  static bool Covers(double) { return true; }
  static double Evaluate(double x) {
    const double size = std::fabs(Clamp(x, 4)), shifted = std::fma(size, 16, kToInteger);
    const double c = (shifted - kToInteger) / 16, d = size - c;
    const uint64_t i = std::bit_cast<uint64_t>(shifted) & 127;
    const double slope_d = kErf.slope[i] * d;
    const double cd = -2 * c * d, dd = -2 * d * d;
    double before = 1, term = cd, sum = cd * (1. / 2);
    Step<2>(cd, dd, before, term, sum);
    Step<3>(cd, dd, before, term, sum);
    Step<4>(cd, dd, before, term, sum);
    Step<5>(cd, dd, before, term, sum);
    Step<6>(cd, dd, before, term, sum);
    Step<7>(cd, dd, before, term, sum);
    Step<8>(cd, dd, before, term, sum);
    Step<9>(cd, dd, before, term, sum);
    return std::copysign(kErf.value[i] + std::fma(slope_d, sum, slope_d), x);
  }

 private:
  // Computes the term of d^k, and adds its part of the integral to `sum`.
  template <int k>
  static void Step(double cd, double dd, double& before, double& term, double& sum) {
    const double next = std::fma(cd, term, dd * before) * (1. / k);
    sum = std::fma(next, 1. / (k + 1), sum);
    before = std::exchange(term, next);
  }
};

#define HLO_WIDE_FUNCTIONS(F) F(Cos) F(Erf) F(Exp) F(Expm1) F(Log) F(Log1p) F(Log2) F(Logistic) F(Sin) F(Tanh)

template <Opcode>
struct FunctionOf;
#define HLO_WIDE_FUNCTION(Name)        \
  template <>                          \
  struct FunctionOf<Opcode::k##Name> { \
    using Type = Name;                 \
  };
HLO_WIDE_FUNCTIONS(HLO_WIDE_FUNCTION)
#undef HLO_WIDE_FUNCTION

}  // namespace hlo::wide

#endif  // HLO_INTERP_OPS_WIDE_MATH_H_
