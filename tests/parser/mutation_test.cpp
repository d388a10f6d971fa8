// Mutates valid texts at random. The properties of any input (tests/properties) must hold for the mutated texts.
//
// The default is some thousand texts. HLO_MUTATIONS=200000 tests that many, and writes each text to
// $TMPDIR/hlo-mutation.hlo before it is tested, in case the test crashes. The texts depend only on the files and the
// numbers of the texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/text.h"
#include "parser/lexer.h"
#include "tests/module_files.h"
#include "tests/properties/properties.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// Values at limits: overflow, wrapping, and numbers that are not finite.
constexpr std::string_view kExtremes[] = {"0",
                                          "-1",
                                          "1",
                                          "2",
                                          "-0",
                                          "7",
                                          "63",
                                          "64",
                                          "65",
                                          "127",
                                          "128",
                                          "255",
                                          "256",
                                          "65535",
                                          "65536",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "1099511627776",
                                          "4611686018427387904",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "-9223372036854775808",
                                          "-9223372036854775809",
                                          "18446744073709551615",
                                          "99999999999999999999999",
                                          "1e38",
                                          "1e39",
                                          "-1e400",
                                          "1e-400",
                                          "0x10",
                                          "1.5",
                                          "inf",
                                          "-inf",
                                          "nan",
                                          "-nan",
                                          "nan(0x1)",
                                          "?",
                                          "<=4",
                                          "...",
                                          "3x3",
                                          "1_2x-3_4_5",
                                          "b01f_01io->b01f",
                                          "{}",
                                          "()",
                                          "[]",
                                          "\"\"",
                                          "\"\\",
                                          "/*",
                                          "//",
                                          "%",
                                          "%x",
                                          "true",
                                          "ROOT",
                                          "ENTRY",
                                          "f32[]",
                                          "(f32[2], s32[])",
                                          "f32[2]{0}",
                                          "f32[2,3]{0,1:T(2,128)}",
                                          "token[]",
                                          "c64[2]",
                                          "s4[3]",
                                          "pred[]",
                                          "tuple",
                                          "while",
                                          "fusion",
                                          "HloModule"};

// Splits a text into words, blanks and single other bytes.
std::vector<std::string> Tokens(std::string_view text) {
  const auto is_word = [](char c) { return IsLetter(c) || IsDigit(c) || c == '.' || c == '-'; };
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (is_word(text[at]) && end < text.size() && is_word(text[end])) ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) lines.push_back(Str(line, "\n"));
  return lines;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& texts, uint64_t seed) : texts_(texts), random_(seed) {}

  std::string Text() {
    std::string text = AnyText();
    for (size_t changes = 1 + Below(4); changes > 0; --changes) {
      switch (Below(8)) {
        case 0: text = ChangeBytes(std::move(text)); break;
        case 1: text = Join(Rearrange(Lines(text), Lines(AnyText())), ""); break;
        case 2: text.resize(Below(text.size() + 1)); break;
        case 3: text = Splice(text, AnyText()); break;
        case 4: text = Join(Replace(Tokens(text), Extreme(), IsNumber), ""); break;
        case 5: text = Join(Replace(Tokens(text), Extreme(), nullptr), ""); break;
        default: text = Join(Rearrange(Tokens(text), Tokens(AnyText())), ""); break;
      }
    }
    return text;
  }

 private:
  using Parts = std::vector<std::string>;

  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const std::string& AnyText() { return texts_[Below(texts_.size())]; }
  std::string Extreme() { return std::string(kExtremes[Below(std::size(kExtremes))]); }
  static bool IsNumber(const std::string& token) { return IsDigit(token.back()); }

  std::string ChangeBytes(std::string text) {
    const size_t at = Below(text.size());
    switch (Below(4)) {
      case 0: return text.erase(at, 1 + Below(4));
      case 1: return text.insert(at, 1, static_cast<char>(random_()));
      case 2: return text.insert(at, std::string(1 + Below(10000), "({[,1 x\"\n"[Below(9)]));
      default:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ 1 << Below(8));
        return text;
    }
  }

  // Deletes, repeats, moves or swaps one of `parts`, or replaces it by one of `others`.
  Parts Rearrange(Parts parts, const Parts& others) {
    if (parts.empty()) return others;
    const auto from = parts.begin() + Below(parts.size());
    const auto to = parts.begin() + Below(parts.size());
    switch (Below(5)) {
      case 0: parts.erase(from); break;
      case 1: parts.insert(from, 1 + Below(3), std::string(*from)); break;
      case 2: parts.insert(to, std::string(*from)); break;
      case 3: std::iter_swap(from, to); break;
      default:
        if (!others.empty()) *from = others[Below(others.size())];
    }
    return parts;
  }

  // Replaces a random part that `fits` by `value`. If `fits` is null, any part fits.
  Parts Replace(Parts parts, std::string value, bool (*fits)(const std::string&)) {
    std::vector<std::string*> places;
    for (std::string& part : parts) {
      if (fits == nullptr || fits(part)) places.push_back(&part);
    }
    if (!places.empty()) *places[Below(places.size())] = std::move(value);
    return parts;
  }

  // The beginning of one text and the end of another, both cut at line ends.
  std::string Splice(const std::string& head, const std::string& tail) {
    Parts lines = Lines(head), rest = Lines(tail);
    lines.resize(Below(lines.size() + 1));
    lines.insert(lines.end(), rest.begin() + Below(rest.size()), rest.end());
    return Join(lines, "");
  }

  const std::vector<std::string>& texts_;
  std::mt19937_64 random_;
};

std::vector<std::string> SmallTexts(const fs::path& folder) {
  constexpr size_t kLongest = 4096;
  std::vector<std::string> texts;
  for (const std::string& file : ModuleFilesBelow(folder)) {
    if (fs::file_size(file) > kLongest) continue;
    std::ifstream stream(file, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return texts;
}

void MutateAll(const std::vector<std::string>& texts, int64_t count) {
  ASSERT_FALSE(texts.empty()) << "no small files: is this run from the repository's root?";
  const char* asked = std::getenv("HLO_MUTATIONS");
  if (asked != nullptr) count = std::atoll(asked);
  int64_t accepted = 0;
  for (int64_t number = 0; number < count && !testing::Test::HasFailure(); ++number) {
    const std::string text = Mutator(texts, number).Text();
    if (asked != nullptr) std::ofstream(fs::temp_directory_path() / "hlo-mutation.hlo", std::ios::binary) << text;
    bool valid = false;
    EXPECT_EQ(BrokenByModule(text, &valid), "") << "text " << number << ":\n" << text;
    EXPECT_EQ(BrokenByTokens(text), "") << "text " << number << ":\n" << text;
    accepted += valid ? 1 : 0;
  }
  // Both valid and invalid texts must occur. Otherwise the test covers less than intended.
  EXPECT_GT(accepted, count / 50);
  EXPECT_LT(accepted, count / 2);
}

TEST(ParserMutation, KeepsTheInvariantsOfTestdata) { MutateAll(SmallTexts("testdata"), 2000); }

TEST(ParserMutation, KeepsTheInvariantsOfTheCorpus) {
  const char* corpus = std::getenv("CORPUS");
  const auto texts = SmallTexts(fs::path(corpus != nullptr ? corpus : "../shared") / "corpus" / "xla-hlo");
  if (texts.empty()) GTEST_SKIP() << "no corpus";
  MutateAll(texts, 2000);
}

}  // namespace
}  // namespace hlo
