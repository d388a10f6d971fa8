#include "base/json_reader.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace hlo {
namespace {

// Functions that fail set `error_` and return false.
class JsonReader {
 public:
  JsonReader(std::string_view text, int max_depth) : text_(text), depth_left_(max_depth) {}

  Result<JsonValue> Run() {
    JsonValue value;
    if (Value(value)) {
      SkipBlanks();
      if (at_ == text_.size()) return value;
      Fail("there is text after the value");
    }
    FAIL(std::move(*error_));
  }

 private:
  bool Value(JsonValue& value) {
    SkipBlanks();
    switch (Peek()) {
      case '{': return Nested([&] { return Object(value); });
      case '[': return Nested([&] { return Array(value); });
      case '"': {
        std::string text;
        if (!String(text)) return false;
        value = JsonValue(std::move(text));
        return true;
      }
      case 't': return Word("true", true, value);
      case 'f': return Word("false", false, value);
      case 'n': return Word("null", nullptr, value);
      default: return Number(value);
    }
  }

  template <class F>
  bool Nested(F&& f) {
    if (depth_left_ == 0) {
      error_ = LimitError("A016", Str("JSON: the value is nested too deep, ", Place()));
      return false;
    }
    --depth_left_;
    ++at_;
    const bool good = f();
    ++depth_left_;
    return good;
  }

  bool Object(JsonValue& value) {
    JsonValue::Object object;
    for (SkipBlanks(); !Accept('}');) {
      if (!object.keys.empty() && !Accept(',')) return Fail("expected ',' or '}'");
      SkipBlanks();
      if (Peek() != '"') return Fail("expected a member's name in quotes");
      if (!String(object.keys.emplace_back())) return false;
      SkipBlanks();
      if (!Accept(':')) return Fail("expected ':'");
      if (!Value(object.values.emplace_back())) return false;
      SkipBlanks();
    }
    value = JsonValue(std::move(object));
    return true;
  }

  bool Array(JsonValue& value) {
    JsonValue::Array items;
    for (SkipBlanks(); !Accept(']');) {
      if (!items.empty() && !Accept(',')) return Fail("expected ',' or ']'");
      if (!Value(items.emplace_back())) return false;
      SkipBlanks();
    }
    value = JsonValue(std::move(items));
    return true;
  }

  bool Word(std::string_view word, JsonValue::Data meaning, JsonValue& value) {
    if (!text_.substr(at_).starts_with(word)) return Fail("expected a value");
    at_ += word.size();
    value = JsonValue(std::move(meaning));
    return true;
  }

  // -? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)?
  bool Number(JsonValue& value) {
    const size_t begin = at_;
    const auto digits = [&] {
      const size_t first = at_;
      while (Peek() >= '0' && Peek() <= '9') ++at_;
      return at_ > first;
    };
    Accept('-');
    const bool zero = Accept('0');
    bool good = zero || digits();
    bool integer = true;
    if (good && Accept('.')) good = digits(), integer = false;
    if (good && (Accept('e') || Accept('E'))) {
      if (!Accept('+')) Accept('-');
      good = digits();
      integer = false;
    }
    const bool leading_zero = zero && integer && Peek() >= '0' && Peek() <= '9';
    if (!good || leading_zero) {
      if (at_ == begin) return Fail("expected a value");
      return Fail("the number is malformed");
    }
    const char* const first = text_.data() + begin;
    const char* const last = text_.data() + at_;
    if (int64_t whole = 0; integer && std::from_chars(first, last, whole).ec == std::errc()) {
      value = JsonValue(whole);
      return true;
    }
    double number = 0;
    if (std::from_chars(first, last, number).ec != std::errc()) return Fail("the number is beyond the range of double");
    value = JsonValue(number);
    return true;
  }

