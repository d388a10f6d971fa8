// Literals as XLA prints them: docs/language.md#printing.
#include <algorithm>
#include <cmath>
#include <complex>

#include "base/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

// Decimal digits that identify every value, and mantissa bits of a NaN's payload (0: none).
struct FloatDigits {
  int short_digits;  // Tried first if above 0.
  int digits;
  int payload_bits;
};

FloatDigits DigitsOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64:
    case PrimitiveType::kC128: return {15, 17, 52};
    case PrimitiveType::kF32:
    case PrimitiveType::kC64: return {6, 9, 23};
    case PrimitiveType::kF16: return {0, 5, 10};
    case PrimitiveType::kBF16: return {0, 4, 7};
    default: break;
  }
  // max_digits10 of the narrower types.
  const FloatFormat format = FormatOf(type);
  const bool has_payload = format.specials == Specials::kIeee;
  return {0, format.mantissa_bits >= 3 ? 3 : 2, has_payload ? format.mantissa_bits : 0};
}

template <class T>
void AppendRounded(std::string& out, T value, int digits) {
  char text[64];
  out.append(text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr);
}

template <class T>
void AppendFinite(std::string& out, T value, FloatDigits how) {
  if (how.short_digits == 0) return AppendRounded(out, static_cast<double>(value), how.digits);
  // A small integer is exact in few digits.
  if (std::abs(value) < 1e5 && value == std::trunc(value) && !std::signbit(value))
    return AppendTo(out, static_cast<int64_t>(value));
  char text[64];
  char* end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, how.short_digits).ptr;
  T again;
  std::from_chars(text, end, again);
  if (again == value) {
    out.append(text, end);
    return;
  }
  AppendRounded(out, value, how.digits);
}

void AppendNan(std::string& out, bool negative, uint64_t bits, int payload_bits) {
  out += negative ? "-nan" : "nan";
  if (payload_bits == 0 || bits == uint64_t{1} << (payload_bits - 1)) return;
  char digits[20];
  out += "(0x";
  out.append(digits, std::to_chars(digits, digits + sizeof digits, bits, 16).ptr);
  out += ')';
}

template <class T>
void AppendFloat(std::string& out, T value, FloatDigits how) {
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else if (std::isnan(value)) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const auto bits = std::bit_cast<Bits>(value);
    AppendNan(out, std::signbit(value), bits & ((Bits{1} << how.payload_bits) - 1), how.payload_bits);
  } else {
    AppendFinite(out, value, how);
  }
}

void AppendSmallFloat(std::string& out, const Literal& literal, int64_t i) {
  const PrimitiveType type = literal.shape().type();
  const double value = literal.GetDouble(i);
  const FloatDigits how = DigitsOf(type);
  if (!std::isnan(value)) return AppendFloat(out, value, how);
  const uint32_t bits = ByteWidth(type) == 2 ? literal.data<uint16_t>()[i] : literal.data<uint8_t>()[i];
  const bool negative = FormatOf(type).specials != Specials::kExponent && (bits >> (BitWidth(type) - 1) & 1) != 0;
  AppendNan(out, negative, bits & ((1u << how.payload_bits) - 1), how.payload_bits);
}

void AppendArray(std::string& out, const Literal& literal, int64_t depth, int64_t& next, std::vector<int64_t>& index) {
  const Shape& shape = literal.shape();
  const int64_t rank = shape.rank();
  if (depth == rank) {
    if (shape.type() == PrimitiveType::kPred && rank > 0) {
      out += literal.GetInt(next) != 0 ? '1' : '0';
    } else {
      AppendElement(out, literal, next);
    }
    ++next;
    return;
  }
  const int64_t size = shape.dim(depth);
  const bool innermost = depth + 1 == rank;
  const bool blank = rank > 1 && (!innermost || size > 1);
  out += '{';
  if (!innermost && rank > 3 && depth > 0) out += Str(" /*i", depth - 1, "=", index.back(), "*/");
  if (blank) out += ' ';
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) out += ", ";
    index.push_back(i);
    AppendArray(out, literal, depth + 1, next, index);
    index.pop_back();
  }
  if (blank) out += ' ';
  out += '}';
}

void AppendLiteral(std::string& out, const Literal& literal) {
  if (literal.shape().IsTuple()) {
    out += "( ";
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      if (i > 0) out += ", ";
      AppendLiteral(out, literal.elements()[i]);
    }
    out += " )";
    return;
  }
  if (!literal.IsKnown()) {
    out += "{...}";
    return;
  }
  int64_t next = 0;
  std::vector<int64_t> index;
  AppendArray(out, literal, 0, next, index);
}

// True for an empty array, too.
bool AllElementsAre(const Literal& array, double value) {
  for (int64_t i = 0; i < array.shape().NumElements(); ++i) {
    const std::complex<double> element = array.GetComplex(i);
    if (element != value || std::signbit(element.real()) || std::signbit(element.imag())) return false;
  }
  return true;
}

bool HoldsIntegers(const Shape& shape) {
  if (!shape.IsTuple()) return IsInteger(shape.type());
  return std::all_of(shape.elements().begin(), shape.elements().end(), HoldsIntegers);
}

bool IsShort(const Shape& shape, int64_t most) { return shape.IsArray() && shape.NumElements() <= most; }

}  // namespace

void AppendElement(std::string& out, const Literal& literal, int64_t i) {
  const PrimitiveType type = literal.shape().type();
  switch (type) {
    case PrimitiveType::kPred: return AppendTo(out, literal.GetInt(i) != 0);
    case PrimitiveType::kF32: return AppendFloat(out, literal.data<float>()[i], DigitsOf(type));
    case PrimitiveType::kF64: return AppendFloat(out, literal.data<double>()[i], DigitsOf(type));
    case PrimitiveType::kU64: return AppendTo(out, static_cast<uint64_t>(literal.GetInt(i)));
    default: break;
  }
  if (IsInteger(type)) return AppendTo(out, literal.GetInt(i));
  if (IsFloat(type)) return AppendSmallFloat(out, literal, i);
  out += '(';
  for (const int64_t part : {2 * i, 2 * i + 1}) {
    if (part % 2 != 0) out += ", ";
    if (type == PrimitiveType::kC64) {
      AppendFloat(out, literal.data<float>()[part], DigitsOf(type));
    } else {
      AppendFloat(out, literal.data<double>()[part], DigitsOf(type));
    }
  }
  out += ')';
}

std::string Print(const Literal& literal) {
  std::string out;
  AppendLiteral(out, literal);
  return out;
}

std::string ConstantText(const Literal& literal, Constants constants) {
  constexpr int64_t kSmall = 10, kManyIntegers = 500'000;
  const Shape& shape = literal.shape();
  if (!literal.IsKnown()) return Print(literal);
  switch (constants) {
    case Constants::kAll: return Print(literal);
    case Constants::kSmall:
      if (IsShort(shape, kSmall)) return Print(literal);
      break;
    case Constants::kEssential:
      if (shape.IsArray() && AllElementsAre(literal, 0)) return "0";
      if (shape.IsArray() && AllElementsAre(literal, 1)) return "1";
      if (HoldsIntegers(shape) && (shape.IsTuple() || IsShort(shape, kManyIntegers))) return Print(literal);
      break;
  }
  return "{...}";
}

}  // namespace hlo
