#ifndef HLO_INTERP_OPS_REDUCE_PRECISION_H_
#define HLO_INTERP_OPS_REDUCE_PRECISION_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace hlo {

class Instruction;

struct ReducedPrecision {
  int64_t exponent_bits = 0, mantissa_bits = 0;
  int64_t own_exponent_bits = 0;
  // The smallest normal number of the type, and the step between rounded subnormal numbers. 0 if none is rounded.
  double least_normal = 0, step = 0;
};
ReducedPrecision ReducedPrecisionOf(const Instruction& inst);

// Definition: docs/ops.md#bits. T holds the element.
template <class T>
T Reduced(const ReducedPrecision& to, T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr int kExponent = sizeof(T) * 8 - 1 - kMantissa;
  constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
  constexpr Bits kInfinity = ((Bits{1} << kExponent) - 1) << kMantissa;
  Bits bits = std::bit_cast<Bits>(x);
  const Bits sign = bits & kSign;
  if (x != x) return to.mantissa_bits > 0 ? x : std::bit_cast<T>(kInfinity);
  bits &= ~kSign;
  if (bits == kInfinity) return x;
  if (const T size = std::bit_cast<T>(bits); size < static_cast<T>(to.least_normal)) {
    // Subnormal numbers of f16 are normal in T, but lose the same bits of their mantissa as in f16.
    const T step = static_cast<T>(to.step);
    bits = std::bit_cast<Bits>(std::rint(size / step) * step);
  } else if (to.mantissa_bits < kMantissa) {
    const int dropped = kMantissa - static_cast<int>(to.mantissa_bits);
    const Bits last = Bits{1} << dropped;
    // Rounds ties to even. The carry may increase the exponent.
    bits += (last >> 1) - 1 + ((bits >> dropped) & 1);
    bits &= ~(last - 1);
  }
  // The exponent is restricted only if the element's own type has more exponent bits: f16 keeps its subnormals in
  // e5m10, although T is f32.
  if (to.exponent_bits < kExponent && to.exponent_bits < to.own_exponent_bits) {
    constexpr int64_t kBias = (int64_t{1} << (kExponent - 1)) - 1;
    const int64_t bias = (int64_t{1} << (to.exponent_bits - 1)) - 1;
    const int64_t exponent = static_cast<int64_t>(bits >> kMantissa);
    if (exponent > kBias + bias) bits = kInfinity;
    if (exponent <= kBias - bias) bits = 0;
  }
  return std::bit_cast<T>(sign | bits);
}

}  // namespace hlo

#endif  // HLO_INTERP_OPS_REDUCE_PRECISION_H_
