// Reads JSON (RFC 8259) from untrusted text.
#ifndef HLO_BASE_JSON_READER_H_
#define HLO_BASE_JSON_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace hlo {

// Accessors return null or nullopt for another kind, so a path needs no checks:
//
//   const std::string* uri = params["textDocument"]["uri"].String();  // Null if it is missing or not a string.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  struct Object {  // Members in the order of the text.
    std::vector<std::string> keys;
    std::vector<JsonValue> values;
  };
  using Data = std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object>;

  JsonValue() = default;
  explicit JsonValue(Data data) : data_(std::move(data)) {}

  bool IsNull() const { return std::holds_alternative<std::nullptr_t>(data_); }
  bool IsTrue() const { return Bool().value_or(false); }
  std::optional<bool> Bool() const { return Copy<bool>(); }
  std::optional<int64_t> Int() const { return Copy<int64_t>(); }  // Empty for 1.0, 1e3 and numbers beyond 64 bits.
  std::optional<double> Number() const;                           // Converts integers.
  const std::string* String() const { return std::get_if<std::string>(&data_); }
  const Array* Items() const { return std::get_if<Array>(&data_); }
  const Object* AsObject() const { return std::get_if<Object>(&data_); }

  // The last member with this key, or a null value.
  const JsonValue& operator[](std::string_view key) const;

  std::string ToString() const;

 private:
  template <class T>
  std::optional<T> Copy() const {
    const T* value = std::get_if<T>(&data_);
    return value != nullptr ? std::optional<T>(*value) : std::nullopt;
  }

  Data data_ = nullptr;
};

// Integers beyond 64 bits become doubles. Half of an escaped surrogate pair becomes U+FFFD. Errors, with line and
// column: A016 for malformed text, invalid UTF-8 and numbers beyond the range of double; a LimitError for nesting
// deeper than `max_depth`.
Result<JsonValue> ReadJson(std::string_view text, int max_depth = 100);

}  // namespace hlo

#endif  // HLO_BASE_JSON_READER_H_
