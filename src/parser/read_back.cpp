#include "parser/read_back.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/parser.h"

namespace hlo {

std::string LostByReading(std::string_view wanted, std::string_view read) {
  if (wanted == read) return "";
  const std::vector<std::string_view> a = Split(wanted, '\n'), b = Split(read, '\n');
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  const std::string_view x = i < a.size() ? Trim(a[i]) : "nothing", y = i < b.size() ? Trim(b[i]) : "nothing";
  const size_t same = std::ranges::mismatch(x, y).in1 - x.begin();
  const auto around = [same](std::string_view line) {
    constexpr size_t kBefore = 60, kMost = 160;
    const size_t begin = line.size() <= kMost ? 0 : same - std::min(same, kBefore);
    const std::string_view part = line.substr(begin, kMost);
    return Str(begin == 0 ? "'" : "'...", part, begin + part.size() < line.size() ? "...'" : "'");
  };
  return Str(around(x), " would be read as ", around(y));
}

Status CheckTextRoundTrip(const Module& module) {
  constexpr PrintOptions kAsRead = {.metadata = false, .text_order = true, .module_order = true};
  const auto read = Parse(std::make_shared<const SourceText>("the text that was printed", Print(module)));
  const std::string lost =
      read ? LostByReading(Print(module, {.metadata = false}), Print(**read, kAsRead)) : read.error().message();
  if (lost.empty()) return {};
  Error error = InternalError(Str("reading the printed module gives another module: ", lost));
  error.diagnostics.front().code = "I013";
  FAIL(std::move(error));
}

}  // namespace hlo
