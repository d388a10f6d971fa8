// Values of dense<...>: numbers in nested lists, one number for all elements, or the bytes in hexadecimal digits.
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "parser/mlir/text_reader.h"

namespace hlo::mlir {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr int64_t kMostBytes = int64_t{1} << 33;

// Reads the elements between the brackets of dense<...>.
class ElementReader {
 public:
  ElementReader(std::string_view text, SourceRange body, const Shape& shape)
      : begin_(text.data()), p_(begin_ + body.begin), end_(begin_ + body.end), shape_(shape) {}

  Result<Literal> Read() {
    SkipSpace();
    const bool is_list = p_ == end_ || *p_ == '[';
    if (p_ < end_ && *p_ == '"') {
      TRY(ReadBytes());
    } else {
      TRY(Make(is_list ? shape_ : Shape::Scalar(shape_.type())));
      if (p_ == end_ && shape_.NumElements() > 0) FAIL(WrongCount());
      if (p_ < end_) TRY(is_list ? ReadList(0) : ReadElement());
    }
    SkipSpace();
    if (p_ != end_) FAIL(Fail("P041", "the elements end before this"));
    if (literal_.shape().NumElements() > 1 && literal_.IsSplat()) {
      Literal scalar(Shape::Scalar(shape_.type()));
      std::memcpy(scalar.mutable_raw(), literal_.raw(), scalar.byte_size());
      return scalar;
    }
    return std::move(literal_);
  }

 private:
  void SkipSpace() {
    while (p_ < end_ && IsSpace(*p_)) ++p_;
  }
  bool Accept(char c) {
    SkipSpace();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  Error Fail(const char* code, std::string message, size_t length = 1) const {
    const auto at = static_cast<uint32_t>(p_ - begin_);
    return Rejected(code, std::move(message), {at, at + static_cast<uint32_t>(length)});
  }
  Error WrongCount() const { return Fail("P041", Str("the elements do not fill ", shape_)); }
  Status Make(const Shape& shape);

  Status ReadList(int64_t depth);
  Status ReadElement();
  Status ReadReal(double& value, std::optional<uint64_t>& bits);
  Status ReadInt();
  Status ReadComplex();
  Status ReadBytes();

  const char* const begin_;
  const char* p_;
  const char* const end_;
  const Shape& shape_;
  Literal literal_;
  int64_t next_ = 0;
};

Status ElementReader::Make(const Shape& shape) {
  if (shape.ByteSize() > kMostBytes)
    FAIL(LimitError("P093", Str("the constant has ", HumanBytes(static_cast<double>(shape.ByteSize()))),
                    {static_cast<uint32_t>(p_ - begin_), static_cast<uint32_t>(end_ - begin_)}));
  literal_ = Literal(shape);
  return {};
}

// Lists are nested as deep as the shape has dimensions, at most 64.
Status ElementReader::ReadList(int64_t depth) {
  if (depth == shape_.rank() || !Accept('[')) FAIL(WrongCount());
  const int64_t count = shape_.dim(depth);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && !Accept(',')) FAIL(WrongCount());
    SkipSpace();
    if (depth + 1 < shape_.rank()) TRY(ReadList(depth + 1));
    else TRY(ReadElement());
  }
  if (!Accept(']')) FAIL(WrongCount());
  return {};
}

// A hexadecimal number is the bits of a float.
Status ElementReader::ReadReal(double& value, std::optional<uint64_t>& bits) {
  SkipSpace();
  if (end_ - p_ > 2 && p_[0] == '0' && p_[1] == 'x') {
    uint64_t number = 0;
    const auto [p, error] = std::from_chars(p_ + 2, end_, number, 16);
    if (error != std::errc()) FAIL(Fail("P042", "the bits of a float are expected"));
    p_ = p;
    bits = number;
    return {};
  }
  const auto [p, error] = std::from_chars(p_, end_, value);
  if (error == std::errc::invalid_argument || (*p_ != '-' && HexDigit(*p_) < 0))
    FAIL(Fail("P043", Str("expected a number of the type ", shape_.type())));
  // Beyond the range, the value is an infinity or zero.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(p_, p).c_str(), nullptr);
  p_ = p;
  return {};
}

