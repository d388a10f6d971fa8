// Shared parts of the functions in math.h for f32 and f64.
#ifndef HLO_GPU_KERNEL_MATH_PARTS_H_
#define HLO_GPU_KERNEL_MATH_PARTS_H_

#include <initializer_list>
#include <limits>

#include "gpu/kernel/math.h"

namespace hlo::kernel {

struct Format {
  Type type, bits, unsigned_bits;
  int mantissa;  // Stored bits of the mantissa.
  int bias;
  double magic;              // The low bits of x + magic are x rounded to an integer.
  double ln2_high, ln2_low;  // ln2_high times any exponent is exact.
  double log2e, log2e_low;
  double half_pi[3];
  double sqrt_half;
  double tiny;  // For |x| below it, f(x) rounds to x if f(x) = x + O(x^2).
  double min_normal;
};

inline constexpr Format kF32 = {.type = Type::kF32,
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

inline constexpr Format kF64 = {.type = Type::kF64,
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

const Format& FormatOf(Value x);
inline bool IsF32(Value x) { return x.type() == Type::kF32; }

Value Polynomial(Value x, std::initializer_list<double> coefficients);
Value Polynomial(Value x, std::initializer_list<double> for_f32, std::initializer_list<double> for_f64);

inline Value ToBits(Value x) { return Bitcast(x, FormatOf(x).bits); }
inline Value Infinity(Value x) { return AsValue(x, std::numeric_limits<double>::infinity()); }
inline Value NaN(Value x) { return AsValue(x, std::numeric_limits<double>::quiet_NaN()); }

// x * multiplier rounded to an integer.
struct Rounded {
  Value as_float, as_integer;
};
Rounded RoundedProduct(Value x, double multiplier);

inline Value Narrowed(Value (*function)(Value), Value x) { return Convert(function(Convert(x, Type::kF32)), x.type()); }

#define HLO_KERNEL_WIDEN(Function) \
  if (IsSmallFloat(x.type())) return Narrowed(Function, x)

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_MATH_PARTS_H_
