// Tests of the pages under docs/ and of citations in comments and pages. A cited page, section or source file must
// exist. Examples must show the output of the commands. HLO_UPDATE_GOLDEN=1 (`make golden T=docs`) rewrites the
// examples.
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

#include "driver/manual/markdown.h"
#include "tests/read_file.h"

namespace {

namespace fs = std::filesystem;
using hlo::AnchorOf;
using hlo::ReadFile;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
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

// The existing path of a cited file, or "". The citation may be relative to the root, to src/, or to a folder that
// contains the citing file.
std::string Find(const std::string& cited, const fs::path& from) {
  std::vector<fs::path> bases = {".", "src", from.parent_path()};
  for (fs::path up = from.parent_path(); !up.empty(); up = up.parent_path()) bases.push_back(up);
  for (const fs::path& base : bases)
    if (fs::exists(base / cited)) return (base / cited).string();
  return "";
}

// True if the path begins with one of our folders, not with one of another project such as XLA.
bool IsOurs(const std::string& cited) {
  static const std::set<std::string> kFolders = {"src",    "tools",   "tests",   "docs", "testdata",
                                                 "bench",  "scripts", "editors", "base", "ir",
                                                 "parser", "interp",  "passes",  "gpu",  "driver"};
  const size_t slash = cited.find('/');
  return slash != std::string::npos && kFolders.contains(cited.substr(0, slash));
}

// The prose of a line: the whole line of a page, or the comment of a source line with its `//` or `#`.
std::string Prose(const fs::path& path, const std::string& line) {
  if (path.extension() == ".md") return line;
  const bool script = path.extension() == ".py" || path.extension().empty();
  const size_t sign = line.find(script ? "#" : "//");
  return sign == std::string::npos ? "" : line.substr(sign);
}

TEST(Docs, CiteOnlyFilesOfTheRepository) {
  static const std::regex kCited(R"(([A-Za-z0-9_.\-]+/)*[A-Za-z0-9_\-]+\.(md|hlo|h|cpp|def|py)\b(#[a-z0-9\-]+)?)");
  std::vector<fs::path> files = {"README.md", "CONTRIBUTING.md", "Makefile"};
  for (const char* top : {"src", "tools", "tests", "docs", "scripts", "bench", "editors"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (!entry.is_regular_file() || entry.file_size() > 1 << 20) continue;
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
          continue;  // The match is part of an address or a pattern.
        const size_t hash = cited.find('#');
        const std::string section = hash == std::string::npos ? "" : cited.substr(hash + 1);
        cited.resize(std::min(hash, cited.size()));
        const bool page = cited.ends_with(".md");
        if (!page && !IsOurs(cited)) continue;
        const std::string found = Find(cited, file);
        EXPECT_FALSE(found.empty()) << file.string() << ":" << number << ": cites " << cited << ", which is not here";
        if (found.empty()) continue;
        ++(page ? pages : sources);
        // In FILE.hlo#2, the part after '#' selects a module and is not a section.
        if (section.empty() || !page) continue;
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

TEST(Docs, TheWalkNamesFunctionsOfItsFiles) {
  static const std::regex kRow(R"(\| [^|`]+ \| `([A-Za-z]+)` \| `([a-z_/]+\.cpp)` \|)");
  int rows = 0;
  for (const std::string& line : Lines(ReadFile("docs/architecture.md"))) {
    std::smatch match;
    if (!std::regex_match(line, match, kRow)) continue;
    ++rows;
    const std::regex definition("\n[A-Za-z][^\n;=]* " + match[1].str() + "\\(");
    EXPECT_TRUE(std::regex_search(ReadFile(match[2].str()), definition)) << match[2] << " does not define " << match[1];
  }
  EXPECT_GT(rows, 15);
}

// ---- Flags ---------------------------------------------------------------------------------------------------------

// The code on a page: code spans, and the lines of code blocks. A line that ends with '\\' is joined with the next one.
std::vector<std::string> CodeOf(const fs::path& page) {
  static const std::regex kSpan("`([^`]+)`");
  std::vector<std::string> code;
  bool block = false;
  std::string prose;
  for (const std::string& line : Lines(ReadFile(page))) {
    if (line.starts_with("```")) block = !block;
    else if (!block && !line.starts_with("    ")) prose += line + " ";
    else if (!code.empty() && code.back().ends_with('\\')) code.back().replace(code.back().size() - 1, 1, line);
    else code.push_back(line);
  }
  for (auto span = std::sregex_iterator(prose.begin(), prose.end(), kSpan); span != std::sregex_iterator(); ++span)
    code.push_back((*span)[1]);
  return code;
}

// The flags in a piece of code, each with its command: "run --passes". A flag without a command is " --seed".
std::set<std::string> FlagsOf(const std::string& code) {
  static const std::regex kCommand(
      R"((?:^|[|;&$( '"/])(hlo[ \-](?:[a-z]+)(?: (?:cost|stats|graph|extract|slice|literals|memory|profile)\b)?)(?= |$))");
  static const std::regex kFlag(R"((?:^|[ '"])(--[a-z][a-z0-9_\-]*))");
  std::set<std::string> flags;
  if (code.starts_with("--")) {
    std::smatch flag;
    if (std::regex_search(code, flag, kFlag)) flags.insert(" " + flag[1].str());
    return flags;
  }
  std::vector<std::smatch> commands;
  for (auto at = std::sregex_iterator(code.begin(), code.end(), kCommand); at != std::sregex_iterator(); ++at)
    commands.push_back(*at);
  for (size_t i = 0; i < commands.size(); ++i) {
    const size_t begin = commands[i].position(1) + commands[i].length(1);
    size_t end = i + 1 < commands.size() ? commands[i + 1].position(1) : code.size();
    end = std::min(end, code.find_first_of("|;", begin));
    const std::string arguments = code.substr(begin, end - begin);
    for (auto flag = std::sregex_iterator(arguments.begin(), arguments.end(), kFlag); flag != std::sregex_iterator();
         ++flag)
      flags.insert(commands[i][1].str().substr(4) + " " + (*flag)[1].str());
  }
  return flags;
}

