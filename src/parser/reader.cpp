#include "parser/reader.h"

#include "base/text.h"
#include "base/utf8.h"

namespace hlo {

Reader::Reader(std::shared_ptr<const SourceText> source, const ParseOptions& options)
    : source_(std::move(source)),
      options_(options),
      lexer_(source_->text(), options.piece.begin,
             options.piece.empty() ? static_cast<uint32_t>(source_->text().size()) : options.piece.end),
      scope_(std::make_unique<Scope>()) {
  Advance();
}

bool Reader::ExpectAttributeName(std::string_view name, const char* what) {
  if (token_.kind != TokenKind::kAttribute || token_.text != name) return FailExpected(what);
  Advance();
  return true;
}

bool Reader::FailExpected(std::string_view what) {
  if (token_.kind == TokenKind::kError) return Fail(lexer_.error_code(), lexer_.error(), token_.range());
  if (token_.kind == TokenKind::kEnd) {
    const bool known = Fail("P012", Str("the text ends too early: expected ", what), token_.range());
    fatal_ = true;
    return known;
  }
  constexpr size_t kLongest = 40;
  std::string found = Escaped(Text(token_.range()).substr(0, kLongest));
  if (token_.end - token_.begin > kLongest) found += "...";
  const bool reserved = token_.kind == TokenKind::kWord && IsReserved(token_.text);
  return Fail("P010", Str("expected ", what, ", found ", reserved ? "the reserved word " : "", "'", found, "'"),
              token_.range());
}

bool Reader::Fail(const char* code, std::string message, SourceRange range) {
  if (Stopped()) return false;
  diagnostics_.push_back({code, std::move(message), range, {}, {}, std::string(defining_), {}});
  return false;
}

bool Reader::FailLimit(const char* code, std::string message, SourceRange range) {
  if (!Stopped()) exit_ = ExitCode::kLimit;
  Fail(code, std::move(message), range);
  fatal_ = true;
  return false;
}

void Reader::AddNote(std::string message, SourceRange range) {
  if (!fatal_ && !diagnostics_.empty()) diagnostics_.back().notes.push_back({std::move(message), range});
}

void Reader::AddHint(std::string hint) {
  if (!diagnostics_.empty()) diagnostics_.back().hint = std::move(hint);
}

bool Reader::EnterDepth(int64_t levels) {
  depth_ += levels;
  if (depth_ <= options_.max_depth) return true;
  FailLimit("P091", Str("the text is nested deeper than the limit of ", options_.max_depth, " levels (--max_depth)"),
            token_.range());
  if (!diagnostics_.empty()) diagnostics_.back().flag = "max_depth";
  return false;
}

Error Reader::TakeError() {
  Error error(exit_, "", "");
  if (more_elided_ > 0) diagnostics_[*first_elided_].message += Str(" (and ", more_elided_, " more like this)");
  error.diagnostics = std::move(diagnostics_);
  error.source = source_;
  return error;
}

void Reader::EndBytes(const char* p) {
  lexer_.Seek(p);
  lexer_.Next(token_);
  last_end_ = lexer_.Offset(p);
}

bool Reader::SkipRareSpace(const char*& p) {
  lexer_.Seek(p);
  if (!lexer_.SkipSpace()) return FailAt("P002", "the comment has no end, '*/'", lexer_.at(), 2);
  p = lexer_.at();
  return true;
}

bool Reader::FailAt(const char* code, std::string message, const char* p, size_t length) {
  const uint32_t begin = lexer_.Offset(p);
  const uint32_t end = static_cast<uint32_t>(std::min<size_t>(length, lexer_.end() - p)) + begin;
  if (p >= lexer_.end()) {
    Fail("P012", Str("the text ends too early: ", message), {begin, begin});
    fatal_ = true;
  } else {
    Fail(code, std::move(message), {begin, end});
  }
  EndBytes(p);
  return false;
}

bool Unquote(std::string_view quoted, std::string& text) {
  const std::string_view inner = quoted.substr(1, quoted.size() - 2);
  text.clear();
  if (inner.find('\\') == std::string_view::npos) {
    text = inner;
    return true;
  }
  const auto digits = [&](size_t& i, size_t most, int base) {
    uint32_t value = 0;
    const char* begin = inner.data() + i;
    const auto [end, error] = std::from_chars(begin, begin + std::min(most, inner.size() - i), value, base);
    if (error != std::errc()) return int64_t{-1};
    i += end - begin;
    return int64_t{value};
  };
  for (size_t i = 0; i < inner.size();) {
    if (inner[i] != '\\') {
      text += inner[i++];
      continue;
    }
    const char escape = inner[i + 1];
    i += 2;
    constexpr std::string_view kPlain = "ntr\"'\\?abfv";
    constexpr std::string_view kMeaning = "\n\t\r\"'\\?\a\b\f\v";
    if (const size_t at = kPlain.find(escape); at != std::string_view::npos) {
      text += kMeaning[at];
      continue;
    }
    int64_t value = -1;
    if (escape >= '0' && escape <= '7') value = digits(--i, 3, 8);
    if (escape == 'x' || escape == 'X') value = digits(i, 2, 16);
    if (value >= 0 && value < 256) {
      text += static_cast<char>(value);
      continue;
    }
    if (escape != 'u' && escape != 'U') return false;
    const size_t begin = i;
    const size_t count = escape == 'u' ? 4 : 8;
    value = digits(i, count, 16);
    if (value < 0 || value > 0x10FFFF || i != begin + count) return false;
    AppendCodePoint(static_cast<uint32_t>(value), text);
  }
  return true;
}

const char* SkipBalanced(const char* begin, const char* end) {
  int64_t depth = 0;
  for (const char* p = begin; p != nullptr && p < end;) {
    if (*p == '"') {
      p = StringEnd(p, end);
      continue;
    }
    if (*p == '{') ++depth;
    if (*p == '}' && --depth == 0) return p + 1;
    ++p;
  }
  return nullptr;
}

}  // namespace hlo
