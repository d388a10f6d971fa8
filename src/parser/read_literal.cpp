// Reads literals byte by byte. Grammar: docs/language.md#literals.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "parser/reader.h"

namespace hlo {
namespace {

// The largest array in bytes that may be written as its first element only.
constexpr int64_t kMaxZeroBytes = int64_t{1} << 30;

// A tuple level counts for several, because it holds the shapes of all levels below.
constexpr int64_t kTupleLevels = 16;

bool EndsNumber(char c) { return !IsWordByte(c); }

// Bits of a NaN's payload. 0 if the type has no payload, as in XLA.
int PayloadBits(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64:
    case PrimitiveType::kC128: return 52;
    case PrimitiveType::kF32:
    case PrimitiveType::kC64: return 23;
    case PrimitiveType::kF16: return 10;
    case PrimitiveType::kBF16: return 7;
    case PrimitiveType::kF8E5M2: return 2;
    case PrimitiveType::kF8E4M3: return 3;
    case PrimitiveType::kF8E3M4: return 4;
    default: return 0;
  }
}

double NanWithPayload(bool negative, uint64_t payload, int bits) {
  return std::bit_cast<double>(uint64_t{0x7FF} << 52 | payload << (52 - bits) | (negative ? uint64_t{1} << 63 : 0));
}

template <class T>
T* DataAs(Literal& literal) {
  return reinterpret_cast<T*>(literal.mutable_raw());
}

struct IntRange {
  int64_t lowest;
  uint64_t highest;
};

IntRange RangeOf(PrimitiveType type) {
  const int bits = BitWidth(type);
  if (IsSigned(type)) return {INT64_MIN >> (64 - bits), (uint64_t{1} << (bits - 1)) - 1};
  return {0, ~uint64_t{0} >> (64 - bits)};
}

void SetNan(Literal& literal, int64_t i, uint64_t payload) {
  const PrimitiveType type = literal.shape().type();
  const uint64_t sign = payload >> 63;
  const uint64_t pattern = payload << 1 >> 1;
  if (type == PrimitiveType::kF64) {
    DataAs<uint64_t>(literal)[i] = uint64_t{0x7FF} << 52 | pattern | sign << 63;
    return;
  }
  const FloatFormat format = FormatOf(type);
  const uint64_t exponent = ((uint64_t{1} << format.exponent_bits) - 1) << PayloadBits(type);
  const auto nan = static_cast<uint32_t>(exponent | pattern | sign << (format.bits() - 1));
  if (ByteWidth(type) == 2) {
    DataAs<uint16_t>(literal)[i] = static_cast<uint16_t>(nan);
  } else {
    DataAs<uint8_t>(literal)[i] = static_cast<uint8_t>(nan);
  }
}

}  // namespace

bool Reader::Read(LiteralValue& value) {
  const char* p = BeginBytes();
  if (!ReadShapedLiteralBytes(p, value.value.emplace())) return false;
  EndBytes(p);
  return true;
}

// Reads `f32[2]{0} {1, 2}` or `(f32[] 1, s32[2] {3, 4})`.
bool Reader::ReadShapedLiteralBytes(const char*& p, Literal& literal) {
  if (!SkipSpace(p)) return false;
  if (*p != '(') {
    Shape shape;
    if (!ReadShapeBytes(p, shape)) return false;
    if (!shape.IsArray()) return FailAt("P043", Str("a literal cannot have the shape ", shape), p);
    return ReadLiteralBytes(p, shape, literal);
  }
  if (!EnterDepth(kTupleLevels)) return false;
  std::vector<Literal> elements;
  ++p;
  for (;;) {
    if (!SkipSpace(p)) return false;
    if (*p == ')') break;
    if (*p == ',') {
      ++p;
      continue;
    }
    if (!ReadShapedLiteralBytes(p, elements.emplace_back())) return false;
  }
  ++p;
  literal = Literal::Tuple(std::move(elements));
  LeaveDepth(kTupleLevels);
  return true;
}

bool Reader::ReadLiteral(const Shape& shape, Literal& literal) {
  const char* p = BeginBytes();
  if (!ReadLiteralBytes(p, shape, literal)) return false;
  EndBytes(p);
  return true;
}