bool IsKnown(const std::string& command, const std::string& flag) {
  static std::map<std::string, bool> known;
  const auto [answer, is_new] = known.try_emplace(command + " " + flag);
  if (is_new) {
    // The flag is tried with the value 1, and without a value, as --noNAME must be given.
    const std::string shell = "for given in =1 ''; do hlo " + command + " " + flag +
                              "$given --help 2>&1 </dev/null | grep -q F003 || exit 0; done; exit 1";
    answer->second = flag == "--help" || flag == "--flagfile" || std::system(shell.c_str()) == 0;
  }
  return answer->second;
}

TEST(Docs, NameOnlyExistingFlags) {
  std::vector<fs::path> pages = {"README.md", "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator("docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::set<std::string> seen;
  for (const fs::path& page : pages) {
    for (const std::string& code : CodeOf(page)) {
      for (const std::string& one : FlagsOf(code)) {
        seen.insert(one);
        if (one == " --name" || one == " --noname") continue;  // `--name` is a placeholder for any flag.
        const size_t space = one.rfind(' ');
        const std::string command = one.substr(0, space), flag = one.substr(space + 1);
        bool found = false;
        if (!command.empty()) found = IsKnown(command, flag);
        // Some command must have a flag that the page shows without a command.
        for (const char* any :
             {"run", "opt", "fuzz", "bisect", "reduce", "diff", "check", "inspect cost", "doctor", "lsp", "fmt",
              "inspect extract", "inspect graph", "inspect profile", "inspect collectives"})
          found = found || (command.empty() && IsKnown(any, flag));
        EXPECT_TRUE(found) << page << ": '" << one << "' is no flag; in: " << code;
      }
    }
  }
  EXPECT_GT(seen.size(), 150u) << "the test saw no flags";
}

// The flags in a command's section of docs/commands.md are flags of that command.
TEST(Docs, DescribeEachCommand) {
  const fs::path out = fs::temp_directory_path() / ("hlo-commands-" + std::to_string(getpid()));
  ASSERT_EQ(std::system(("hlo help >" + out.string()).c_str()), 0);
  static const std::regex kRow("  ([a-z]+) .*");
  std::set<std::string> commands, described;
  for (const std::string& line : Lines(ReadFile(out))) {
    std::smatch row;
    if (line == "Examples:") break;
    if (std::regex_match(line, row, kRow)) commands.insert(row[1]);
  }
  fs::remove(out);
  static const std::regex kFlag("`(--[a-z][a-z0-9_]*)");
  std::string command;
  int flags = 0;
  for (const std::string& line : Lines(ReadFile("docs/commands.md"))) {
    if (line.starts_with("## ")) command = line.starts_with("## hlo ") ? line.substr(7) : "";
    if (command.empty()) continue;
    described.insert(command.substr(0, command.find(' ')));
    for (auto flag = std::sregex_iterator(line.begin(), line.end(), kFlag); flag != std::sregex_iterator(); ++flag) {
      ++flags;
      EXPECT_TRUE(IsKnown(command, (*flag)[1])) << "docs/commands.md: hlo " << command << " has no " << (*flag)[1];
    }
  }
  EXPECT_EQ(described, commands);
  EXPECT_GT(flags, 60);
}

// docs/files.md describes each JSON schema that a source names.
TEST(Docs, NameEachSchema) {
  static const std::regex kSchema(R"(hlo\.[a-z_]+/[0-9]+)");
  std::set<std::string> written, described;
  for (const char* top : {"src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.path().extension() != ".cpp") continue;
      for (const std::string& line : Lines(ReadFile(entry.path()))) {
        for (auto at = std::sregex_iterator(line.begin(), line.end(), kSchema); at != std::sregex_iterator(); ++at)
          written.insert(at->str());
      }
    }
  }
  const std::string page = ReadFile("docs/files.md");
  const std::string table = page.substr(page.find("| schema |"));
  for (auto at = std::sregex_iterator(table.begin(), table.end(), kSchema); at != std::sregex_iterator(); ++at)
    described.insert(at->str());
  EXPECT_EQ(described, written);
}

// ---- Examples ------------------------------------------------------------------------------------------------------

// The output of a command, including errors. `$OUT`, a folder for the page, is printed as `$OUT`.
std::string OutputOf(const std::string& command, const std::string& folder) {
  const fs::path out = folder + ".printed";
  const std::string shell = "export OUT=" + folder + "; { " + command + "\n} >" + out.string() + " 2>&1 </dev/null";
  const int status = std::system(shell.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 70) << command;
  std::string text = ReadFile(out);
  fs::remove(out);
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.replace(at, folder.size(), "$OUT");
  return text;
}

class Page : public testing::TestWithParam<std::string> {};

// In a ```sh block, a line "$ COMMAND" is run, together with the next line if it ends with '\\'. The lines up to the
// next command or the end of the block are its expected output.
TEST_P(Page, ExamplesHold) {
  const fs::path page = fs::path("docs") / (GetParam() + ".md");
  const std::string text = ReadFile(page);
  const std::string folder = fs::temp_directory_path() / ("hlo-docs-" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::string held, command;
  bool shell = false, printed = false;
  for (const std::string& line : Lines(text)) {
    if (line.starts_with("```")) {
      shell = line == "```sh";
      printed = false;
    }
    if (shell && line.starts_with("$ ")) command = line.substr(2) + "\n";
    else if (!command.empty()) command += line + "\n";
    if (!printed || !command.empty()) held += line + "\n";
    if (command.empty() || line.ends_with('\\')) continue;
    held += OutputOf(command, folder);
    command.clear();
    printed = true;
  }
  fs::remove_all(folder);
  if (std::getenv("HLO_UPDATE_GOLDEN") != nullptr) {
    if (held != text) std::ofstream(page, std::ios::binary) << held;
    return;
  }
  EXPECT_EQ(held, text) << page;
}

// In README.md a line of a `sh` block is a comment, or a command followed by " # " and a part of its output. A `python`
// block prints MATCH. It is run if JAX is installed.
TEST(Readme, CommandsRunAsWritten) {
  const std::string folder = fs::temp_directory_path() / ("hlo-readme-" + std::to_string(getpid()));
  fs::create_directory(folder);
  const std::string python = folder + "/block.py";
  std::string language, program;
  int commands = 0, blocks = 0;
  for (const std::string& line : Lines(ReadFile("README.md"))) {
    if (line.starts_with("```")) {
      if (line == "```" && language == "python") {
        ++blocks;
        std::ofstream(python, std::ios::binary) << program;
        const std::string import = "python3 -c 'import jax, numpy' 2>/dev/null || { echo MATCH; exit; }; ";
        const std::string printed = OutputOf(import + "PYTHONPATH=python python3 " + python, folder);
        EXPECT_NE(printed.find("MATCH"), std::string::npos) << program << printed;
      }
      language = line.substr(3);
      program.clear();
      continue;
    }
    program += line + "\n";
    const size_t comment = line.find(" # ");
    if (language != "sh" || line.starts_with("#")) continue;
    ASSERT_NE(comment, std::string::npos) << line;
    ++commands;
    std::string command = line.substr(0, comment);
    for (size_t at; (at = command.find("/tmp/")) != std::string::npos;) command.replace(at, 4, "$OUT");
    const std::string printed = OutputOf(command, folder);
    EXPECT_NE(printed.find(line.substr(comment + 3)), std::string::npos) << command << "\n" << printed;
  }
  fs::remove_all(folder);
  EXPECT_EQ(commands, 7);
  EXPECT_EQ(blocks, 1);
}

// Names of pages without extension, such as "comparison" and "guides/jax".
std::vector<std::string> Pages() {
  std::vector<std::string> pages;
  for (const auto& entry : fs::recursive_directory_iterator("docs")) {
    if (entry.path().extension() == ".md")
      pages.push_back(entry.path().lexically_relative("docs").replace_extension().string());
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

INSTANTIATE_TEST_SUITE_P(Golden, Page, testing::ValuesIn(Pages()), [](const auto& info) {
  std::string name = "docs_" + info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
