#include "parser/lexer.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"

namespace hlo {
namespace {

const char* SkipDigits(const char* p) {
  while (IsDigit(*p)) ++p;
  return p;
}

const char* SkipSet(const char* p, const char* end, std::string_view set) {
  while (p < end && set.find(*p) != std::string_view::npos) ++p;
  return p;
}

// End of labels such as b01f_01io->b01f at `p`, or null.
const char* MatchDimLabels(const char* p, const char* end) {
  const char* lhs = SkipSet(p, end, "0123456789bf?");
  if (lhs - p < 2 || *lhs != '_') return nullptr;
  const char* rhs = SkipSet(lhs + 1, end, "0123456789io?");
  if (rhs - lhs < 3 || end - rhs < 2 || rhs[0] != '-' || rhs[1] != '>') return nullptr;
  const char* out = SkipSet(rhs + 2, end, "0123456789bf?");
  return out - rhs >= 4 ? out : nullptr;
}

// End of low_high[_interior] at `p`, or null. `low` and `high` may be negative.
const char* MatchPadEntry(const char* p) {
  const auto number = [](const char* q, bool sign) {
    if (sign && *q == '-') ++q;
    const char* digits = SkipDigits(q);
    return digits == q ? nullptr : digits;
  };
  p = number(p, true);
  if (p == nullptr || *p != '_') return nullptr;
  p = number(p + 1, true);
  if (p == nullptr) return nullptr;
  if (*p == '_' && IsDigit(p[1])) p = number(p + 1, false);
  return p;
}

const char* MatchPad(const char* p) {
  p = MatchPadEntry(p);
  while (p != nullptr && *p == 'x') {
    const char* next = MatchPadEntry(p + 1);
    if (next == nullptr) break;
    p = next;
  }
  return p;
}

// The end of the payload (0xHEX) after nan, `p` if nothing follows, or null if it is malformed.
const char* MatchNanPayload(const char* p) {
  if (*p != '(') return p;
  if (p[1] != '0' || p[2] != 'x') return nullptr;
  const char* digits = p + 3;
  p = digits;
  while (IsDigit(*p) || (static_cast<unsigned char>((*p | 0x20) - 'a') < 6)) ++p;
  return p == digits || *p != ')' ? nullptr : p + 1;
}

const char* FindQuoteOrEscape(const char* p, const char* end, char quote) {
  const __m256i quotes = _mm256_set1_epi8(quote), backslashes = _mm256_set1_epi8('\\');
  for (; end - p >= 32; p += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i either = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, quotes), _mm256_cmpeq_epi8(bytes, backslashes));
    const auto found = static_cast<uint32_t>(_mm256_movemask_epi8(either));
    if (found != 0) return p + std::countr_zero(found);
  }
  while (p < end && *p != quote && *p != '\\') ++p;
  return p;
}

// Editors and web pages add such characters to texts.
bool IsInvisible(std::string_view character) {
  if (character == "\u00A0" || character == "\u00AD" || character == "\u2060" || character == "\u3000" ||
      character == "\uFEFF")
    return true;
  return (character >= "\u2000" && character <= "\u200F") || (character >= "\u2028" && character <= "\u202F");
}

std::string CodePointText(std::string_view character) {
  uint32_t code = static_cast<unsigned char>(character[0]) & (character.size() == 2 ? 0x1F : 0x0F);
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return Str(Format("U+%04X", code), code == 0xFEFF ? " (a byte order mark)" : "");
}

}  // namespace

// Tests 32 bytes at once. Each half of a byte selects a set. A byte belongs to a word if both sets have a common bit.
const char* WordEnd(const char* p, const char* end) {
  enum : char { kPoint = 1, kDigit = 2, kUpToO = 4, kFromP = 8, kFromLowerP = 16 };  // -. 0-9 A-Oa-o P-Z_ p-z
  constexpr char kAll = kDigit | kUpToO | kFromP | kFromLowerP;
  constexpr char kNoDigit = kUpToO | kFromP | kFromLowerP;
  const __m256i low_half = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(kDigit | kFromP | kFromLowerP, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kNoDigit,
                    kUpToO, kUpToO, kUpToO | kPoint, kUpToO | kPoint, kUpToO | kFromP));
  const __m256i high_half = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, kPoint, kDigit, kUpToO, kFromP, kUpToO, kFromLowerP, 0, 0, 0, 0, 0, 0, 0, 0));
  for (; end - p >= 32; p += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    const __m256i word = _mm256_and_si256(_mm256_shuffle_epi8(low_half, bytes), _mm256_shuffle_epi8(high_half, high));
    const auto others = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(word, _mm256_setzero_si256())));
    if (others != 0) return p + std::countr_zero(others);
  }
  while (IsWordByte(*p) && p < end) ++p;
  return p;
}