double FromBits(PrimitiveType part, uint64_t bits) {
  if (part == PrimitiveType::kF64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

Status ElementReader::ReadComplex() {
  const PrimitiveType part = shape_.type() == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  double values[2];
  if (!Accept('(')) FAIL(Fail("P043", "expected a complex number (re, im)"));
  for (double& value : values) {
    std::optional<uint64_t> bits;
    TRY(ReadReal(value, bits));
    if (bits) value = FromBits(part, *bits);
    if (!Accept(&value == values ? ',' : ')')) FAIL(Fail("P043", "expected a complex number (re, im)"));
  }
  literal_.SetComplex(next_++, {values[0], values[1]});
  return {};
}

Status ElementReader::ReadInt() {
  const PrimitiveType type = shape_.type();
  SkipSpace();
  const std::string_view rest(p_, end_ - p_);
  for (const std::string_view word : {"true", "false"}) {
    if (!rest.starts_with(word)) continue;
    if (type != PrimitiveType::kPred) FAIL(Fail("P043", Str("expected a number of the type ", type), word.size()));
    p_ += word.size();
    literal_.SetInt(next_++, word == "true" ? 1 : 0);
    return {};
  }
  const bool is_hex = rest.starts_with("0x");
  const bool is_negative = rest.starts_with("-");
  uint64_t magnitude = 0;
  const char* const digits = p_ + (is_hex ? 2 : is_negative ? 1 : 0);
  const auto [p, error] = std::from_chars(digits, end_, magnitude, is_hex ? 16 : 10);
  const auto length = std::max<size_t>(p - p_, 1);
  if (error == std::errc::invalid_argument || (p < end_ && *p == '.'))
    FAIL(Fail("P043", Str("expected a number of the type ", type), length));
  const int bits = BitWidth(type);
  const bool is_signed = IsSigned(type);
  const uint64_t most = is_negative ? (is_signed ? uint64_t{1} << (bits - 1) : 0)
                                    : (bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1) >> (is_signed ? 1 : 0);
  if (error == std::errc::result_out_of_range || magnitude > most)
    FAIL(Fail("P042", Str("the number does not fit the type ", type), length));
  p_ = p;
  literal_.SetInt(next_++, static_cast<int64_t>(is_negative ? -magnitude : magnitude));
  return {};
}

Status ElementReader::ReadElement() {
  const PrimitiveType type = shape_.type();
  if (IsComplex(type)) return ReadComplex();
  if (!IsFloat(type)) return ReadInt();
  double value = 0;
  std::optional<uint64_t> bits;
  TRY(ReadReal(value, bits));
  if (!bits) {
    literal_.SetDouble(next_++, value);
    return {};
  }
  if (BitWidth(type) < 64 && *bits >> BitWidth(type) != 0)
    FAIL(Fail("P042", Str("the bits do not fit the type ", type)));
  std::memcpy(literal_.mutable_raw() + next_++ * ByteWidth(type), &*bits, ByteWidth(type));
  return {};
}

// "0x..." has the bytes of all elements or of one, little end first. Elements of i1 are bits.
Status ElementReader::ReadBytes() {
  const std::string_view text(p_, end_ - p_);
  const size_t close = text.find('"', 1);
  if (close == std::string_view::npos || !text.starts_with("\"0x")) FAIL(Fail("P043", "expected \"0x...\""));
  const std::string_view digits = text.substr(3, close - 3);
  std::vector<uint8_t> bytes(digits.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = HexDigit(digits[2 * i]), low = HexDigit(digits[2 * i + 1]);
    if (high < 0 || low < 0) FAIL(Fail("P043", "expected hexadecimal digits", close + 1));
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  const PrimitiveType type = shape_.type();
  const auto size = static_cast<int64_t>(bytes.size());
  const bool is_one = size == ByteWidth(type) && shape_.NumElements() > 0;
  const bool is_packed = type == PrimitiveType::kPred && size == (shape_.NumElements() + 7) / 8 && !is_one;
  if (!is_one && !is_packed && size != shape_.ByteSize())
    FAIL(Fail("P041", Str("the string has ", size, " bytes, which do not fill ", shape_), close + 1));
  TRY(Make(is_one ? Shape::Scalar(type) : shape_));
  if (BitWidth(type) >= 8) {
    if (size > 0) std::memcpy(literal_.mutable_raw(), bytes.data(), size);
  } else {
    for (int64_t i = 0; i < literal_.shape().NumElements(); ++i) {
      const int byte = is_packed ? bytes[i / 8] >> (i % 8) & 1 : bytes[i];
      if (IsFloat(type)) literal_.mutable_data<uint8_t>()[i] = byte & ((1 << BitWidth(type)) - 1);
      else literal_.SetInt(i, type == PrimitiveType::kPred ? byte != 0 : byte);
    }
  }
  p_ += close + 1;
  return {};
}

}  // namespace

Status TextReader::ReadElements(Attribute& attribute) {
  attribute.kind = Attribute::Kind::kElements;
  const SourceRange body = TRY(lexer_.SkipBalanced());
  TRY(lexer_.Expect(":"));
  const uint32_t begin = lexer_.Position();
  Shape shape = TRY(ReadType());
  if (!shape.IsArray() || shape.HasDynamicDims())
    FAIL(Rejected("P041", Str("a constant cannot have the type ", shape), {begin, lexer_.last_end()}));
  Literal value = TRY(ElementReader(lexer_.Text({0, body.end}), body, shape).Read());
  attribute.elements = std::make_shared<const Elements>(std::move(shape), std::move(value));
  return {};
}

}  // namespace hlo::mlir
