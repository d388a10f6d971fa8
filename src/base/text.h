#ifndef HLO_BASE_TEXT_H_
#define HLO_BASE_TEXT_H_

#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hlo {

// Types with a member ToString() or a free function ToString(x) are printable.
inline void AppendTo(std::string& out, std::string_view text) { out += text; }
inline void AppendTo(std::string& out, const char* text) { out += text; }
inline void AppendTo(std::string& out, const std::string& text) { out += text; }
inline void AppendTo(std::string& out, char c) { out += c; }
inline void AppendTo(std::string& out, bool b) { out += b ? "true" : "false"; }

template <std::integral T>
void AppendTo(std::string& out, T value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

template <std::floating_point T>
void AppendTo(std::string& out, T value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

template <class T>
  requires requires(const T& t) {
    { t.ToString() } -> std::convertible_to<std::string>;
  }
void AppendTo(std::string& out, const T& value) {
  out += value.ToString();
}

template <class T>
  requires(std::is_enum_v<T> || std::is_class_v<T>) && requires(const T& t) {
    { ToString(t) } -> std::convertible_to<std::string_view>;
  }
void AppendTo(std::string& out, const T& value) {
  out += ToString(value);
}

template <class... Parts>
std::string Str(const Parts&... parts) {
  std::string out;
  (AppendTo(out, parts), ...);
  return out;
}

template <class Range>
std::string Join(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += separator;
    first = false;
    AppendTo(out, item);
  }
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);

// Return false unless `text` is one decimal number that fits the type of `value`.
bool ParseInt(std::string_view text, int64_t* value);
bool ParseDouble(std::string_view text, double* value);

// Escapes control characters and invalid UTF-8 of an untrusted text as in C, and cuts it to 1000 bytes.
std::string Escaped(std::string_view text);

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Up to `most` entries of `known` that `word` probably meant, nearest first. The edit distance is at most max(1, a
// third of the word's length).
std::vector<std::string> NearNames(std::string_view word, std::span<const std::string_view> known, size_t most = 3);

// "1.5 MiB".
std::string HumanBytes(double bytes);
// "418 ms", "1.31 s", "0.061 ms".
std::string HumanMilliseconds(double ms);

}  // namespace hlo

#endif  // HLO_BASE_TEXT_H_
