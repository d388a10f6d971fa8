// Reading JSON (RFC 8259): text of strangers goes in, values or an error come out.
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

// One value. Questions of the wrong kind have an answer too, so that a path into a document needs no checks on its way:
//
//   const std::string* uri = params["textDocument"]["uri"].String();   // Null: not there, or no string.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  struct Object {  // In the text's order.
    std::vector<std::string> keys;
    std::vector<JsonValue> values;
  };
  using Data = std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object>;

  JsonValue() = default;
  explicit JsonValue(Data data) : data_(std::move(data)) {}

  bool IsNull() const { return std::holds_alternative<std::nullptr_t>(data_); }
  bool IsTrue() const { return Bool().value_or(false); }
  std::optional<bool> Bool() const { return Copy<bool>(); }
  std::optional<int64_t> Int() const { return Copy<int64_t>(); }  // Not of 1.0 and 1e3, nor beyond 64 bits.
  std::optional<double> Number() const;                           // Of integers too.
  const std::string* String() const { return std::get_if<std::string>(&data_); }  // UTF-8.
  const Array* Items() const { return std::get_if<Array>(&data_); }
  const Object* AsObject() const { return std::get_if<Object>(&data_); }

  // The member of that name, the last when there are several; null for what has none.
  const JsonValue& operator[](std::string_view key) const;

  std::string ToString() const;  // As JSON, without blanks.

 private:
  template <class T>
  std::optional<T> Copy() const {
    const T* value = std::get_if<T>(&data_);
    return value != nullptr ? std::optional<T>(*value) : std::nullopt;
  }

  Data data_ = nullptr;
};

// The one value that `text` is. Integers that 64 bits do not hold become doubles. An escaped half of a surrogate pair
// becomes U+FFFD, which is one unit of UTF-16 as well. Errors [A016], with line and column: malformed, UTF-8 that is
// none, a number beyond double; a LimitError for arrays and objects nested deeper than `max_depth`.
Result<JsonValue> ReadJson(std::string_view text, int max_depth = 100);

}  // namespace hlo

#endif  // HLO_BASE_JSON_READER_H_
