#include "base/small_floats.h"

#include <cmath>
#include <limits>

#include "base/float_limits.h"

namespace hlo {
namespace {

uint32_t NanBits(FloatFormat format, bool negative, uint64_t payload52) {
  const uint32_t sign = negative && format.specials != Specials::kExponent ? 1u << (format.bits() - 1) : 0;
  switch (format.specials) {
    case Specials::kIeee: {
      const uint32_t exponent = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
      const uint32_t payload = static_cast<uint32_t>(payload52 >> (52 - format.mantissa_bits));
      return sign | exponent | payload | (1u << (format.mantissa_bits - 1));
    }
    case Specials::kFn: return sign | ((1u << (format.bits() - 1)) - 1);
    case Specials::kFnuz: return 1u << (format.bits() - 1);
    case Specials::kExponent: return 0xFF;
    case Specials::kFinite: return 1u << (format.bits() - 1);
  }
  return 0;
}

}  // namespace

double DecodeFloat(FloatFormat format, uint32_t bits) {
  const uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1;
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = (bits >> format.mantissa_bits) & exponent_mask;
  const bool negative = format.specials != Specials::kExponent && (bits >> (format.bits() - 1)) & 1;
  const auto nan = [&] {
    uint64_t pattern = 0x7FF0000000000000 | (static_cast<uint64_t>(negative) << 63);
    const uint64_t payload = static_cast<uint64_t>(mantissa) << (52 - format.mantissa_bits);
    pattern |= format.specials == Specials::kIeee && payload != 0 ? payload : uint64_t{1} << 51;
    return std::bit_cast<double>(pattern);
  };
  switch (format.specials) {
    case Specials::kIeee:
      if (exponent == exponent_mask) {
        if (mantissa != 0) return nan();
        return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
      }
      break;
    case Specials::kFn:
      if (exponent == exponent_mask && mantissa == mantissa_mask) return nan();
      break;
    case Specials::kFnuz:
      if (bits == 1u << (format.bits() - 1)) return std::bit_cast<double>(uint64_t{0x7FF8000000000000});
      break;
    case Specials::kExponent:
      if (exponent == exponent_mask) return nan();
      return std::ldexp(1.0, static_cast<int>(exponent) - format.bias);
    case Specials::kFinite: break;
  }
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                                         : std::ldexp(mantissa | (1u << format.mantissa_bits),
                                                      static_cast<int>(exponent) - format.bias - format.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

uint32_t EncodeFloat(FloatFormat format, double value) {
  const uint64_t pattern = std::bit_cast<uint64_t>(value);
  const bool negative = pattern >> 63;
  if (std::isnan(value)) return NanBits(format, negative, pattern & ((uint64_t{1} << 52) - 1));
  if (format.specials == Specials::kExponent) {
    // The format has neither zero nor sign: 0, negative numbers and infinity become NaN. As in XLA and ml_dtypes,
    // numbers halfway between two powers of two round up, and so do all numbers between the two smallest powers.
    if (!(value > 0) || std::isinf(value)) return NanBits(format, false, 0);
    int exponent;
    const double fraction = std::frexp(value, &exponent) * 2;
    --exponent;
    const int biased = exponent + format.bias + (fraction >= 1.5 ? 1 : 0);
    if (exponent + format.bias <= 0) return exponent + format.bias == 0 && fraction > 1 ? 1 : 0;
    return biased > 254 ? NanBits(format, false, 0) : static_cast<uint32_t>(biased);
  }
  const uint32_t sign = negative ? 1u << (format.bits() - 1) : 0;
  const double magnitude = std::fabs(value);
  const auto overflow = [&]() -> uint32_t {
    if (format.specials == Specials::kIeee) return sign | (LargestFiniteBits(format) + 1);
    if (format.specials == Specials::kFinite) return sign | LargestFiniteBits(format);
    return NanBits(format, negative, 0);
  };
  if (std::isinf(value)) return overflow();
  if (magnitude == 0) return format.specials == Specials::kFnuz ? 0 : sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  // Subnormal numbers share the smallest exponent.
  exponent = std::max(exponent - 1, 1 - format.bias);
  // nearbyint rounds to nearest even by default. A carry into the exponent adds up correctly.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const uint32_t rounded =
      static_cast<uint32_t>(units) + (static_cast<uint32_t>(exponent + format.bias - 1)
                                      << format.mantissa_bits);  // The leading bit of `units` adds one to the exponent.
  if (rounded > LargestFiniteBits(format)) return overflow();
  if (rounded == 0 && format.specials == Specials::kFnuz) return 0;
  return sign | rounded;
}

}  // namespace hlo
