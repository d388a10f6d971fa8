// Reads the tokens of MLIR text on demand, because types and attributes of dialects have tokens of their own.
#ifndef HLO_PARSER_MLIR_LEXER_H_
#define HLO_PARSER_MLIR_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo::mlir {

class Lexer {
 public:
  Lexer(std::string_view text, SourceRange piece);

  // The next byte after blanks and comments, or NUL at the end.
  char Peek() {
    SkipSpace();
    return at_ < end_ ? text_[at_] : '\0';
  }
  bool AtEnd() { return Peek() == '\0' && at_ == end_; }
  uint32_t Position() {
    SkipSpace();
    return at_;
  }
  uint32_t last_end() const { return last_end_; }  // The end of the last token.
  void Seek(uint32_t position) { at_ = position; }
  std::string_view Text(SourceRange range) const { return text_.substr(range.begin, range.end - range.begin); }
  // The bytes from the current position on.
  std::string_view Rest() const { return text_.substr(at_, end_ - at_); }

  bool At(std::string_view symbol);
  bool Accept(std::string_view symbol);
  Status Expect(std::string_view symbol);
  bool AcceptWord(std::string_view word);
  Status ExpectWord(std::string_view word);
  // A bare identifier, which may contain dots, or "".
  std::string_view Word();
  std::string_view PeekWord();
  Result<std::string_view> ReadWord(std::string_view what);
  // The name after a sign such as '%', without the sign.
  Result<std::string_view> ReadName(char sign, std::string_view what);
  Result<std::string> ReadString(std::string_view what);
  Result<int64_t> ReadInteger(std::string_view what);
  // Moves behind the bracket that closes the one at the current position. Returns the range between the brackets.
  Result<SourceRange> SkipBalanced();

  // "expected WHAT, found '...'" at the current position.
  Error Expected(std::string_view what);

 private:
  void SkipSpace();
  void Advance(uint32_t to) { last_end_ = at_ = to; }
  uint32_t EndOfString(uint32_t at) const;

  std::string_view text_;
  uint32_t at_, end_;
  uint32_t last_end_ = 0;
};

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_LEXER_H_
