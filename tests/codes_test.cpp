// Every diagnostic code that the sources use is explained by `hlo help CODE`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

std::set<std::string> CodesIn(const fs::path& path, const std::string& pattern) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::regex code(pattern);
  std::set<std::string> codes;
  for (auto match = std::sregex_iterator(all.begin(), all.end(), code); match != std::sregex_iterator(); ++match)
    codes.insert((*match)[1]);
  return codes;
}

TEST(Codes, AreExplained) {
  std::set<std::string> explained = CodesIn("tools/codes.def", "CODE\\(\"([A-Z][0-9]{3})\"");
  explained.merge(CodesIn("src/ir/verifier/rules.def", "RULE\\(\"([VW][0-9]{3})\""));
  EXPECT_GT(explained.size(), 50u);
  for (const char* top : {"src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      for (const std::string& code : CodesIn(entry.path(), "\"([PUAFCRNIVW][0-9]{3})\"")) {
        EXPECT_TRUE(explained.contains(code)) << entry.path() << " uses " << code << ", which no .def file explains";
      }
    }
  }
}

// For each rule of the verifier, a file under testdata/ breaks it, or testdata/verify/not_in_text says why no text can.
TEST(Codes, EachRuleHasAFileThatBreaksIt) {
  std::set<std::string> said, broken = CodesIn("testdata/verify/not_in_text", "\n([VW][0-9]{3}) ");
  for (const auto& entry : fs::recursive_directory_iterator("src"))
    if (entry.path().extension() == ".cpp") said.merge(CodesIn(entry.path(), "\"([VW][0-9]{3})\""));
  for (const auto& entry : fs::recursive_directory_iterator("testdata"))
    if (entry.path().extension() == ".hlo")
      broken.merge(CodesIn(entry.path(), "(?:error|warning): \\[([VW][0-9]{3})\\]"));
  const std::set<std::string> rules = CodesIn("src/ir/verifier/rules.def", "RULE\\(\"([VW][0-9]{3})\"");
  EXPECT_GT(rules.size(), 200u);
  for (const std::string& rule : rules) {
    EXPECT_TRUE(said.contains(rule)) << rule << " is in the table, but nothing says it";
    EXPECT_TRUE(broken.contains(rule)) << "no file under testdata/ breaks " << rule;
  }
}

}  // namespace
