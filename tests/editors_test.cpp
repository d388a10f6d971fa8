// Tests that the syntax files of editors/ have the words of the tables, and that sessions of installed editors with
// `hlo lsp` work. `hlo` is found on the path, as in golden_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "base/json_reader.h"
#include "base/text.h"
#include "ir/opcode.h"
#include "parser/lexer.h"
#include "tests/read_file.h"
#include "tests/run_shell.h"

namespace hlo {
namespace {

std::vector<std::string> Sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}

const std::vector<std::string>& KeywordsOfTheLexer() {
  static const std::vector<std::string> kSorted = [] {
    const auto all = Keywords();
    return Sorted({all.begin(), all.end()});
  }();
  return kSorted;
}

JsonValue Grammar() {
  const auto json = ReadJson(ReadFile("editors/vscode/syntaxes/hlo.tmLanguage.json"));
  EXPECT_TRUE(json.has_value()) << json.error().message();
  return json.value_or(JsonValue());
}

// The pattern without its lookbehind, which std::regex does not support.
std::regex PatternOf(const JsonValue& grammar, std::string_view name) {
  std::string pattern = *grammar["repository"][name]["match"].String();
  if (pattern.starts_with("(?<!")) pattern.erase(0, pattern.find(')') + 1);
  return std::regex(pattern);
}

TEST(Editors, PatternsMatchAllOpcodesAndTypes) {
  const JsonValue grammar = Grammar();
  const std::regex opcode = PatternOf(grammar, "opcode"), type = PatternOf(grammar, "type");
  const auto begins = [](const std::regex& pattern, std::string_view text, size_t length) {
    std::cmatch match;
    return std::regex_search(text.data(), text.data() + text.size(), match, pattern) && match.position() == 0 &&
           match.length() == static_cast<ptrdiff_t>(length);
  };
  for (const OpRow& row : AllOps()) EXPECT_TRUE(begins(opcode, Str(row.text, "(a)"), row.text.size())) << row.text;
  for (int i = 0; i < static_cast<int>(PrimitiveType::kTuple); ++i) {
    const std::string_view text = ToString(static_cast<PrimitiveType>(i));
    EXPECT_TRUE(begins(type, Str(text, "[2]"), text.size())) << text;
  }
}

TEST(Editors, KeywordsAreThoseOfTheLexer) {
  const std::string pattern = *Grammar()["repository"]["keyword"]["match"].String();
  const size_t begin = pattern.find(")(") + 2;
  const std::string alternatives = pattern.substr(begin, pattern.find(')', begin) - begin);
  std::vector<std::string> words;
  for (const std::string_view word : Split(alternatives, '|')) words.emplace_back(word);
  EXPECT_EQ(Sorted(words), KeywordsOfTheLexer());

  words.clear();
  std::istringstream vim(ReadFile("editors/vim/syntax/hlo.vim"));
  for (std::string line; std::getline(vim, line);) {
    std::istringstream in(line);
    std::string syntax, kind, group;
    in >> syntax >> kind >> group;
    if (syntax != "syntax" || kind != "keyword") continue;
    for (std::string word; in >> word;) words.push_back(word);
  }
  EXPECT_EQ(Sorted(words), KeywordsOfTheLexer());

  words.clear();
  const std::string emacs = ReadFile("editors/emacs/hlo-mode.el");
  const size_t list = emacs.find("'(", emacs.find("hlo-mode-keywords"));
  const std::string names = emacs.substr(list, emacs.find(')', list) - list);
  static const std::regex kWord("\"([^\"]+)\"");
  for (auto word = std::sregex_iterator(names.begin(), names.end(), kWord); word != std::sregex_iterator(); ++word)
    words.push_back((*word)[1]);
  EXPECT_EQ(Sorted(words), KeywordsOfTheLexer());
}

// ---- Sessions ------------------------------------------------------------------------------------------------------

// Both editors edit the same text: they report an error, correct it, and ask for hover and definition of a name in the
// last line.
void ExpectSession(const Outcome& session, std::string_view colour) {
  EXPECT_EQ(session.exit, 0) << session.text;
  for (const std::string& part :
       {std::string(colour), std::string("diagnostic: "), std::string("f32[2,3]"), std::string("hover: "),
        std::string("definition: line 4"), std::string("  ROOT z = f32[2,3] add(x, y)")})
    EXPECT_NE(session.text.find(part), std::string::npos) << part << "\n" << session.text;
}

TEST(Editors, EmacsRunsASession) {
  if (RunShell("emacs -q --batch -f package-initialize --eval \"(require 'eglot)\"").exit != 0)
    GTEST_SKIP() << "emacs with eglot is not installed";
  ExpectSession(RunShell("emacs -q --batch -L editors/emacs -l editors/emacs/try.el"),
                "face of negate: font-lock-function-name-face");
}

TEST(Editors, NeovimRunsASession) {
  if (RunShell("command -v nvim").exit != 0) GTEST_SKIP() << "nvim is not installed";
  ExpectSession(RunShell("nvim --headless --clean --cmd 'set runtimepath^=editors/vim' -S editors/vim/try.lua"),
                "syntax of negate: hloOpcode");
}

TEST(Editors, VimColoursTheText) {
  if (RunShell("vim --version | grep -q +syntax").exit != 0) GTEST_SKIP() << "vim with syntax is not installed";
  const Outcome session = RunShell(
      "vim -N -u NONE -i NONE -es --cmd 'set runtimepath^=editors/vim' -c 'filetype plugin on' -c 'syntax on' "
      "-c 'edit testdata/models/muladd_reduce.hlo' "
      "-c 'call search(\"= f32.* add(\") | let name = synIDattr(synID(line(\".\"), col(\".\") + 2, 1), \"name\")' "
      "-c 'call search(\"add(\") | let name .= \" \" . synIDattr(synID(line(\".\"), col(\".\"), 1), \"name\")' "
      "-c 'verbose echo &filetype . \" \" . name' -c 'qall!'");
  EXPECT_NE(session.text.find("hlo hloType hloOpcode"), std::string::npos) << session.text;
}

TEST(Editors, ManifestsAreJson) {
  for (const char* path : {"editors/vscode/package.json", "editors/vscode/language-configuration.json"}) {
    const auto json = ReadJson(ReadFile(path));
    EXPECT_TRUE(json.has_value()) << path << ": " << json.error().message();
  }
}

}  // namespace
}  // namespace hlo
