#include "parser/proto_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "parser/lexer.h"
#include "parser/wire.h"

namespace hlo {
namespace {

constexpr size_t kLengthBytes = 5;

class Encoder {
 public:
  Encoder(const std::shared_ptr<const SourceText>& source, int64_t max_depth)
      : source_(source), text_(source->text()), max_depth_(max_depth) {}

  Result<EncodedProto> Encode(ProtoType type) {
    TRY(Fields(type, '\0', 0));
    return std::move(out_);
  }

 private:
  Error ErrorAt(std::string message, size_t begin) const {
    const auto at = [&](size_t offset) { return static_cast<uint32_t>(std::min(offset, text_.size())); };
    Error error = Rejected("P010", std::move(message), {at(begin), at(begin + 1)});
    error.source = source_;
    return error;
  }
  Error Expected(std::string_view what) const {
    return ErrorAt(Str("expected ", what, at_ == text_.size() ? ", found the end of the text" : ""), at_);
  }

  Error TooDeep() const {
    Error error =
        ErrorAt(Str("messages are nested deeper than --max_depth, or deeper than ", kDeepestMessage, " levels"), at_);
    error.exit = ExitCode::kLimit;
    error.diagnostics[0].code = "P091";
    return error;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    while (at_ < text_.size()) {
      if (Peek() == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (Peek() == ' ' || (Peek() >= '\t' && Peek() <= '\r')) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool Accept(char c) {
    SkipSpace();
    if (at_ == text_.size() || Peek() != c) return false;
    ++at_;
    return true;
  }
  std::string_view Word() {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && (IsWordByte(Peek()) || Peek() == '+')) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Reads fields up to `close`, or to the end if `close` is NUL.
  Status Fields(ProtoType type, char close, int64_t depth);
  Status Field(ProtoType type, int64_t depth);
  Status Value(const ProtoField& field, int64_t depth);
  Status Message(const ProtoField& field, int64_t depth);
  Status Scalar(const ProtoField& field);
  Status String(std::string& value);
  Result<bool> SkipValue(int64_t depth);
  Result<uint64_t> Integer(std::string_view word, size_t begin) const;
  Result<double> Real(std::string_view word, size_t begin) const;

  void Tag(const ProtoField& field, WireType type) {
    out_.places.emplace_back(out_.wire.size(), static_cast<uint32_t>(at_));
    AppendTag(out_.wire, field.number, type);
  }
  template <class T>
  void Fixed(T value) {
    out_.wire.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  const std::shared_ptr<const SourceText>& source_;
  std::string_view text_;
  int64_t max_depth_;
  size_t at_ = 0;
  EncodedProto out_;
};

Status Encoder::Fields(ProtoType type, char close, int64_t depth) {
  for (;;) {
    SkipSpace();
    if (close != '\0' && Accept(close)) return {};
    if (close == '\0' && at_ == text_.size()) return {};
    TRY(Field(type, depth));
    if (!Accept(',')) Accept(';');
  }
}

Status Encoder::Field(ProtoType type, int64_t depth) {
  const size_t begin = at_;
  if (Peek() == '[') {  // An extension, or the type of an Any.
    at_ = std::min(text_.find(']', at_), text_.size());
    if (!Accept(']')) FAIL(Expected("']'"));
    Accept(':');
    const std::string_view extension = text_.substr(begin, at_ - begin);
    if (!TRY(SkipValue(depth))) AddUnread(out_.unread, type, 0, extension, begin);
    return {};
  }
  if (!IsLetter(Peek())) FAIL(Expected("the name of a field"));
  const std::string_view name = Word();
  const auto fields = FieldsOf(type);
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const ProtoField& f) { return f.name == name; });
  Accept(':');
  SkipSpace();
  if (found == fields.end()) {
    if (!TRY(SkipValue(depth))) AddUnread(out_.unread, type, 0, name, begin);
    return {};
  }
  if (!Accept('[')) return Value(*found, depth);
  while (!Accept(']')) {
    TRY(Value(*found, depth));
    SkipSpace();
    if (!Accept(',') && Peek() != ']') FAIL(Expected("',' or ']'"));
  }
  return {};
}

Status Encoder::Value(const ProtoField& field, int64_t depth) {
  SkipSpace();
  return field.kind == ProtoKind::kMessage ? Message(field, depth) : Scalar(field);
}

Status Encoder::Message(const ProtoField& field, int64_t depth) {
  if (depth >= max_depth_) FAIL(TooDeep());
  Tag(field, WireType::kBytes);
  const char open = Peek();
  if (open != '{' && open != '<') FAIL(Expected(Str("'{' and the fields of '", field.name, "'")));
  ++at_;
  const size_t length_at = out_.wire.size();
  out_.wire.append(kLengthBytes, '\0');
  TRY(Fields(static_cast<ProtoType>(field.of), open == '{' ? '}' : '>', depth + 1));
  size_t length = out_.wire.size() - length_at - kLengthBytes;
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7) {
    out_.wire[length_at + i] = static_cast<char>((length & 0x7F) | (i + 1 < kLengthBytes ? 0x80 : 0));
  }
  return {};
}

Status Encoder::Scalar(const ProtoField& field) {
  const size_t begin = at_;
  if (field.kind == ProtoKind::kBytes) {
    Tag(field, WireType::kBytes);
    std::string value;
    TRY(String(value));
    AppendVarint(out_.wire, value.size());
    out_.wire += value;
    return {};
  }
  if (field.kind == ProtoKind::kFloat || field.kind == ProtoKind::kDouble) {
    const bool single = field.kind == ProtoKind::kFloat;
    Tag(field, single ? WireType::kFixed32 : WireType::kFixed64);
    const double value = TRY(Real(Word(), begin));
    single ? Fixed(static_cast<float>(value)) : Fixed(value);
    return {};
  }
  Tag(field, WireType::kVarint);
  const std::string_view word = Word();
  if (field.kind == ProtoKind::kEnum && !word.empty() && IsLetter(word[0])) {
    const auto words = WordsOf(static_cast<ProtoEnum>(field.of));
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) FAIL(ErrorAt(Str("'", field.name, "' has no value '", Escaped(word), "'"), begin));
    AppendVarint(out_.wire, found - words.begin());
    return {};
  }
  AppendVarint(out_.wire, TRY(Integer(word, begin)));
  return {};
}

Result<uint64_t> Encoder::Integer(std::string_view word, size_t begin) const {
  if (word == "true" || word == "True" || word == "t") return 1;
  if (word == "false" || word == "False" || word == "f") return 0;
  std::string_view digits = word;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.starts_with('0') && digits.size() > 1) {
    base = 8;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size())
    FAIL(ErrorAt("expected an integer of 64 bits", begin));
  return negative ? -value : value;
}

Result<double> Encoder::Real(std::string_view word, size_t begin) const {
  const bool negative = word.starts_with('-');
  std::string_view digits = word.substr(negative ? 1 : 0);
  const double sign = negative ? -1.0 : 1.0;
  if (digits == "inf" || digits == "infinity") return sign * HUGE_VAL;
  if (digits == "nan") return std::copysign(std::nan(""), sign);
  if (digits.ends_with('f') || digits.ends_with('F')) digits.remove_suffix(1);
  double value = 0;
  if (!ParseDouble(digits, &value)) FAIL(ErrorAt("expected a number", begin));
  return sign * value;
}

Status Encoder::String(std::string& value) {
  SkipSpace();
  if (Peek() != '"' && Peek() != '\'') FAIL(Expected("a string"));
  while (Peek() == '"' || Peek() == '\'') {
    const char quote = Peek();
    const size_t begin = at_++;
    for (; at_ < text_.size() && Peek() != quote && Peek() != '\n'; ++at_) {
      if (Peek() != '\\') {
        value += Peek();
        continue;
      }
      const size_t escape = at_++;
      constexpr std::string_view kLetters = "abfnrtv\\'\"?";
      constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"?";
      const size_t letter = kLetters.find(Peek());
      if (letter != std::string_view::npos && at_ < text_.size()) {
        value += kValues[letter];
        continue;
      }
      const bool hex = Peek() == 'x' || Peek() == 'X';
      const size_t first = at_ + (hex ? 1 : 0);
      const size_t limit = std::min(text_.size(), first + (hex ? 2 : 3));
      unsigned code = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + std::min(first, limit), text_.data() + limit, code, hex ? 16 : 8);
      if (error != std::errc() || code > 0xFF) FAIL(ErrorAt("the string contains an unknown escape", escape));
      value += static_cast<char>(code);
      at_ = end - text_.data() - 1;
    }
    if (at_ >= text_.size() || Peek() != quote) FAIL(ErrorAt("the string has no closing quote", begin));
    ++at_;
    SkipSpace();
  }
  return {};
}

