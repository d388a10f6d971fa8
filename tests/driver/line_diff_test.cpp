// Tests of unified diffs: applying a diff gives the other text.
#include "driver/line_diff.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "base/text.h"

namespace hlo {
namespace {

// Applies a diff as `patch` does, without searching for a hunk elsewhere. The result ends at the first mismatch.
std::string Applied(std::string_view text, std::string_view diff) {
  const auto lines = Split(text, '\n');
  std::string out;
  size_t at = 0;
  for (const std::string_view line : Split(diff, '\n')) {
    if (line.empty() || line.starts_with("--- ") || line.starts_with("+++ ")) continue;
    if (line.starts_with("@@ ")) {
      size_t begin = 0, count = 1;
      const std::string head(line);
      if (std::sscanf(head.c_str(), "@@ -%zu,%zu", &begin, &count) < 1) return out + "no head";
      for (const size_t first = begin - (count == 0 ? 0 : 1); at < first; ++at) out += Str(lines[at], "\n");
    } else if (line[0] == '+') {
      out += Str(line.substr(1), "\n");
    } else {
      if (lines[at] != line.substr(1)) return Str(out, "line ", at, " is not ", line);
      if (line[0] == ' ') out += Str(lines[at], "\n");
      ++at;
    }
  }
  for (; at + 1 < lines.size(); ++at) out += Str(lines[at], "\n");
  return out;
}

TEST(UnifiedDiff, LooksLikeTheOutputOfDiff) {
  EXPECT_EQ(UnifiedDiff("a", "x\ny\n", "b", "x\ny\n"), "");
  EXPECT_EQ(UnifiedDiff("a", "", "b", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(UnifiedDiff("a", "f {\n  1\n  2\n  3\n  4\n  5\n}\n", "b", "f {\n  1\n  2\n  3\n  4\n  6\n  7\n}\n"),
            "--- a\n+++ b\n@@ -3,5 +3,6 @@ f {\n   2\n   3\n   4\n-  5\n+  6\n+  7\n }\n");
}

// With few distinct lines, most lines occur several times. With many, most occur once.
TEST(UnifiedDiff, TransformsOneTextIntoTheOther) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const unsigned kinds = round % 2 == 0 ? 5 : 500;
    std::vector<std::string> from;
    for (size_t size = random() % 60; from.size() < size;) from.push_back(Str("line ", random() % kinds, "\n"));
    std::vector<std::string> to = from;
    for (unsigned edits = random() % 8; edits > 0; --edits) {
      const auto place = to.begin() + static_cast<ptrdiff_t>(random() % (to.size() + 1));
      if (random() % 2 == 0 || place == to.end()) to.insert(place, Str("line ", random() % kinds, "\n"));
      else if (random() % 3 == 0) std::rotate(to.begin(), place, to.end());
      else to.erase(place);
    }
    const std::string a = Join(from, ""), b = Join(to, ""), diff = UnifiedDiff("a", a, "b", b);
    EXPECT_EQ(Applied(a, diff), b) << diff;
    EXPECT_EQ(diff.empty(), a == b);
  }
}

}  // namespace
}  // namespace hlo
