#include "base/text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "base/utf8.h"

namespace hlo {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool ParseInt(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseDouble(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

namespace {

constexpr size_t kMostShown = 1000;

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (at >= kMostShown) return out + "...";
    const size_t length = CodePointLength(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += Format("\\x%02X", byte);
    } else if (IsControlOfC1(text.substr(at))) {
      out += Format("\\x%02X\\x%02X", byte, static_cast<unsigned char>(text[at + 1]));
    } else {
      out += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return out;
}

std::string Format(const char* format, ...) {
  std::va_list args;
  va_start(args, format);
  std::va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string out(length, '\0');
  std::vsnprintf(out.data(), length + 1, format, again);
  va_end(again);
  return out;
}

namespace {

// A swap of neighbours, the most frequent typing error, counts as one edit.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> NearNames(std::string_view word, std::span<const std::string_view> known, size_t most) {
  std::vector<std::pair<size_t, std::string_view>> near;
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  for (const std::string_view name : known) {
    const size_t longer = std::max(name.size(), word.size());
    if (longer - std::min(name.size(), word.size()) > limit) continue;
    const size_t distance = EditDistance(word, name);
    if (distance <= limit) near.emplace_back(distance, name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [distance, name] : near) {
    if (names.size() < most) names.emplace_back(name);
  }
  return names;
}

std::string HumanBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return unit == 0 ? Format("%.0f B", bytes) : Format("%.1f %s", bytes, kUnits[unit]);
}

std::string HumanMilliseconds(double ms) {
  if (ms >= 1000) return Format("%.2f s", ms / 1000);
  if (ms >= 10) return Format("%.0f ms", ms);
  if (ms >= 1) return Format("%.1f ms", ms);
  return Format("%.3f ms", ms);
}

}  // namespace hlo