// Skips a value and returns whether the value is 0, false, "", or brackets around such values.
Result<bool> Encoder::SkipValue(int64_t depth) {
  SkipSpace();
  if (Peek() == '"' || Peek() == '\'') {
    std::string value;
    TRY(String(value));
    return value.empty();
  }
  const char open = Peek();
  const char close = open == '{' ? '}' : open == '<' ? '>' : open == '[' ? ']' : '\0';
  if (close == '\0') {
    const std::string_view word = Word();
    if (word.empty()) FAIL(Expected("a value"));
    return word == "0" || word == "false";
  }
  if (depth >= max_depth_) FAIL(TooDeep());
  ++at_;
  bool empty = true;
  while (!Accept(close)) {
    if (at_ == text_.size()) FAIL(Expected(Str("'", close, "'")));
    if (Accept(',') || Accept(';')) continue;
    if (open != '[' && (IsLetter(Peek()) || Peek() == '[')) {
      if (Peek() == '[') TRY(SkipValue(depth + 1));
      else Word();
      Accept(':');
    }
    if (!TRY(SkipValue(depth + 1))) empty = false;
  }
  return empty;
}

}  // namespace

Result<EncodedProto> EncodeTextProto(const std::shared_ptr<const SourceText>& source, ProtoType type,
                                     int64_t max_depth) {
  return Encoder(source, max_depth).Encode(type);
}

}  // namespace hlo
