// Tests that tools/bundle_flags.def, which says whether a bundle keeps a flag, has a row for each flag of hlo-run and
// no other row. The golden files testdata/cli/bundle*.hlo show bundles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>

namespace hlo {
namespace {

constexpr const char* kRows[] = {
#define KEPT(flag) flag,
#define KEPT_FILE(flag, file) flag,
#define LEFT_OUT(flag) flag,
#include "tools/bundle_flags.def"
#undef KEPT
#undef KEPT_FILE
#undef LEFT_OUT
};

std::set<std::string> FlagsInHelp() {
  std::set<std::string> flags;
  std::FILE* const help = popen("hlo-run --help", "r");
  char line[4096];
  while (std::fgets(line, sizeof line, help) != nullptr) {
    const std::string text = line;
    if (text.starts_with("  --")) flags.insert(text.substr(4, text.find_first_of("=[ \n", 4) - 4));
  }
  pclose(help);
  return flags;
}

TEST(Bundle, EveryFlagHasARow) {
  const std::set<std::string> flags = FlagsInHelp();
  ASSERT_GT(flags.size(), 50u);
  for (const std::string& flag : flags)
    EXPECT_TRUE(std::ranges::count(kRows, flag) == 1) << "--" << flag << ": tools/bundle_flags.def wants one row of it";
  for (const char* row : kRows) EXPECT_TRUE(flags.contains(row)) << "tools/bundle_flags.def: hlo-run has no --" << row;
}

}  // namespace
}  // namespace hlo
