#ifndef HLO_BASE_FLOAT_LIMITS_H_
#define HLO_BASE_FLOAT_LIMITS_H_

#include <cstdint>

#include "base/small_floats.h"

namespace hlo {

constexpr uint32_t LargestFiniteBits(FloatFormat format) {
  const uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  switch (format.specials) {
    case Specials::kIeee: return (((1u << format.exponent_bits) - 1) << format.mantissa_bits) - 1;
    case Specials::kFn:
    case Specials::kExponent: return all - 1;
    case Specials::kFnuz:
    case Specials::kFinite: return all;
  }
  return all;
}

inline double LargestFinite(FloatFormat format) { return DecodeFloat(format, LargestFiniteBits(format)); }

}  // namespace hlo

#endif  // HLO_BASE_FLOAT_LIMITS_H_
