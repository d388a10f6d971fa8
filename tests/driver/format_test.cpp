// Tests that formatting a text of testdata/ twice gives the same text as formatting it once. FormatText itself checks
// that the module stays the same.
#include "driver/format.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/source_text.h"
#include "parser/parser.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

TEST(Format, IsStable) {
  int formatted = 0;
  for (const std::string& path : ModuleFilesBelow("testdata")) {
    if (fs::file_size(path) > 300'000) continue;
    const auto source = ReadSource(path);
    ASSERT_TRUE(source.has_value());
    const auto module = Parse(*source);
    if (!module) continue;
    const auto once = FormatText(**module);
    ASSERT_TRUE(once.has_value()) << path << ": " << once.error().message();
    const auto again = Parse(std::make_shared<const SourceText>("again", *once));
    ASSERT_TRUE(again.has_value()) << path;
    EXPECT_EQ(FormatText(**again).value_or(""), *once) << path;
    ++formatted;
  }
  EXPECT_GT(formatted, 100);
}

}  // namespace
}  // namespace hlo