bool Reader::FailLiteral(const Shape& shape, std::span<const int64_t> counts, int64_t depth, const char* p) {
  std::string where;
  for (int64_t i = 0; i + 1 < depth; ++i) where += Str(i > 0 ? "," : " at [", counts[i] - 1);
  if (!where.empty()) where += "]";
  const int64_t found = counts[depth - 1];
  const int64_t size = shape.dim(depth - 1);
  return FailAt(
      "P041",
      Str("constant of ", shape, ": dimension ", depth - 1, where, found < size ? " has only " : " has more than ",
          std::min(found, size), found < size ? Str(" of ", size) : "", " entries"),
      p);
}

// Reads elements in nested braces, one level for each dimension. Commas may be anywhere.
template <class Element>
bool Reader::ReadDense(const char*& p, const Shape& shape, Literal& literal, Element&& element) {
  const int64_t rank = shape.rank();
  if (rank == 0) return SkipSpace(p) && element(p, 0);
  std::vector<int64_t> counts(rank);
  const std::vector<int64_t>& dims = shape.dims();
  int64_t depth = 0;
  int64_t next = 0;
  for (;;) {
    while (*p == ' ' || *p == ',') ++p;
    const char c = *p;
    if (static_cast<unsigned char>(c) <= ' ' || c == '/') {
      if (!SkipSpace(p)) return false;
      if (*p == ',') continue;
    }
    if (*p == '{') {
      if (depth == rank) return FailAt("P041", Str("constant of ", shape, ": braces are nested deeper than ", rank), p);
      if (depth > 0 && ++counts[depth - 1] > dims[depth - 1]) return FailLiteral(shape, counts, depth, p);
      counts[depth++] = 0;
      ++p;
    } else if (*p == '}') {
      if (depth == 0) return FailAt("P041", Str("constant of ", shape, ": expected '{'"), p);
      if (counts[depth - 1] != dims[depth - 1]) return FailLiteral(shape, counts, depth, p);
      ++p;
      if (--depth == 0) return true;
    } else if (*p == '.' && p[1] == '.' && p[2] == '.') {
      return FailAt("P041", "'...' must stand for all elements: constant({...})", p, 3);
    } else {
      if (depth != rank)
        return FailAt("P041",
                      Str("constant of ", shape, ": expected '{', because elements are inside ", rank,
                          rank == 1 ? " brace" : " braces"),
                      p);
      if (++counts[rank - 1] > dims[rank - 1]) return FailLiteral(shape, counts, depth, p);
      if (!element(p, next++)) return false;
    }
  }
}

// A scalar can be elided only if its literal is given.
bool Reader::ReadElided(const char*& p, const Shape& shape, Literal& literal) {
  ++p;
  if (!SkipSpace(p)) return false;
  const char* const dots = p;
  constexpr size_t kDots = 3;
  const bool given = options_.elided == ElidedConstants::kGiven;
  if (shape.rank() == 0 && !given)
    return FailAt("P041", Str("a scalar cannot be elided: {...} of ", shape), dots, kDots);
  if (!std::string_view(p, lexer_.end() - p).starts_with("..."))
    return FailAt("P041", Str("constant of ", shape, ": expected an element or '...'"), p);
  p += kDots;
  if (!SkipSpace(p)) return false;
  if (*p != '}') return FailAt("P041", "expected '}' after '...'", p);
  ++p;
  const SourceRange range = {lexer_.Offset(dots), lexer_.Offset(dots) + static_cast<uint32_t>(kDots)};
  switch (options_.elided) {
    case ElidedConstants::kKeep:
      if (shape.NumElements() == 0) return literal = Literal(shape), true;
      Warn("W002",
           Str("the constant was elided when the text was printed: the elements of this ", shape, " are not known"),
           range);
      [[fallthrough]];
    case ElidedConstants::kToFill: literal = Literal::Elided(shape); return true;
    case ElidedConstants::kGiven: {
      CHECK(!options_.given.empty(), "more {...} than constants");
      literal = options_.given.front();
      options_.given = options_.given.subspan(1);
      if (!Compatible(literal.shape(), shape))
        return FailAt(
            "P041",
            Str("the given literal has the shape ", literal.shape(), ", but the constant has the shape ", shape), dots,
            kDots);
      literal.SetLayout(shape.layout());
      return true;
    }
    case ElidedConstants::kError: break;
  }
  // The error of the first {...} counts the others.
  if (first_elided_) {
    ++more_elided_;
    EndBytes(dots);
    return false;
  }
  if (!Stopped()) first_elided_ = diagnostics_.size();
  FailAt("P040", Str("the constant was elided when the text was printed: constant({...}) of ", shape), dots, kDots);
  AddHint(
      "dump with --xla_dump_large_constants (JAX: as_hlo_text(print_large_constants=True)); "
      "--fill_elided_constants=random runs with made-up values");
  return false;
}

