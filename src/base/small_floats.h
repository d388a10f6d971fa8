// Conversions between double and float formats narrower than f32 (docs/language.md#element-types). They round once, to
// nearest even, also from f32 (f8e8m0fnu: see EncodeFloat in the source).
#ifndef HLO_BASE_SMALL_FLOATS_H_
#define HLO_BASE_SMALL_FLOATS_H_

#include <bit>
#include <cstdint>

namespace hlo {

enum class Specials : uint8_t {
  kIeee,      // Infinities and NaNs have the largest exponent.
  kFn,        // No infinity. NaN has all bits of exponent and mantissa set.
  kFnuz,      // No infinity and no -0. NaN has the bits of -0.
  kFinite,    // No infinity and no NaN. Overflow gives the largest finite number, and NaN becomes -0.
  kExponent,  // f8e8m0fnu: no sign and no zero. 0xFF is NaN.
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  constexpr int bits() const { return (specials == Specials::kExponent ? 0 : 1) + exponent_bits + mantissa_bits; }
};

inline constexpr FloatFormat kF16 = {5, 10, 15, Specials::kIeee};
inline constexpr FloatFormat kBF16 = {8, 7, 127, Specials::kIeee};
inline constexpr FloatFormat kF8E5M2 = {5, 2, 15, Specials::kIeee};
inline constexpr FloatFormat kF8E4M3 = {4, 3, 7, Specials::kIeee};
inline constexpr FloatFormat kF8E3M4 = {3, 4, 3, Specials::kIeee};
inline constexpr FloatFormat kF8E4M3FN = {4, 3, 7, Specials::kFn};
inline constexpr FloatFormat kF8E4M3B11FNUZ = {4, 3, 11, Specials::kFnuz};
inline constexpr FloatFormat kF8E4M3FNUZ = {4, 3, 8, Specials::kFnuz};
inline constexpr FloatFormat kF8E5M2FNUZ = {5, 2, 16, Specials::kFnuz};
inline constexpr FloatFormat kF8E8M0FNU = {8, 0, 127, Specials::kExponent};
inline constexpr FloatFormat kF4E2M1FN = {2, 1, 1, Specials::kFinite};
inline constexpr FloatFormat kF6E3M2FN = {3, 2, 3, Specials::kFinite};
inline constexpr FloatFormat kF6E2M3FN = {2, 3, 1, Specials::kFinite};

// Converts exactly. In kIeee formats a NaN keeps its sign, and its payload becomes the top bits of the mantissa.
double DecodeFloat(FloatFormat format, uint32_t bits);
uint32_t EncodeFloat(FloatFormat format, double value);

inline float BF16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t FloatToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
inline float F16ToFloat(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
inline uint16_t FloatToF16(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

}  // namespace hlo

#endif  // HLO_BASE_SMALL_FLOATS_H_
