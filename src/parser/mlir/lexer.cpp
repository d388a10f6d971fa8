#include "parser/mlir/lexer.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace hlo::mlir {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWordByte(char c) { return IsLetter(c) || IsDigit(c) || c == '$' || c == '.'; }
bool IsNameByte(char c) { return IsWordByte(c) || c == '-'; }

}  // namespace

Lexer::Lexer(std::string_view text, SourceRange piece)
    : text_(text), at_(piece.begin), end_(piece.empty() ? static_cast<uint32_t>(text.size()) : piece.end) {
  if (at_ == 0 && text.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

void Lexer::SkipSpace() {
  while (at_ < end_) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && at_ + 1 < end_ && text_[at_ + 1] == '/') {
      at_ = static_cast<uint32_t>(std::min<size_t>(text_.find('\n', at_), end_));
    } else {
      return;
    }
  }
}

bool Lexer::At(std::string_view symbol) {
  SkipSpace();
  return Rest().starts_with(symbol);
}

bool Lexer::Accept(std::string_view symbol) {
  if (!At(symbol)) return false;
  Advance(at_ + static_cast<uint32_t>(symbol.size()));
  return true;
}

Status Lexer::Expect(std::string_view symbol) {
  if (!Accept(symbol)) FAIL(Expected(Str("'", symbol, "'")));
  return {};
}

std::string_view Lexer::PeekWord() {
  SkipSpace();
  uint32_t end = at_;
  if (end < end_ && IsLetter(text_[end])) {
    while (end < end_ && IsWordByte(text_[end])) ++end;
  }
  return text_.substr(at_, end - at_);
}

std::string_view Lexer::Word() {
  const std::string_view word = PeekWord();
  if (!word.empty()) Advance(at_ + static_cast<uint32_t>(word.size()));
  return word;
}

bool Lexer::AcceptWord(std::string_view word) {
  if (PeekWord() != word) return false;
  Word();
  return true;
}

Status Lexer::ExpectWord(std::string_view word) {
  if (!AcceptWord(word)) FAIL(Expected(Str("'", word, "'")));
  return {};
}

Result<std::string_view> Lexer::ReadWord(std::string_view what) {
  const std::string_view word = Word();
  if (word.empty()) FAIL(Expected(what));
  return word;
}

Result<std::string_view> Lexer::ReadName(char sign, std::string_view what) {
  if (Peek() != sign) FAIL(Expected(what));
  uint32_t end = at_ + 1;
  if (end < end_ && IsDigit(text_[end])) {
    while (end < end_ && IsDigit(text_[end])) ++end;
  } else {
    while (end < end_ && IsNameByte(text_[end])) ++end;
  }
  const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
  if (name.empty()) FAIL(Expected(what));
  Advance(end);
  return name;
}

// Strings do not go over the end of a line. Returns the position behind the closing quote, or 0.
uint32_t Lexer::EndOfString(uint32_t at) const {
  for (uint32_t i = at + 1; i < end_; ++i) {
    if (text_[i] == '"') return i + 1;
    if (text_[i] == '\\') ++i;
    else if (text_[i] == '\n') return 0;
  }
  return 0;
}

Result<std::string> Lexer::ReadString(std::string_view what) {
  if (Peek() != '"') FAIL(Expected(what));
  const uint32_t end = EndOfString(at_);
  if (end == 0) FAIL(Rejected("P003", "the string has no end", {at_, std::min(at_ + 1, end_)}));
  std::string text;
  for (uint32_t i = at_ + 1; i + 1 < end; ++i) {
    if (text_[i] != '\\') {
      text += text_[i];
      continue;
    }
    const char escape = text_[++i];
    uint8_t value = 0;
    const char* const digits = text_.data() + i;
    if (escape == 'n') {
      text += '\n';
    } else if (escape == 't') {
      text += '\t';
    } else if (escape == '"' || escape == '\\') {
      text += escape;
    } else if (i + 2 < end && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      text += static_cast<char>(value);
      ++i;
    } else {
      FAIL(Rejected("P003", "the string contains an unknown escape", {i - 1, i + 1}));
    }
  }
  Advance(end);
  return text;
}

Result<int64_t> Lexer::ReadInteger(std::string_view what) {
  SkipSpace();
  const char* const begin = text_.data() + at_;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(begin, text_.data() + end_, value);
  if (error == std::errc::result_out_of_range)
    FAIL(Rejected("P042", "the number does not fit 64 bits", {at_, at_ + static_cast<uint32_t>(end - begin)}));
  if (error != std::errc()) FAIL(Expected(what));
  Advance(at_ + static_cast<uint32_t>(end - begin));
  return value;
}

Result<SourceRange> Lexer::SkipBalanced() {
  SkipSpace();
  const uint32_t begin = at_;
  std::string open;
  for (uint32_t i = at_; i < end_; ++i) {
    const char c = text_[i];
    if (c == '"') {
      const uint32_t end = EndOfString(i);
      if (end == 0) break;
      i = end - 1;
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      open += c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '>';
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (c == '>' && text_[i - 1] == '-') continue;  // An arrow.
      if (open.empty() || open.back() != c) break;
      open.pop_back();
      if (open.empty()) {
        Advance(i + 1);
        return SourceRange{begin + 1, i};
      }
    }
  }
  FAIL(Rejected("P006", "the bracket is not closed", {begin, std::min(begin + 1, end_)}));
}

Error Lexer::Expected(std::string_view what) {
  SkipSpace();
  if (at_ == end_) return Rejected("P012", Str("the text ends too early: expected ", what), {last_end_, last_end_});
  constexpr size_t kLongest = 40;
  uint32_t end = at_ + 1;
  if (IsNameByte(text_[at_]) || text_[at_] == '%' || text_[at_] == '@' || text_[at_] == '#' || text_[at_] == '!') {
    while (end < end_ && IsNameByte(text_[end])) ++end;
  }
  std::string found = Escaped(text_.substr(at_, std::min<size_t>(end - at_, kLongest)));
  if (end - at_ > kLongest) found += "...";
  return Rejected("P010", Str("expected ", what, ", found '", found, "'"), {at_, end});
}

}  // namespace hlo::mlir