// Reads the 1 of `f32[9] constant(1)`. As in XLA, the other elements are 0.
bool Reader::ReadFirstElement(const char*& p, const Shape& shape, Literal& literal) {
  if (shape.ByteSize() > kMaxZeroBytes)
    return FailAt("P041", Str("found a single element, but a constant of ", shape, " has ", shape.NumElements()), p);
  const char* const begin = p;
  Literal first;
  if (!ReadLiteralBytes(p, Shape(shape.type(), {}), first)) return false;
  literal = Literal(shape);
  std::memcpy(literal.mutable_raw(), first.raw(), first.byte_size());
  if (shape.NumElements() > 1 && !first.IsAll(0)) {
    Warn("W013",
         Str("a single element in a constant of ", shape, ": XLA uses it as the first element, and the others are 0"),
         {lexer_.Offset(begin), lexer_.Offset(p)});
  }
  return true;
}

// Sets `nan_bits` to a NaN's payload, with the sign in bit 63, otherwise to 0.
bool Reader::ReadFloat(const char*& p, PrimitiveType type, double& value, uint64_t& nan_bits) {
  nan_bits = 0;
  const char* begin = p;
  const bool negative = *p == '-';
  const char* q = p + negative;
  if (IsDigit(*q) || (negative && *q == '.')) {
    const auto [stop, error] = std::from_chars(p, lexer_.end(), value);
    if (error == std::errc::result_out_of_range) {
      const std::string number(p, stop);
      value = std::strtod(number.c_str(), nullptr);
      if (std::isinf(value)) return FailAt("P042", Str("'", number, "' does not fit in ", type), p, stop - p);
    } else if (error != std::errc()) {
      return FailAt("P043", "expected a number", p);
    }
    if (!EndsNumber(*stop)) return FailAt("P043", "expected a number", p, stop - p + 1);
    // Integers from 2^63 on wrap around, as in XLA (docs/language.md#literals). XLA drops the sign of -0, but the
    // printer writes it.
    const bool large = std::abs(value) >= 0x1p63;
    if (large && std::string_view(p, stop - p).find_first_of(".eE") == std::string_view::npos) {
      uint64_t bits = 0;
      int64_t lowest = 0;
      const std::errc fits = negative ? std::from_chars(p, stop, lowest).ec : std::from_chars(p, stop, bits).ec;
      if (fits != std::errc()) return FailAt("P042", "the integer does not fit in 64 bits", p, stop - p);
      if (!negative) value = static_cast<double>(static_cast<int64_t>(bits));
    }
    p = stop;
    return true;
  }
  const std::string_view word(q, std::min<size_t>(lexer_.end() - q, 3));
  if (word == "inf" && EndsNumber(q[3])) {
    p = q + 3;
    value = negative ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  if (word == "nan" && EndsNumber(q[3])) {
    q += 3;
    value = negative ? -std::nan("") : std::nan("");
    if (*q == '(') {
      uint64_t payload = 0;
      const bool hex = q[1] == '0' && q[2] == 'x';
      const auto [stop, error] = std::from_chars(hex ? q + 3 : q, lexer_.end(), payload, 16);
      if (!hex || error != std::errc() || *stop != ')')
        return FailAt("P004", "the NaN payload is malformed, expected nan(0xHEX)", begin, q - begin + 1);
      const int bits = PayloadBits(type);
      if (bits == 0 || payload == 0 || payload >> bits != 0)
        return FailAt("P004",
                      bits == 0
                          ? Str("NaNs of ", type, " have no payload")
                          : Str("a NaN payload of ", type, " must be 1 to ", Format("0x%llx", (1ULL << bits) - 1)),
                      begin, stop - begin + 1);
      nan_bits = payload | (negative ? uint64_t{1} << 63 : 0);
      q = stop + 1;
    }
    p = q;
    return true;
  }
  size_t length = 0;
  while (q + length < lexer_.end() && IsWordByte(q[length])) ++length;
  return FailAt("P043", Str("expected a number for ", type), begin, std::max<size_t>(1, q + length - begin));
}

bool Reader::FailRange(PrimitiveType type, const char* p, size_t length) {
  return FailAt("P042", Str("'", std::string_view(p, length), "' does not fit in ", type), p, length);
}

bool Reader::ReadInteger64(const char*& p, PrimitiveType type, int64_t& value) {
  const char* begin = p;
  const bool negative = *p == '-';
  if (!IsDigit(p[negative])) {
    size_t length = negative;
    while (p + length < lexer_.end() && IsWordByte(p[length])) ++length;
    return FailAt("P043", Str("expected an integer for ", type), p, std::max<size_t>(1, length));
  }
  uint64_t bits = 0;
  std::from_chars_result result;
  if (negative) {
    result = std::from_chars(p, lexer_.end(), value);
  } else {
    result = std::from_chars(p, lexer_.end(), bits);
    value = static_cast<int64_t>(bits);
  }
  p = result.ptr;
  if (result.ec != std::errc()) return FailRange(type, begin, p - begin);
  if (!EndsNumber(*p)) {
    while (!EndsNumber(*p)) ++p;
    return FailAt("P043", Str("expected an integer for ", type), begin, p - begin);
  }
  return true;
}

// ---- Arrays, by type ---------------------------------------------------------------------------------------------

bool Reader::ReadPreds(const char*& p, Literal& literal) {
  auto* data = DataAs<uint8_t>(literal);
  return ReadDense(p, literal.shape(), literal, [&](const char*& at, int64_t i) {
    int64_t value = 0;
    const std::string_view rest(at, lexer_.end() - at);
    if (rest.starts_with("true") && EndsNumber(at[4])) {
      value = 1;
      at += 4;
    } else if (rest.starts_with("false") && EndsNumber(at[5])) {
      at += 5;
    } else if (!ReadInteger64(at, PrimitiveType::kPred, value)) {
      return false;
    }
    data[i] = value != 0;
    return true;
  });
}

bool Reader::ReadIntegers(const char*& p, Literal& literal) {
  const PrimitiveType type = literal.shape().type();
  const IntRange range = RangeOf(type);
  // s64 and u64 accept bit patterns of each other, as in XLA.
  const bool wide = BitWidth(type) == 64;
  return ReadDense(p, literal.shape(), literal, [&](const char*& at, int64_t i) {
    const char* begin = at;
    int64_t value = 0;
    if (!ReadInteger64(at, type, value)) return false;
    const bool fits =
        value < 0 ? value >= range.lowest && *begin == '-' : static_cast<uint64_t>(value) <= range.highest;
    if (!fits && !wide) return FailRange(type, begin, at - begin);
    literal.SetInt(i, value);
    return true;
  });
}

bool Reader::ReadComplexNumbers(const char*& p, Literal& literal) {
  const PrimitiveType type = literal.shape().type();
  const int bits = PayloadBits(type);
  const double largest =
      type == PrimitiveType::kC64 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return ReadDense(p, literal.shape(), literal, [&](const char*& at, int64_t i) {
    if (*at != '(') return FailAt("P043", Str("expected '(real, imaginary)' for ", type), at);
    double parts[2];
    for (double& part : parts) {
      ++at;
      uint64_t payload = 0;
      if (!SkipSpace(at)) return false;
      const char* begin = at;
      if (!ReadFloat(at, type, part, payload)) return false;
      if (std::isfinite(part) &&
          (type == PrimitiveType::kC64 ? std::isinf(static_cast<float>(part)) : std::abs(part) > largest))
        return FailRange(type, begin, at - begin);
      if (payload != 0) part = NanWithPayload(payload >> 63, payload << 1 >> 1, bits);
      if (!SkipSpace(at)) return false;
      if (*at != (&part == parts ? ',' : ')'))
        return FailAt("P043", Str("expected '(real, imaginary)' for ", type), at);
    }
    ++at;
    literal.SetComplex(i, {parts[0], parts[1]});
    return true;
  });
}

bool Reader::ReadF32s(const char*& p, Literal& literal) {
  auto* data = DataAs<float>(literal);
  return ReadDense(p, literal.shape(), literal, [&](const char*& at, int64_t i) {
    const char* begin = at;
    double value;
    uint64_t payload;
    if (!ReadFloat(at, PrimitiveType::kF32, value, payload)) return false;
    data[i] = static_cast<float>(value);
    if (payload != 0)
      data[i] = std::bit_cast<float>(static_cast<uint32_t>(0x7F800000 | (payload & 0x7FFFFF) | (payload >> 63 << 31)));
    if (std::isinf(data[i]) && std::isfinite(value)) return FailRange(PrimitiveType::kF32, begin, at - begin);
    return true;
  });
}

bool Reader::ReadFloats(const char*& p, Literal& literal) {
  const PrimitiveType type = literal.shape().type();
  return ReadDense(p, literal.shape(), literal, [&](const char*& at, int64_t i) {
    const char* begin = at;
    double value;
    uint64_t payload;
    if (!ReadFloat(at, type, value, payload)) return false;
    if (payload != 0) return SetNan(literal, i, payload), true;
    literal.SetDouble(i, value);
    if (std::isfinite(value) && !std::isfinite(literal.GetDouble(i))) return FailRange(type, begin, at - begin);
    return true;
  });
}

bool Reader::ReadTupleLiteral(const char*& p, const Shape& shape, Literal& literal) {
  if (*p != '(') return FailAt("P041", Str("expected '(' of a literal of ", shape), p);
  if (!EnterDepth(kTupleLevels)) return false;
  ++p;
  std::vector<Literal> elements(shape.elements().size());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!SkipSpace(p)) return false;
    if (*p == ')')
      return FailAt("P041", Str("a literal of ", shape, " has ", elements.size(), " elements, found ", i), p);
    if (i > 0 && *p == ',') ++p;
    if (!ReadLiteralBytes(p, shape.element(i), elements[i])) return false;
  }
  if (!SkipSpace(p)) return false;
  if (*p != ')') return FailAt("P041", Str("expected ')' after ", elements.size(), " elements of ", shape), p);
  ++p;
  literal = Literal::Tuple(std::move(elements));
  LeaveDepth(kTupleLevels);
  return true;
}

