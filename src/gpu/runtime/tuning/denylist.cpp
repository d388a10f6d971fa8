#include "gpu/runtime/tuning/denylist.h"

#include <algorithm>

#include "base/source_text.h"
#include "base/text.h"
#include "gpu/runtime/tuning/choice.h"

namespace hlo::gpu {

Result<Denylist> Denylist::Read(const std::string& path) {
  const auto source = TRY(ReadSource(path));
  Denylist list;
  const std::string_view text = source->text();
  if (Trim(text).starts_with("entries")) return list;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = Trim(text.substr(begin, end - begin));
    const SourceRange range = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    begin = end + 1;
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> words = WordsOf(line);
    Row row;
    const bool is_any = words[0] == "*";
    if (!is_any && words[0].starts_with("key=")) row.key = words[0].substr(4);
    if ((!is_any && row.key.empty()) || words.size() < 2) {
      Error error = Rejected("A027", "not a line of a denylist: expected key=KEY or *, then words of a plan", range);
      error.source = source;
      FAIL(std::move(error));
    }
    row.words.assign(words.begin() + 1, words.end());
    list.rows_.push_back(std::move(row));
  }
  return list;
}

bool Denylist::Denies(std::string_view key, std::string_view words) const {
  const std::vector<std::string> has = WordsOf(words);
  return std::ranges::any_of(rows_, [&](const Row& row) {
    if (!row.key.empty() && row.key != key) return false;
    return std::ranges::all_of(row.words, [&](const std::string& word) { return std::ranges::count(has, word) > 0; });
  });
}

}  // namespace hlo::gpu
