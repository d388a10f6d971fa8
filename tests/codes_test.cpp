// Every diagnostic code that the sources use is explained by `hlo help CODE`; V codes are rules of the verifier and
// explain themselves.
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
  const std::set<std::string> explained = CodesIn("tools/codes.def", "CODE\\(\"([A-Z][0-9]{3})\"");
  EXPECT_GT(explained.size(), 50u);
  for (const char* top : {"src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      for (const std::string& code : CodesIn(entry.path(), "\"([PUAFCRNI][0-9]{3})\"")) {
        EXPECT_TRUE(explained.contains(code))
            << entry.path() << " uses " << code << ", which tools/codes.def does not explain";
      }
    }
  }
}

}  // namespace