  bool String(std::string& out) {
    ++at_;
    for (;;) {
      const size_t begin = at_;
      while (at_ < text_.size() && IsPlain(text_[at_])) ++at_;
      out.append(text_, begin, at_ - begin);
      if (at_ == text_.size()) return Fail("the text ends inside a string");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') return ++at_, true;
      if (c == '\\') {
        if (!Escape(out)) return false;
        continue;
      }
      if (c < 0x20) return Fail("the string has a control character that is not escaped");
      const size_t length = CodePointLength(text_.substr(at_));
      if (length == 0) return Fail("the string has bytes that are not UTF-8");
      out.append(text_, at_, length);
      at_ += length;
    }
  }

  static bool IsPlain(char c) { return c >= 0x20 && c != '"' && c != '\\'; }  // False for non-ASCII bytes.

  bool Escape(std::string& out) {
    ++at_;
    const char c = Peek();
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    if (const size_t i = kEscapes.find(c); c != '\0' && i != std::string_view::npos) {
      ++at_;
      out += kMeaning[i];
      return true;
    }
    uint32_t unit = 0;
    if (c != 'u' || !HexUnit(unit)) return Fail("the string has an escape that JSON does not have");
    const bool high = unit >= 0xD800 && unit < 0xDC00;
    const size_t behind = at_;
    uint32_t low = 0;
    if (high && Accept('\\') && Peek() == 'u' && HexUnit(low) && low >= 0xDC00 && low < 0xE000) {
      AppendCodePoint(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), out);
      return true;
    }
    at_ = behind;
    const bool half = unit >= 0xD800 && unit < 0xE000;
    AppendCodePoint(half ? 0xFFFD : unit, out);
    return true;
  }

  // Reads four hexadecimal digits after the current 'u'. If there are fewer, returns false and does not move.
  bool HexUnit(uint32_t& unit) {
    const std::string_view digits = text_.substr(at_ + 1, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (error != std::errc() || digits.size() < 4 || end != digits.data() + 4) return false;
    at_ += 5;
    return true;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Accept(char c) {
    if (Peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  std::string Place() const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    return Str("line ", line, ", byte ", before.size() - (before.rfind('\n') + 1) + 1);
  }
  bool Fail(std::string_view what) {
    const bool cut = at_ >= text_.size() && what.starts_with("expected");
    error_ = Rejected("A016", Str("JSON: ", what, cut ? ", found the end" : "", ", ", Place()));
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_left_;
  std::optional<Error> error_;
};

void Write(const JsonValue& value, JsonWriter& json) {
  if (const auto* items = value.Items()) {
    json.Open('[');
    for (const JsonValue& item : *items) Write(item, json);
    json.Close(']');
  } else if (const auto* object = value.AsObject()) {
    json.Open('{');
    for (size_t i = 0; i < object->keys.size(); ++i) Write(object->values[i], json.Key(object->keys[i]));
    json.Close('}');
  } else if (const std::string* text = value.String()) {
    json.Value(*text);
  } else if (const auto boolean = value.Bool()) {
    json.Value(*boolean);
  } else if (const auto integer = value.Int()) {
    json.Value(*integer);
  } else if (const auto number = value.Number()) {
    json.Value(*number);
  } else {
    json.Raw("null");
  }
}

}  // namespace

std::optional<double> JsonValue::Number() const {
  if (const auto integer = Int()) return static_cast<double>(*integer);
  return Copy<double>();
}

const JsonValue& JsonValue::operator[](std::string_view key) const {
  static const JsonValue kNone;
  const Object* object = AsObject();
  if (object == nullptr) return kNone;
  for (size_t i = object->keys.size(); i-- > 0;) {
    if (object->keys[i] == key) return object->values[i];
  }
  return kNone;
}

std::string JsonValue::ToString() const {
  JsonWriter json;
  Write(*this, json);
  return json.text();
}

Result<JsonValue> ReadJson(std::string_view text, int max_depth) { return JsonReader(text, max_depth).Run(); }

}  // namespace hlo
