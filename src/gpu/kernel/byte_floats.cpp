#include "gpu/kernel/byte_floats.h"

#include "base/check.h"

namespace hlo::kernel {
namespace {

constexpr int kFraction = 23, kBias = 127;
constexpr int64_t kInfinity = 0x7f800000, kNan = 0x7fc00000, kMagnitude = 0x7fffffff;

int64_t Ones(int bits) { return (int64_t{1} << bits) - 1; }

Value Up(Value bits, int by) { return ShiftLeft(bits, AsValue(bits, by)); }
Value Down(Value bits, int by) { return ShiftRightLogical(bits, AsValue(bits, by)); }
Value AsFloat(Value bits) { return Bitcast(bits, Type::kF32); }
Value AsBits(Value number) { return Bitcast(number, Type::kU32); }
Value FloatOf(Value like, int64_t bits) { return AsFloat(AsValue(like, bits)); }
// Drops the last `by` bits of x and rounds to nearest even.
Value RoundedDown(Value x, int by) { return Down(x + (Down(x, by) & 1) + Ones(by - 1), by); }

// f8e8m0fnu is only an exponent: the byte becomes the exponent of f32. The smallest exponent is subnormal in f32.
Value DecodeExponent(Value bits) {
  const Value normal = Select(bits == 0xff, AsValue(bits, kNan), Up(bits, kFraction));
  return AsFloat(Select(bits == 0, AsValue(bits, int64_t{1} << (kFraction - 1)), normal));
}

// Numbers halfway between powers of two become the larger one. Subnormals of f32 above 2^-127, the smallest power,
// become 2^-126, as in XLA. Numbers that are not positive and finite become NaN.
Value EncodeExponent(Value bits) {
  const Value subnormal = Select(bits > int64_t{1} << (kFraction - 1), AsValue(bits, 1), AsValue(bits, 0));
  const Value normal = Down(bits + (int64_t{1} << (kFraction - 1)), kFraction);
  const Value rounded = Select(bits < int64_t{1} << kFraction, subnormal, normal);
  return Select((bits == 0) | (bits >= kInfinity), AsValue(bits, 0xff), rounded);
}

int64_t Largest(FloatFormat format) {
  const int64_t all = Ones(format.exponent_bits + format.mantissa_bits);
  switch (format.specials) {
    case Specials::kIeee: return all - (int64_t{1} << format.mantissa_bits);
    case Specials::kFn: return all - 1;
    default: return all;
  }
}

}  // namespace

FloatFormat FormatOf(Type type) {
  switch (type) {
#define HLO_KERNEL_TYPE(Name, text, bits)
#define HLO_BYTE_FLOAT(Name, text, bits) \
  case Type::k##Name: return hlo::k##Name;
#include "gpu/kernel/types.def"
    default: CHECK(false, "no float of a byte: ", ToString(type));
  }
  __builtin_unreachable();
}

// Moves exponent and fraction to their places in f32 and corrects the bias. A subnormal has no leading bit: adding the
// bit and then subtracting its value is exact.
Value DecodeByteFloat(FloatFormat format, Value byte) {
  const Value bits = Convert(byte, Type::kU32);
  if (format.specials == Specials::kExponent) return DecodeExponent(bits);
  const int places = format.bits() - 1, move = kFraction - format.mantissa_bits;
  const int64_t sign_bit = int64_t{1} << places, least_normal = int64_t{1} << format.mantissa_bits;
  const Value magnitude = bits & (sign_bit - 1), moved = Up(magnitude, move);
  const int64_t bias = int64_t{kBias - format.bias} << kFraction, smallest = bias + (int64_t{1} << kFraction);
  const Value subnormal = AsBits(AsFloat(moved + smallest) - FloatOf(bits, smallest));
  Value number = Select(magnitude < least_normal, subnormal, moved + bias);
  if (format.specials == Specials::kIeee) number = Select(magnitude > Largest(format), moved | kInfinity, number);
  if (format.specials == Specials::kFn) number = Select(magnitude > Largest(format), AsValue(bits, kNan), number);
  number = number | Up(bits & sign_bit, 31 - places);
  if (format.specials == Specials::kFnuz)
    number = Select((bits & Ones(format.bits())) == sign_bit, AsValue(bits, kNan), number);
  return AsFloat(number);
}

// Normal results are rounded as integers, so that a carry increases the exponent. The last bit of subnormal results has
// a fixed value: adding a number whose last bit has this value makes f32's own rounding drop the bits below.
Value EncodeByteFloat(FloatFormat format, Value number) {
  const Value bits = AsBits(number);
  Value result;
  if (format.specials == Specials::kExponent) return Convert(EncodeExponent(bits), Type::kU8);
  const int places = format.bits() - 1, move = kFraction - format.mantissa_bits;
  const int64_t exponent = kBias - format.bias, largest = Largest(format), sign_bit = int64_t{1} << places;
  const int64_t added = (exponent + 1 + move) << kFraction;
  const Value magnitude = bits & kMagnitude, sign = Down(bits, 31 - places) & sign_bit;
  const Value normal = RoundedDown(magnitude, move) - (exponent << format.mantissa_bits);
  const Value subnormal = AsBits(AsFloat(magnitude) + FloatOf(bits, added)) - added;
  const Value rounded = Select(magnitude < (exponent + 1) << kFraction, subnormal, normal);
  const Value is_beyond = rounded > largest;  // Also true for NaN.
  switch (format.specials) {
    case Specials::kIeee: {
      // NaN becomes quiet, and keeps the part of its payload that fits.
      const int64_t quiet = (largest + 1) | (int64_t{1} << (format.mantissa_bits - 1));
      const Value nan = (Down(magnitude, move) & Ones(format.mantissa_bits)) | quiet;
      const Value beyond = Select(magnitude > kInfinity, nan, AsValue(bits, largest + 1));
      result = Select(is_beyond, beyond, rounded) | sign;
      break;
    }
    case Specials::kFn: result = Select(is_beyond, AsValue(bits, largest + 1), rounded) | sign; break;
    case Specials::kFinite: {
      const Value finite = Select(is_beyond, AsValue(bits, largest), rounded) | sign;
      result = Select(magnitude > kInfinity, AsValue(bits, sign_bit), finite);  // NaN becomes -0.
      break;
    }
    // kFnuz: the pattern of -0 is NaN.
    default: result = Select(is_beyond, AsValue(bits, sign_bit), Select(rounded == 0, rounded, rounded | sign));
  }
  return Convert(result, Type::kU8);
}

}  // namespace hlo::kernel
