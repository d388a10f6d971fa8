// Language features of one document. Answers are JSON as in LSP 3.17, or "null" or "[]". Names come from tokens, so
// they work in texts with errors. Shapes and costs need a valid module.
#ifndef HLO_DRIVER_LSP_FEATURES_H_
#define HLO_DRIVER_LSP_FEATURES_H_

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "driver/lsp/document.h"

namespace hlo {

struct ClientAbilities {
  bool markdown = false;
  bool symbol_trees = false;
  bool related_information = false;  // If false, messages contain the notes.
};

// ---- Diagnostics and hovers (lsp/hover.cpp) ----
std::string DiagnosticsJson(Document& document, const ClientAbilities& client);  // PublishDiagnosticsParams
std::string HoverJson(Document& document, uint32_t offset, const ClientAbilities& client);

// ---- Names (lsp/features.cpp) ----
std::string DefinitionJson(Document& document, uint32_t offset);
std::string ReferencesJson(Document& document, uint32_t offset, bool with_definition);
std::string HighlightsJson(Document& document, uint32_t offset);
std::string PrepareRenameJson(Document& document, uint32_t offset);
// Returns the WorkspaceEdit, or why the new name is not allowed. Ignores a leading '%'.
std::expected<std::string, std::string> RenameJson(Document& document, uint32_t offset, std::string_view new_name);
std::string SymbolsJson(Document& document, const ClientAbilities& client);
std::string FoldingRangesJson(Document& document);

// ---- Editing (lsp/features.cpp) ----
// Returns at most one edit, which formats the text as `hlo fmt` does. "null" if the text has errors or several modules.
// An error if formatting would change the module.
std::expected<std::string, std::string> FormattingJson(Document& document);
// Proposes keywords, opcodes, attributes of the opcode, or instructions and computations above.
std::string CompletionJson(Document& document, uint32_t offset);

void AppendRange(JsonWriter& json, const PositionMap& positions, SourceRange range);
// Attributes of the opcode, without attributes that all opcodes have.
std::vector<std::string_view> AttributesOf(Opcode opcode);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_FEATURES_H_