const char* PlainStringEnd(const char* begin, const char* end) {
  const char* const p = FindQuoteOrEscape(begin + 1, end, *begin);
  return p < end && *p == *begin ? p + 1 : nullptr;
}

const char* StringEnd(const char* begin, const char* end) {
  const char* p = begin + 1;
  while (p < end) {
    p = FindQuoteOrEscape(p, end, *begin);
    if (p < end && *p == *begin) return p + 1;
    p += 2;
  }
  return nullptr;
}

bool IsPlainName(std::string_view word) {
  return !word.empty() && IsLetter(word.front()) && std::all_of(word.begin(), word.end(), IsWordByte) &&
         !IsReserved(word);
}

bool Lexer::SkipComments() {
  for (;;) {
    while (ClassOfByte(*at_) == kSpaceByte && at_ < end_) ++at_;
    if (*at_ != '/' || end_ - at_ < 2) return true;
    if (at_[1] == '/') {
      const void* newline = std::memchr(at_, '\n', end_ - at_);
      at_ = newline ? static_cast<const char*>(newline) + 1 : end_;
    } else if (at_[1] == '*') {
      const size_t close = std::string_view(at_ + 2, end_ - at_ - 2).find("*/");
      if (close == std::string_view::npos) return false;
      at_ += close + 4;
    } else {
      return true;
    }
  }
}

void Lexer::Make(Token& token, TokenKind kind, const char* begin, const char* text_begin, const char* text_end) const {
  token.kind = kind;
  token.punctuation = '\0';
  token.begin = Offset(begin);
  token.end = Offset(at_);
  token.text = {text_begin, static_cast<size_t>(text_end - text_begin)};
}

void Lexer::Fail(Token& token, const char* code, std::string message, const char* begin, const char* end) {
  at_ = end;
  error_code_ = code;
  error_ = std::move(message);
  return Make(token, TokenKind::kError, begin, begin, end);
}

void Lexer::Next(Token& token) {
  if (!SkipSpace()) return Fail(token, "P002", "the comment has no end, '*/'", at_, at_ + 2);
  const char* begin = at_;
  if (at_ >= end_) {
    at_ = end_;
    return Make(token, TokenKind::kEnd, begin, begin, begin);
  }
  const char c = *at_;
  if (IsLetter(c)) return Word(token, begin);
  if (IsDigit(c) || c == '?') return Number(token, begin);
  switch (c) {
    case '%': {
      const char* word = at_ + 1;
      if (!IsLetter(*word)) return Fail(token, "P001", "expected a name after '%'", begin, begin + 1);
      at_ = WordEnd(word, end_);
      return Make(token, TokenKind::kName, begin, word, at_);
    }
    case '-':
      if (at_[1] == '>') {
        at_ += 2;
        return Make(token, TokenKind::kArrow, begin, begin, at_);
      }
      return Number(token, begin);
    case '<':
      if (at_[1] != '=') break;
      at_ += 2;
      return Make(token, TokenKind::kLessEqual, begin, begin, at_);
    case '.':
      if (at_[1] != '.' || at_[2] != '.') break;
      at_ += 3;
      return Make(token, TokenKind::kEllipsis, begin, begin, at_);
    case '"':
    case '\'': return String(token, begin);
    case '=':
    case ',':
    case ':':
    case '*':
    case '#':
    case '+':
    case '~':
    case '[':
    case ']':
    case '{':
    case '}':
    case '(':
    case ')': {
      ++at_;
      Make(token, TokenKind::kPunctuation, begin, begin, at_);
      token.punctuation = c;
      return;
    }
    default: break;
  }
  if (c == '\0') return Fail(token, "P001", "the text holds a NUL byte", begin, begin + 1);
  const std::string_view rest(begin, end_ - begin);
  const size_t length = std::max<size_t>(CodePointLength(rest), 1);
  const std::string_view character = rest.substr(0, length);
  const std::string shown = IsInvisible(character) ? CodePointText(character) : Str("'", Escaped(character), "'");
  return Fail(token, "P001", Str("unexpected character ", shown), begin, begin + length);
}

