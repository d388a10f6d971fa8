// The pages under docs/, and what comments and pages cite: a page, a section of one or a source file is in this
// repository, and the examples of a page show what the commands print. HLO_UPDATE_GOLDEN=1 (`make golden T=docs`)
// rewrites them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// "Written and inferred shapes": written-and-inferred-shapes, as links to sections are spelt.
std::string AnchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c))) anchor += static_cast<char>(std::tolower(c));
    else if (c == ' ' || c == '-') anchor += '-';
  }
  return anchor;
}

std::set<std::string> AnchorsOf(const fs::path& page) {
  std::set<std::string> anchors;
  bool code = false;
  for (const std::string& line : Lines(ReadFile(page))) {
    if (line.starts_with("```")) code = !code;
    const size_t text = line.find_first_not_of('#');
    if (!code && text != 0 && text != std::string::npos && line[text] == ' ')
      anchors.insert(AnchorOf(line.substr(text + 1)));
  }
  return anchors;
}

// Where a cited path may begin: at the root, below src/, beside what cites it, or at src/PART where it is cited there.
std::string Find(const std::string& cited, const fs::path& from) {
  std::vector<fs::path> bases = {".", "src", from.parent_path()};
  for (fs::path up = from.parent_path(); !up.empty(); up = up.parent_path()) bases.push_back(up);
  for (const fs::path& base : bases)
    if (fs::exists(base / cited)) return (base / cited).string();
  return "";
}

// Our folders; a path that begins otherwise is somebody else's (XLA's, LLVM's).
bool IsOurs(const std::string& cited) {
  static const std::set<std::string> kFolders = {"src",    "tools",   "tests",   "docs", "testdata",
                                                 "bench",  "scripts", "editors", "base", "ir",
                                                 "parser", "interp",  "passes",  "gpu",  "driver"};
  const size_t slash = cited.find('/');
  return slash != std::string::npos && kFolders.contains(cited.substr(0, slash));
}

// What of a line speaks: all of a page's; behind the comment sign of a source.
std::string Prose(const fs::path& path, const std::string& line) {
  if (path.extension() == ".md") return line;
  const bool script = path.extension() == ".py" || path.extension().empty();
  const size_t sign = line.find(script ? "#" : "//");
  return sign == std::string::npos ? "" : line.substr(sign);
}

TEST(Docs, CiteWhatIsInTheRepository) {
  static const std::regex kCited(R"(([A-Za-z0-9_.\-]+/)*[A-Za-z0-9_\-]+\.(md|hlo|h|cpp|def|py)\b(#[a-z0-9\-]+)?)");
  std::vector<fs::path> files = {"README.md", "CONTRIBUTING.md", "Makefile"};
  for (const char* top : {"src", "tools", "tests", "docs", "scripts", "bench", "editors"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      // What was measured names the files of the day it was measured.
      const std::string path = entry.path().string();
      if (!entry.is_regular_file() || path.starts_with("bench/results") || entry.file_size() > 1 << 20) continue;
      static const std::set<std::string> kText = {".h", ".cpp", ".def", ".md", ".py", ""};
      if (kText.contains(entry.path().extension().string())) files.push_back(entry.path());
    }
  }
  std::map<std::string, std::set<std::string>> anchors;
  int pages = 0, sources = 0;
  for (const fs::path& file : files) {
    int number = 0;
    for (const std::string& line : Lines(ReadFile(file))) {
      ++number;
      const std::string prose = Prose(file, line);
      for (auto match = std::sregex_iterator(prose.begin(), prose.end(), kCited); match != std::sregex_iterator();
           ++match) {
        std::string cited = match->str();
        const std::string before = match->prefix().str();
        if (before.ends_with("//") || before.ends_with("*") || before.ends_with(">"))
          continue;  // An address, a pattern.
        const size_t hash = cited.find('#');
        const std::string section = hash == std::string::npos ? "" : cited.substr(hash + 1);
        cited.resize(std::min(hash, cited.size()));
        const bool page = cited.ends_with(".md");
        if (!page && !IsOurs(cited)) continue;
        const std::string found = Find(cited, file);
        EXPECT_FALSE(found.empty()) << file.string() << ":" << number << ": cites " << cited << ", which is not here";
        if (found.empty()) continue;
        ++(page ? pages : sources);
        if (section.empty()) continue;
        const auto [known, is_new] = anchors.try_emplace(found);
        if (is_new) known->second = AnchorsOf(found);
        EXPECT_TRUE(known->second.contains(section))
            << file.string() << ":" << number << ": " << cited << " has no section '" << section << "'";
      }
    }
  }
  EXPECT_GT(pages, 20) << "the test saw no citations: is it run from the repository's root?";
  EXPECT_GT(sources, 50);
}

// ---- Examples ------------------------------------------------------------------------------------------------------

std::string OutputOf(const std::string& command) {
  const fs::path out = fs::temp_directory_path() / ("hlo-docs-" + std::to_string(getpid()));
  const int status = std::system(("{ " + command + " ; } >" + out.string() + " 2>&1 </dev/null").c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 70) << command;
  const std::string text = ReadFile(out);
  fs::remove(out);
  return text;
}

class Page : public testing::TestWithParam<std::string> {};

// A line "$ COMMAND" in a block ```sh is run, and the lines up to the next one, or the end of the block, are what it
// prints, errors included.
TEST_P(Page, ExamplesHold) {
  const fs::path page = fs::path("docs") / (GetParam() + ".md");
  const std::string text = ReadFile(page);
  std::string held;
  bool shell = false, printed = false;
  for (const std::string& line : Lines(text)) {
    if (line.starts_with("```")) {
      shell = line == "```sh";
      printed = false;
    }
    const bool command = shell && line.starts_with("$ ");
    if (!printed || command) held += line + "\n";
    if (!command) continue;
    held += OutputOf(line.substr(2));
    printed = true;
  }
  if (std::getenv("HLO_UPDATE_GOLDEN") != nullptr) {
    if (held != text) std::ofstream(page, std::ios::binary) << held;
    return;
  }
  EXPECT_EQ(held, text) << page;
}

std::vector<std::string> Pages() {
  std::vector<std::string> pages;
  for (const auto& entry : fs::directory_iterator("docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path().stem().string());
  std::sort(pages.begin(), pages.end());
  return pages;
}

INSTANTIATE_TEST_SUITE_P(Golden, Page, testing::ValuesIn(Pages()),
                         [](const auto& info) { return "docs_" + info.param; });

}  // namespace
