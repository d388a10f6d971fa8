// What the syntax files of editors/ know of the language is what the tables say.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/json_reader.h"
#include "base/text.h"
#include "ir/opcode.h"
#include "parser/lexer.h"

namespace hlo {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

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

// A pattern's own part: std::regex cannot look behind.
std::regex PatternOf(const JsonValue& grammar, std::string_view name) {
  std::string pattern = *grammar["repository"][name]["match"].String();
  if (pattern.starts_with("(?<!")) pattern.erase(0, pattern.find(')') + 1);
  return std::regex(pattern);
}

TEST(Editors, PatternsTakeWhatTheTablesHave) {
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

TEST(Editors, KeywordsAreTheLexers) {
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
}

TEST(Editors, ManifestsAreJson) {
  for (const char* path : {"editors/vscode/package.json", "editors/vscode/language-configuration.json"}) {
    const auto json = ReadJson(ReadFile(path));
    EXPECT_TRUE(json.has_value()) << path << ": " << json.error().message();
  }
}

}  // namespace
}  // namespace hlo