void Lexer::Word(Token& token, const char* begin) {
  at_ = WordEnd(begin, end_);
  const char* word_end = at_;
  if (at_ < end_ && *at_ == ':') {
    ++at_;
    return Make(token, TokenKind::kName, begin, begin, word_end);
  }
  if (at_ < end_ && *at_ == '=') {
    ++at_;
    return Make(token, TokenKind::kAttribute, begin, begin, word_end);
  }
  const std::string_view word(begin, word_end - begin);
  if (word == "nan") {
    const char* after = MatchNanPayload(at_);
    if (after == nullptr)
      return Fail(token, "P004", "the NaN payload is malformed, expected nan(0xHEX)", begin, at_ + 1);
    at_ = after;
    return Make(token, TokenKind::kDecimal, begin, begin, at_);
  }
  if ((*begin == 'b' || *begin == 'f') && word.find('_') != std::string_view::npos) {
    if (const char* labels = MatchDimLabels(begin, end_)) {
      at_ = labels;
      return Make(token, TokenKind::kDimLabels, begin, begin, at_);
    }
  }
  return Make(token, TokenKind::kWord, begin, begin, word_end);
}

void Lexer::Number(Token& token, const char* begin) {
  const auto make = [&](TokenKind kind, const char* end) {
    at_ = end;
    Make(token, kind, begin, begin, end);
  };
  const char* p = begin;
  const bool negative = *p == '-';
  if (negative) ++p;
  const char* digits_end = SkipDigits(p);
  const bool has_digits = digits_end > p;
  const char* q = digits_end;
  bool decimal = false;
  if (*q == '.' && (has_digits || IsDigit(q[1]))) {
    q = SkipDigits(q + 1);
    decimal = true;
  }
  if ((has_digits || decimal) && (*q == 'e' || *q == 'E')) {
    const char* exponent = q + 1;
    if (*exponent == '+' || *exponent == '-') ++exponent;
    if (IsDigit(*exponent)) {
      q = SkipDigits(exponent);
      decimal = true;
    }
  }
  if (decimal) return make(TokenKind::kDecimal, q);
  if (!negative) {
    if (const char* labels = MatchDimLabels(begin, end_)) return make(TokenKind::kDimLabels, labels);
    if (*begin == '?') {
      make(TokenKind::kPunctuation, begin + 1);
      token.punctuation = '?';
      return;
    }
    if (*digits_end == 'x' && IsDigit(digits_end[1])) {
      q = digits_end;
      while (*q == 'x' && IsDigit(q[1])) q = SkipDigits(q + 1);
      // `3x3_1` is not a pad: its first entry lacks the underscore.
      return make(TokenKind::kDxD, q);
    }
  }
  if (has_digits && *digits_end == '_') {
    if (const char* pad = MatchPad(begin)) return make(TokenKind::kPad, pad);
  }
  if (has_digits) return make(TokenKind::kInt, digits_end);
  if (std::string_view(p, std::min<size_t>(end_ - p, 3)) == "inf") return make(TokenKind::kDecimal, p + 3);
  if (std::string_view(p, std::min<size_t>(end_ - p, 3)) == "nan") {
    const char* after = MatchNanPayload(p + 3);
    if (after != nullptr) return make(TokenKind::kDecimal, after);
    return Fail(token, "P004", "the NaN payload is malformed, expected nan(0xHEX)", begin, p + 4);
  }
  return Fail(token, "P001", "expected a number after '-'", begin, begin + 1);
}

void Lexer::String(Token& token, const char* begin) {
  if (const char* after = StringEnd(begin, end_)) {
    at_ = after;
    return Make(token, TokenKind::kString, begin, begin, at_);
  }
  const void* newline = std::memchr(begin, '\n', end_ - begin);
  const char* line_end = newline ? static_cast<const char*>(newline) : end_;
  Fail(token, "P003", "the string has no closing quote", begin, line_end);
  at_ = end_;
}

}  // namespace hlo
