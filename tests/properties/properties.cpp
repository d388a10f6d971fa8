#include "tests/properties/properties.h"

#include <algorithm>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "parser/lexer.h"
#include "parser/read_proto.h"

namespace hlo {
namespace {

// A diagnostic has a code, a message, and a place in the text. An empty text has no place. A binary protocol buffer has
// the number of a byte instead.
std::string BrokenBy(const Error& error) {
  if (error.diagnostics.empty()) return "an error without a diagnostic";
  if (error.exit == ExitCode::kInternal || error.exit == ExitCode::kOk)
    return Str("exit code ", static_cast<int>(error.exit), " for: ", error.message());
  for (const Diagnostic& diagnostic : error.diagnostics) {
    const auto broken = [&](const char* what) { return Str(what, ": [", diagnostic.code, "] ", diagnostic.message); };
    if (diagnostic.code.size() != 4) return broken("a code that is none");
    if (diagnostic.message.empty()) return broken("no message");
    const size_t size = error.source != nullptr ? error.source->text().size() : 0;
    if (diagnostic.range.begin > diagnostic.range.end || diagnostic.range.end > size) return broken("outside the text");
    const bool placed = diagnostic.range.end > 0 || diagnostic.code == "P011" || diagnostic.code == "P014" ||
                        diagnostic.message.contains("at byte ");
    if (!placed) return broken("no place");
  }
  return Render(error, "test").empty() ? "an error that shows nothing" : "";
}

Result<std::unique_ptr<Module>> Reread(const std::string& text) {
  return Parse(std::make_shared<const SourceText>("printed", text));
}

// Compares the second printing with the third. Computations are ordered by the calls in the text, as in XLA, so the
// first printing may change the order of instructions.
std::string BrokenByPrinting(const Module& module, const PrintOptions& form) {
  const std::string first = Print(module, form);
  const auto second = Reread(first);
  if (!second) return Str("the printed text is refused: ", Render(second.error(), "test"), first);
  const std::string text = Print(**second, form);
  const auto third = Reread(text);
  if (!third) return Str("the text printed again is refused: ", Render(third.error(), "test"), text);
  const std::string again = Print(**third, form);
  return again == text ? "" : Str("printed:\n", text, "\nread and printed again:\n", again);
}

// Prints all forms, also those that cannot be parsed again. Forms with bodies in place of names may become large, so
// they are printed only for few instructions.
void PrintAllForms(const Module& module) {
  constexpr int64_t kFew = 10'000;
  for (const PrintForm& form : PrintForms()) {
    if (!form.options.bodies || CheckBodies(module, kFew)) Print(module, form.options);
  }
}

bool IsSmall(const Shape& shape, int64_t most) {
  if (shape.IsTuple())
    return std::ranges::all_of(shape.elements(), [&](const Shape& element) { return IsSmall(element, most); });
  if (!shape.IsArray()) return true;
  return std::ranges::count(shape.dims(), Shape::kUnbounded) == 0 && shape.NumElements() <= most;
}

}  // namespace

std::string BrokenByTokens(std::string_view text) {
  const std::string copy(text);  // The copy ends with a readable byte.
  const SourceText source("test", copy);
  Lexer lexer(copy, 0, static_cast<uint32_t>(copy.size()));
  uint32_t behind = 0;
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd; token = lexer.Next()) {
    if (token.kind == TokenKind::kError)
      return lexer.error().empty() || std::string_view(lexer.error_code()).size() != 4 ? "an error without words" : "";
    if (token.begin < behind || token.end <= token.begin || token.end > copy.size())
      return Str("a token from ", token.begin, " to ", token.end, " behind ", behind, " of ", copy.size());
    behind = token.end;
    const std::string alone = copy.substr(token.begin, token.end - token.begin);
    const Token reread = Lexer(alone, 0, static_cast<uint32_t>(alone.size())).Next();
    if (reread.kind != token.kind || reread.end != alone.size() || reread.text != token.text)
      return Str("'", Escaped(alone), "' is another token alone");
  }
  uint32_t end = 0;
  for (const SourceRange& piece : SplitInput(source)) {
    if (piece.begin < end || piece.end < piece.begin || piece.end > copy.size()) return "a piece outside the text";
    end = piece.end;
  }
  return "";
}

std::string BrokenByModule(std::string_view bytes, bool* accepted) {
  if (accepted != nullptr) *accepted = false;
  const auto source = std::make_shared<const SourceText>("test", std::string(bytes));
  if (const auto values = ReadRecordedValues(source); !values) {
    if (std::string broken = BrokenBy(values.error()); !broken.empty()) return broken;
  }
  const auto module = ReadModule(source);
  if (!module) return BrokenBy(module.error());
  const Status status = Verify(**module);
  std::vector<Diagnostic> warnings;
  const Status strict = Verify(**module, VerifyLevel::kStrict, &warnings);
  if (!strict) {
    if (std::string broken = BrokenBy(strict.error()); !broken.empty()) return broken;
  }
  for (const Diagnostic& warning : warnings) {
    if (Render((*module)->source.get(), warning, "warning", "test").empty()) return "a warning that shows nothing";
  }
  PrintAllForms(**module);
  if (!status) return strict ? "strict takes what default refuses" : BrokenBy(status.error());
  if (accepted != nullptr) *accepted = true;
  if (std::string broken = BrokenByPrinting(**module, {}); !broken.empty()) return broken;
  return BrokenByPrinting(**module, ShortForm());
}

std::string BrokenByLiteral(std::string_view text) {
  constexpr int64_t kMostElements = 4096;
  const size_t line = text.find('\n');
  const auto shape = ParseShape(text.substr(0, line));
  if (!shape) return shape.error().message().empty() ? "a shape is refused without words" : "";
  const auto reread = ParseShape(shape->ToStringWithLayout());
  if (!reread || *reread != *shape) return Str("another shape reads back: ", shape->ToStringWithLayout());
  if (line == std::string_view::npos || !IsSmall(*shape, kMostElements)) return "";
  const auto literal = ParseLiteral(text.substr(line + 1), *shape);
  if (!literal) return literal.error().message().empty() ? "a literal is refused without words" : "";
  const std::string printed = Print(*literal);
  const auto again = ParseLiteral(printed, *shape);
  if (!again) return Str("the printed literal is refused: ", again.error().message(), "\n", printed);
  return again->BitEquals(*literal) ? "" : Str("another literal reads back: ", printed, " as ", Print(*again));
}

}  // namespace hlo
