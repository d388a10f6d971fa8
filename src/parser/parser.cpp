#include "parser/parser.h"

#include "base/text.h"
#include "parser/lexer.h"
#include "parser/reader.h"

namespace hlo {

Result<std::unique_ptr<Module>> Parse(std::shared_ptr<const SourceText> source, const ParseOptions& options) {
  return Reader(std::move(source), options).ReadWhole();
}

std::vector<SourceRange> SplitInput(const SourceText& source) {
  constexpr std::string_view kBorder = "// -----";
  const std::string_view text = source.text();
  std::vector<SourceRange> pieces;
  size_t begin = 0;
  const auto add = [&](size_t end_at) {
    const SourceRange piece = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end_at)};
    const bool holds_something = Lexer(text, piece.begin, piece.end).Next().kind != TokenKind::kEnd;
    if (holds_something) pieces.push_back(piece);
  };
  for (size_t at = text.find(kBorder); at != std::string_view::npos; at = text.find(kBorder, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    add(at);
    begin = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  add(text.size());
  return pieces;
}

Result<Shape> ParseShape(std::string_view text) {
  return Reader(std::make_shared<const SourceText>("<shape>", std::string(text)), {}).ReadLoneShape();
}

Result<Literal> ParseLiteral(std::string_view text, const Shape& shape) {
  return Reader(std::make_shared<const SourceText>("<literal>", std::string(text)), {.elided = ElidedConstants::kError})
      .ReadLoneLiteral(shape);
}

}  // namespace hlo
