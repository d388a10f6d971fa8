// Tests that printing, parsing and printing a module again gives the same text, in the long and the short form. The
// texts are all of testdata/ and of the corpus ($CORPUS/corpus/xla-hlo) if it exists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// The sorted lines of a text without its stack-frame tables, whose entries are numbered in order of use. Entries
// replace the ids that refer to them.
std::vector<std::string> SortedLines(const std::string& text) {
  std::map<std::string, std::vector<std::string>> tables;
  std::vector<std::string>* table = nullptr;
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) {
    const bool title =
        line == "FileNames" || line == "FunctionNames" || line == "FileLocations" || line == "StackFrames";
    if (title) {
      table = &tables[std::string(line)];
    } else if (line.empty()) {
      table = nullptr;
    } else if (table != nullptr) {
      table->emplace_back(line.substr(line.find(' ') + 1));
    } else {
      lines.emplace_back(line);
    }
  }
  // Replaces the id after `key` in `entry` by the entry of the table `name`.
  const std::function<std::string(std::string, const char*, const char*)> resolve =
      [&](std::string entry, const char* key, const char* name) {
        const size_t at = entry.find(key);
        if (at == std::string::npos) return entry;
        const size_t begin = at + std::strlen(key);
        const size_t end = std::min(entry.find_first_not_of("0123456789", begin), entry.size());
        const bool parent = std::string_view(key) == "parent_frame_id=";
        const int64_t id = std::stoll(entry.substr(begin, end - begin)) - (parent ? 1 : 0);
        std::string said = id == 0 ? "none" : tables[name].at(id - 1);
        if (std::string_view(name) == "FileLocations")
          said = resolve(resolve(said, "file_name_id=", "FileNames"), "function_name_id=", "FunctionNames");
        if (std::string_view(name) == "StackFrames")
          said = resolve(resolve(said, "file_location_id=", "FileLocations"), "parent_frame_id=", "StackFrames");
        return entry.substr(0, begin) + said + entry.substr(end);
      };
  for (std::string& line : lines) line = resolve(line, "stack_frame_id=", "StackFrames");
  std::sort(lines.begin(), lines.end());
  return lines;
}

void ExpectSameText(const Module& module, const PrintOptions& form, const std::string& name) {
  const std::string once = Print(module, form);
  const auto again = Parse(std::make_shared<const SourceText>(name, once));
  ASSERT_TRUE(again.has_value()) << Render(again.error(), "round trip");
  // XLA orders computations by the text's order of calls, which printing may have changed, so the same lines may be in
  // another order.
  const std::string twice = Print(**again, form);
  EXPECT_EQ(SortedLines(twice), SortedLines(once)) << name;
}

// Returns the number of modules that parsed.
int RoundTrip(const std::vector<std::string>& files) {
  int parsed = 0;
  for (const std::string& file : files) {
    const auto source = ReadSource(file);
    if (!source) continue;
    for (const SourceRange& piece : SplitInput(**source)) {
      ParseOptions options;
      options.piece = piece;
      const auto module = Parse(*source, options);
      if (!module) continue;
      ++parsed;
      ExpectSameText(**module, {}, file);
      ExpectSameText(**module, ShortForm(), file);
    }
  }
  return parsed;
}

TEST(RoundTrip, KeepsTestdata) { EXPECT_GE(RoundTrip(ModuleFilesBelow("testdata")), 12); }

TEST(RoundTrip, ModelsAreValid) {
  for (const std::string& file : ModuleFilesBelow("testdata/models")) {
    const auto module = Parse(*ReadSource(file));
    ASSERT_TRUE(module.has_value()) << Render(module.error(), "parse");
    // The strict level would be wrong: before layout assignment, operands and results may have different layouts.
    const Status status = Verify(**module);
    EXPECT_TRUE(status.has_value()) << Render(status.error(), "verify");
  }
}

TEST(RoundTrip, KeepsTheCorpus) {
  const char* corpus = std::getenv("CORPUS");
  const auto files = ModuleFilesBelow(fs::path(corpus != nullptr ? corpus : "../shared") / "corpus" / "xla-hlo");
  if (files.empty()) GTEST_SKIP() << "no corpus";
  // XLA reads 436 of these modules, and hlokit 430. The parser's own tests name the rejected ones.
  EXPECT_GE(RoundTrip(files), 400);
}

}  // namespace
}  // namespace hlo
