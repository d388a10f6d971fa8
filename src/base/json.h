// Writes JSON. Reading: base/json_reader.h.
#ifndef HLO_BASE_JSON_H_
#define HLO_BASE_JSON_H_

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "base/text.h"

namespace hlo {

class JsonWriter {
 public:
  JsonWriter& Open(char bracket) {
    Separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonWriter& Close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  JsonWriter& Key(std::string_view key) {
    Value(key);
    text_ += ':';
    fresh_ = true;
    return *this;
  }
  // Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& Value(std::string_view text);
  JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
  JsonWriter& Value(bool value) { return Raw(value ? "true" : "false"); }
  // Infinities and NaN, which JSON cannot contain, are written as strings.
  JsonWriter& Value(double value) {
    return std::isfinite(value) ? Raw(Str(value)) : Value(std::string_view(Str(value)));
  }
  template <std::integral T>
  JsonWriter& Value(T value) {
    return Raw(Str(value));
  }
  JsonWriter& Raw(std::string_view json) {
    Separate();
    text_ += json;
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  void Separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }

  std::string text_;
  bool fresh_ = true;
};

}  // namespace hlo

#endif  // HLO_BASE_JSON_H_
