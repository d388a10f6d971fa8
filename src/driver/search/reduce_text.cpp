#include <algorithm>
#include <cstdint>

#include "base/hash_bytes.h"
#include "base/text.h"
#include "driver/search/reduce_search.h"

namespace hlo {
namespace {

void DropLines(ReduceSearch& s, size_t chunk, std::vector<std::string>* lines) {
  for (size_t at = 0; at < lines->size() && !IsOver(s);) {
    s.announce(Str(lines->size(), " lines in chunks of ", chunk));
    const size_t chunks = (lines->size() - at + chunk - 1) / chunk;
    const auto without = [&](size_t i) {
      std::vector<std::string> left = *lines;
      const auto begin = left.begin() + static_cast<ptrdiff_t>(at + i * chunk);
      left.erase(begin, begin + std::min<ptrdiff_t>(chunk, left.end() - begin));
      return left;
    };
    const auto taken = Take(s, chunks, [&](size_t i) -> std::optional<Candidate> {
      const std::string text = Join(without(i), "\n") + "\n";
      if (!s.tried.insert(HashBytes(text)).second) return std::nullopt;
      return Candidate{.text = std::make_shared<const SourceText>(s.text->name(), text), .run = s.base.run};
    });
    if (!taken) return;
    *lines = without(*taken);
    at += *taken * chunk;
  }
}

}  // namespace

Status ReduceText(ReduceSearch& s) {
  s.result.is_text = true;
  std::vector<std::string> lines;
  for (const std::string_view line : Split(s.text->text(), '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  s.result.lines_before = std::ssize(lines);
  s.base.run = s.options.run;
  for (size_t before = SIZE_MAX; lines.size() < before && !IsOver(s);) {
    before = lines.size();
    for (size_t chunk = std::max<size_t>(1, lines.size() / 2);; chunk /= 2) {
      DropLines(s, chunk, &lines);
      if (chunk <= 1) break;
    }
  }
  return {};
}

}  // namespace hlo
