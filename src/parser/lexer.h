// The tokens of HLO text: docs/language.md#tokens.
#ifndef HLO_PARSER_LEXER_H_
#define HLO_PARSER_LEXER_H_

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/text/reserved_words.h"

namespace hlo {

enum ByteClass : uint8_t { kOtherByte, kSpaceByte, kWordByte, kLetterByte };

inline constexpr std::array<ByteClass, 256> kByteClasses = [] {
  std::array<ByteClass, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kLetterByte;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kLetterByte;
  classes['_'] = kLetterByte;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kWordByte;
  for (const char c : {'.', '-'}) classes[static_cast<unsigned char>(c)] = kWordByte;
  for (const char c : {' ', '\t', '\n', '\r'}) classes[static_cast<unsigned char>(c)] = kSpaceByte;
  return classes;
}();

inline ByteClass ClassOfByte(char c) { return kByteClasses[static_cast<unsigned char>(c)]; }
inline bool IsWordByte(char c) { return ClassOfByte(c) >= kWordByte; }  // [A-Za-z0-9_.-]
inline bool IsLetter(char c) { return ClassOfByte(c) == kLetterByte; }
inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
// The byte at `end` must be readable.
const char* WordEnd(const char* p, const char* end);
// Position after the string at `begin`, or null if it does not end.
const char* StringEnd(const char* begin, const char* end);
const char* PlainStringEnd(const char* begin, const char* end);  // Also null for a string with escapes.

enum class TokenKind : uint8_t {
  kEnd,
  kError,
  kWord,       // Also keywords and type names.
  kName,       // `%word` or `word:`. The text is the word.
  kAttribute,  // `word=`. The text is the word.
  kInt,
  kDecimal,    // 1.5, -nan(0x7).
  kDxD,        // 3x3
  kPad,        // 0_1x-2_3
  kDimLabels,  // b01f_01io->b01f
  kString,
  kArrow,
  kLessEqual,
  kEllipsis,
  kPunctuation,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char punctuation = 0;
  uint32_t begin = 0;  // Includes `%` and `=`.
  uint32_t end = 0;
  std::string_view text;

  bool Is(char c) const { return punctuation == c; }
  bool IsWord(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
  SourceRange range() const { return {begin, end}; }
};

class Lexer {
 public:
  // The byte behind the text must be readable, such as the NUL of a string.
  Lexer(std::string_view text, uint32_t begin, uint32_t end)
      : start_(text.data()), at_(text.data() + begin), end_(text.data() + end) {}

  // Writes into `token`, because a copy would wait for the stores that filled it.
  void Next(Token& token);
  Token Next() {
    Token token;
    Next(token);
    return token;
  }

  const char* at() const { return at_; }
  const char* end() const { return end_; }
  void Seek(const char* at) { at_ = at; }
  uint32_t Offset(const char* p) const { return static_cast<uint32_t>(p - start_); }
  const char* Pointer(uint32_t offset) const { return start_ + offset; }

  // Skips whitespace and comments. False if a comment does not end.
  bool SkipSpace() {
    const char* p = at_;
    while (ClassOfByte(*p) == kSpaceByte && p < end_) ++p;
    at_ = p;
    return *p != '/' || SkipComments();
  }

  // Code and message of the last kError token.
  const char* error_code() const { return error_code_; }
  const std::string& error() const { return error_; }

 private:
  bool SkipComments();
  void Make(Token& token, TokenKind kind, const char* begin, const char* text_begin, const char* text_end) const;
  void Fail(Token& token, const char* code, std::string message, const char* begin, const char* end);
  void Word(Token& token, const char* begin);
  void Number(Token& token, const char* begin);
  void String(Token& token, const char* begin);

  const char* start_;
  const char* at_;
  const char* end_;
  const char* error_code_ = "";
  std::string error_;
};

// Position after the integer at `p`, or null if there is none or it does not fit.
inline const char* ReadInteger(const char* p, const char* end, int64_t& value) {
  const char* const begin = p;
  int64_t small = 0;
  for (; IsDigit(*p) && p < end && p - begin < 18; ++p) small = 10 * small + (*p - '0');
  if (p > begin && !IsDigit(*p)) {
    value = small;
    return p;
  }
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() ? stop : nullptr;
}

// True for a name that needs no '%': [A-Za-z_][A-Za-z0-9_.-]* and not reserved.
bool IsPlainName(std::string_view word);
// XLA reserves names of instructions that start with "__", except "__xla_".
inline bool HasForbiddenPrefix(std::string_view name) { return name.starts_with("__") && !name.starts_with("__xla_"); }

}  // namespace hlo

#endif  // HLO_PARSER_LEXER_H_
