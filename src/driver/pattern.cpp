#include "driver/pattern.h"

#include <re2/re2.h>

#include "base/text.h"

namespace hlo {
namespace {

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

// The column of the piece in RE2's error, or 0 if unknown. RE2 stops at the first error, so each prefix with the piece
// has the same error.
size_t ColumnOf(const RE2& bad) {
  const std::string& text = bad.pattern();
  const std::string& piece = bad.error_arg();
  constexpr size_t kMost = 4096;  // The search takes quadratic time.
  if (piece.empty() || piece == text || text.size() > kMost) return 0;
  size_t end = text.size();
  while (end > piece.size()) {
    const RE2 shorter(re2::StringPiece(text.data(), end - 1), Quiet());
    if (shorter.error_code() != bad.error_code() || shorter.error_arg() != piece) break;
    --end;
  }
  return end - piece.size() + 1;
}

Error NoPattern(const RE2& bad, std::string_view flag) {
  constexpr size_t kMostShown = 200;
  const std::string& text = bad.pattern();
  std::string message = Str(
      "--", flag, ": '", Escaped(std::string_view(text).substr(0, kMostShown)), text.size() > kMostShown ? "..." : "",
      "' is not a regular expression: ", std::string_view(bad.error()).substr(0, bad.error().find(": ")));
  if (const size_t column = ColumnOf(bad); column != 0)
    message += Str(": '", Escaped(bad.error_arg()), "' in column ", column);
  Error error = UsageError("F007", std::move(message));
  const bool may_be_another_syntax = bad.error_code() == RE2::ErrorBadPerlOp || bad.error_code() == RE2::ErrorBadEscape;
  if (!may_be_another_syntax) return error;
  return std::move(error).Hint("the syntax is RE2's, which has no backreferences, no look-ahead and no look-behind");
}

}  // namespace

struct Pattern::Compiled {
  explicit Compiled(std::string_view text) : re(re2::StringPiece(text.data(), text.size()), Quiet()) {}
  RE2 re;
};

Result<Pattern> Pattern::Compile(std::string_view text, std::string_view flag) {
  auto compiled = std::make_shared<const Compiled>(text);
  if (!compiled->re.ok()) FAIL(NoPattern(compiled->re, flag));
  return Pattern(std::move(compiled));
}

bool Pattern::FoundIn(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->re);
}

bool Pattern::Matches(std::string_view text) const {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), compiled_->re);
}

std::string MetNothing(std::string_view flag, std::string_view pattern, std::string_view what) {
  return Str("--", flag, "=", Escaped(pattern), ": ", what);
}

}  // namespace hlo
