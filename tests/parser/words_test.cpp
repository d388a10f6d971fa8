// Tests of parser functions that read many bytes at once, and of the name table, which splits names only when
// necessary.
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "ir/name_table.h"
#include "parser/lexer.h"

namespace hlo {
namespace {

TEST(ParserWords, EndBeforeTheFirstByteOutsideOfAWord) {
  for (int c = 0; c < 256; ++c) {
    for (size_t at = 0; at < 70; ++at) {
      std::string text(70, 'w');
      text[at] = static_cast<char>(c);
      const char* const end = WordEnd(text.data(), text.data() + text.size());
      EXPECT_EQ(end - text.data(), IsWordByte(static_cast<char>(c)) ? 70 : at) << "byte " << c << " at " << at;
    }
  }
}

TEST(ParserWords, StopAtTheEndOfTheText) {
  const std::string text(100, 'w');
  for (size_t size = 0; size <= 100; ++size) EXPECT_EQ(WordEnd(text.data(), text.data() + size) - text.data(), size);
}

TEST(ParserWords, StringsEndAtTheFirstUnescapedQuote) {
  const auto length = [](const std::string& text) -> int64_t {
    const char* const end = StringEnd(text.data(), text.data() + text.size());
    return end == nullptr ? -1 : end - text.data();
  };
  EXPECT_EQ(length(R"("")"), 2);
  EXPECT_EQ(length(R"("ab" "c")"), 4);
  EXPECT_EQ(length(R"('a"b' ")"), 5);
  EXPECT_EQ(length(R"("a\"b" ")"), 6);
  EXPECT_EQ(length(R"("a\\" ")"), 5);
  EXPECT_EQ(length(R"("\n\t\"\\\"" ")"), 12);
  EXPECT_EQ(length(R"(")"), -1);
  EXPECT_EQ(length(R"("a\")"), -1);
  EXPECT_EQ(length(R"("a\)"), -1);
}

TEST(NameTable, RecognizesTwoSpellingsOfOneNumber) {
  NameTable names;
  EXPECT_TRUE(names.Claim("add"));
  EXPECT_FALSE(names.Claim("add.0"));
  EXPECT_TRUE(names.Claim("add.5"));
  EXPECT_TRUE(names.Claim("add.5.0"));
  EXPECT_FALSE(names.Claim("add.05"));
  EXPECT_EQ(names.Unique("add"), "add.1");
}

// Claim must answer like a table that splits all names at once.
TEST(NameTable, AnswersDoNotDependOnSorting) {
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<const char*> from) { return from.begin()[random() % from.size()]; };
  // The views in the tables refer to these strings.
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) {
    texts.push_back(Str(pick({"add", "x", "p_1", ".", "a.b"}), pick({"", "", ".0", ".1", ".-1", ".07", ".12"}),
                        pick({"", "", ".", ".0", ".3", ".00"})));
  }
  for (size_t begin = 0; begin < texts.size(); begin += 20) {
    NameTable late, early;
    early.SplitNames();
    for (size_t i = begin; i < begin + 20; ++i) EXPECT_EQ(late.Claim(texts[i]), early.Claim(texts[i])) << texts[i];
    for (size_t i = begin; i < begin + 20; ++i) EXPECT_EQ(late.Unique(texts[i]), early.Unique(texts[i])) << texts[i];
  }
}

}  // namespace
}  // namespace hlo