bool Reader::ReadLiteralBytes(const char*& p, const Shape& shape, Literal& literal) {
  if (!SkipSpace(p)) return false;
  if (shape.IsTuple()) return ReadTupleLiteral(p, shape, literal);
  if (!shape.IsArray()) return FailAt("P043", Str("a literal cannot have the shape ", shape), p);
  const PrimitiveType type = shape.type();
  if (std::find(shape.dims().begin(), shape.dims().end(), Shape::kUnbounded) != shape.dims().end())
    return FailAt("P041", Str("a constant of ", shape, " has an unbounded dimension"), p);
  const int64_t count = shape.NumElements();
  const char* inside = p + 1;
  if (*p == '{' && !SkipSpace(inside)) return false;
  if (*p == '{' && *inside == '.') return ReadElided(p, shape, literal);
  const bool in_braces = shape.rank() == 0 || *p == '{' || *p == ',' || *p == '.';
  if (!in_braces && count > 0 && !IsComplex(type)) return ReadFirstElement(p, shape, literal);
  // Each element takes a byte of text or more, which bounds the allocation.
  if (count > lexer_.end() - p)
    return FailAt("P041",
                  Str("constant of ", shape, " has ", count, " elements, more than the text behind it can hold"), p);
  literal = Literal::Uninitialized(shape);
  if (type == PrimitiveType::kPred) return ReadPreds(p, literal);
  if (IsInteger(type)) return ReadIntegers(p, literal);
  if (IsComplex(type)) return ReadComplexNumbers(p, literal);
  // As in XLA, the number is first rounded to double.
  return type == PrimitiveType::kF32 ? ReadF32s(p, literal) : ReadFloats(p, literal);
}

}  // namespace hlo
