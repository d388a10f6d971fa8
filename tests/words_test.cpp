// Tests that `hlo help WORD` explains every word of reports: verdicts, rows, columns and classes of elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "base/text.h"
#include "driver/diff/structure.h"
#include "driver/run/oracles.h"
#include "judge/compare/compare.h"
#include "tests/read_file.h"

namespace hlo {
namespace {

std::set<std::string> Found(const std::string& path, const char* pattern) {
  const std::string text = ReadFile(path);
  const std::regex regex(pattern);
  std::set<std::string> words;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), regex); match != std::sregex_iterator(); ++match)
    words.insert((*match)[1]);
  return words;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

TEST(Words, OfReportsAreExplained) {
  std::set<std::string> explained;
  for (const std::string& words : Found("tools/words.def", "WORD\\(\"([^\"]+)\""))
    for (const std::string_view word : Split(words, '|')) explained.insert(Lower(std::string(word)));
  std::set<std::string> said;
  for (int c = 0; c < kElementClasses; ++c) said.emplace(ToString(static_cast<ElementClass>(c)));
  // Rows and verdicts from the sources of reports, and the titles of their tables.
  for (const Oracle& oracle : AllOracles()) said.emplace(oracle.name);
  for (const char* source :
       {"src/driver/run/report.cpp", "src/driver/run/run.cpp", "src/driver/run/run_check.cpp",
        "src/driver/run/dataflow_check.cpp", "src/driver/run/exact_check.cpp", "src/driver/run/oracles.cpp",
        "src/judge/compare/report.cpp", "src/judge/compare/compare.cpp", "tools/run.cpp"}) {
    said.merge(Found(source, "\"(?:\\\\n)?  ([a-z]+(?: [a-z]+)*)(?:  |:? *\")"));
    said.merge(Found(source, "\"([A-Z][A-Z]+(?: [A-Z]+)?)(?:\\(|  |\")"));
  }
  for (const char* pattern : {"\"    ([a-z]+(?: [a-z]+)*)(?:  |: )", "Part\\(summary, \"([a-z ]+)\"",
                              "\"([a-z]+ gap)\"", "\">?([a-z]+|G[A-Z/]+s)\"[,}]"})
    said.merge(Found("src/driver/profile/summary_text.cpp", pattern));
  said.merge(Found("src/driver/inspect/fusion_report.cpp", "(?:AddLine|list)\\((?:[a-z_.]+ \\? )?\"([a-z]+)\""));
  said.merge(Found("src/driver/diff/structure_report.cpp", "CountChange\\(\"([a-z ]+)\""));
  for (int w = 0; w <= static_cast<int>(KernelDiff::What::kOnlyRight); ++w)
    said.emplace(ToString(static_cast<KernelDiff::What>(w)));
  for (const std::string& line : Found("src/driver/diff/structure_report.cpp", "table\\{(\\{\"[^}]*)\\}")) {
    for (const std::string_view cell : Split(line, '"'))
      if (cell.find_first_of("{},") == std::string::npos && !Trim(cell).empty())
        said.emplace(cell.substr(cell.starts_with('>')));
  }
  for (const std::string& line : Found("src/judge/compare/report.cpp", "(\\{\"[^}]*\"(?:, \"[^}]*\")+)")) {
    for (const std::string_view cell : Split(line, '"'))
      if (cell.find_first_of("{},") == std::string::npos && !Trim(cell).empty()) said.emplace(Trim(cell));
  }
  for (const char* placeholder : {"FILE", "DIR", "RE"}) said.erase(placeholder);  // These are placeholders of flags.
  EXPECT_GT(said.size(), 30u);
  for (const std::string& word : said)
    EXPECT_TRUE(explained.contains(Lower(word))) << "a report says '" << word << "', which tools/words.def does not";
}

}  // namespace
}  // namespace hlo
