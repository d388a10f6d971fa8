// Compares names in headers with the last table of docs/glossary.md.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

using Words = std::map<std::string, std::string>;  // The word and what to use instead.

// Reads the rows "| Word, Word | what to use instead |" below the heading of the table.
Words ReadWords(std::istream& page) {
  Words words;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_table = line == "## Words that are not used in names";
    const size_t middle = line.find(" | ");
    if (!is_table || !line.starts_with("| ") || line.starts_with("| word ") || middle == std::string::npos) continue;
    std::string word;
    for (const char c : line.substr(2, middle - 2) + ",") {
      if (c != ',' && c != ' ') word += c;
      if (c == ',') words[word] = line.substr(middle + 3, line.rfind(" |") - middle - 3), word.clear();
    }
  }
  return words;
}

// Returns the identifiers of a line that begin with a capital letter, or with k and a capital letter. Skips strings and
// the comment at the end.
std::vector<std::string> NamesIn(const std::string& line) {
  std::vector<std::string> names;
  bool is_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) is_text = !is_text;
    if (is_text) continue;
    if (line.compare(i, 2, "//") == 0) break;
    if (std::isalpha(line[i]) == 0 && line[i] != '_') continue;
    const size_t begin = i;
    while (i + 1 < line.size() && (std::isalnum(line[i + 1]) != 0 || line[i + 1] == '_')) ++i;
    const std::string name = line.substr(begin, i + 1 - begin);
    const size_t first = name[0] == 'k' && name.size() > 1 ? 1 : 0;
    if (std::isupper(name[first]) != 0) names.push_back(name);
  }
  return names;
}

// Returns "Is", "Handed" and "On" for IsHandedOn.
std::vector<std::string> WordsIn(const std::string& name) {
  std::vector<std::string> words;
  for (const char c : name) {
    if (std::isupper(c) != 0) words.emplace_back();
    if (!words.empty()) words.back() += c;
  }
  return words;
}

// Returns "IsHandedOn: passed on" for each name of the line that contains a word of the table.
std::vector<std::string> Violations(const std::string& line, const Words& words) {
  std::vector<std::string> violations;
  for (const std::string& name : NamesIn(line)) {
    for (const std::string& word : WordsIn(name)) {
      if (words.contains(word)) violations.push_back(name + ": " + words.at(word));
    }
  }
  return violations;
}

TEST(Names, ViolationsAreFound) {
  const Words words = {{"Handed", "passed on"}, {"Turned", "transposed"}};
  EXPECT_EQ(Violations("  bool IsHandedOn(int64_t element) const;  // Turned.", words),
            std::vector<std::string>{"IsHandedOn: passed on"});
  EXPECT_EQ(Violations("constexpr int kMostTurned = 3;", words), std::vector<std::string>{"kMostTurned: transposed"});
  EXPECT_EQ(Violations("Returned(\"Turned \\\" Turned\", returned, turned_);", words), std::vector<std::string>());
}

TEST(Names, HeadersUseWordsOfTheGlossary) {
  std::ifstream page("docs/glossary.md");
  const Words words = ReadWords(page);
  EXPECT_GE(words.size(), 20u);
  EXPECT_EQ(words.at("Wish"), "requirement");
  size_t names = 0;
  for (const char* top : {"src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      int number = 0;
      for (std::string line; std::getline(file, line);) {
        ++number;
        names += NamesIn(line).size();
        for (const std::string& violation : Violations(line, words)) {
          ADD_FAILURE() << entry.path().string() << ":" << number << ": " << violation;
        }
      }
    }
  }
  EXPECT_GT(names, 10'000u) << "the test saw few names: is it run from the repository's root?";
}

}  // namespace
