#include "parser/mlir/locations.h"

#include "base/text.h"
#include "parser/mlir/lexer.h"

namespace hlo::mlir {

const Metadata& Locations::Read(SourceRange location) {
  const std::string_view text = text_.substr(location.begin, location.end - location.begin);
  const auto [known, is_new] = known_.try_emplace(text);
  if (is_new && !text.empty()) Fill(location, 0, known->second);
  return known->second;
}

// Locations that do not have a known form add nothing.
void Locations::Fill(SourceRange location, int depth, Metadata& metadata) const {
  constexpr int kDeepest = 200;
  if (location.empty() || depth > kDeepest) return;
  Lexer lexer(text_, location);
  if (lexer.At("#")) {
    const auto name = lexer.ReadName('#', "an alias");
    const auto alias = name ? document_.locations.find(*name) : document_.locations.end();
    if (alias != document_.locations.end()) Fill(alias->second, depth + 1, metadata);
    return;
  }
  if (lexer.At("\"")) {
    const auto name = lexer.ReadString("a name");
    if (!name) return;
    if (lexer.Accept(":")) {
      const auto line = lexer.ReadInteger("a line");
      if (!line || !metadata.source_file.empty()) return;
      metadata.source_file = *name;
      metadata.source_line = *line;
      return;
    }
    if (metadata.op_name.empty()) metadata.op_name = *name;
    if (!lexer.At("(")) return;
    if (const auto child = lexer.SkipBalanced()) Fill(*child, depth + 1, metadata);
    return;
  }
  const std::string_view word = lexer.Word();
  if (word == "callsite" || word == "fused") {
    if (word == "fused" && lexer.At("<") && !lexer.SkipBalanced()) return;
    const auto children = lexer.SkipBalanced();
    if (!children) return;
    // The called function comes first.
    Fill(*children, depth + 1, metadata);
  }
}

}  // namespace hlo::mlir
