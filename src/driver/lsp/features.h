// The language features for one document. Each answer is JSON of the protocol (LSP 3.17), "null" or "[]" if empty.
// Names come from the index of tokens, so they also work in texts with errors; shapes and costs need the module.
#ifndef HLO_DRIVER_LSP_FEATURES_H_
#define HLO_DRIVER_LSP_FEATURES_H_

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "driver/lsp/document.h"

namespace hlo {

// The abilities of the client; the defaults are LSP's.
struct ClientAbilities {
  bool markdown = false;             // For hovers.
  bool symbol_trees = false;         // Otherwise documentSymbol is a list.
  bool related_information = false;  // Otherwise notes are part of the message.
};

// ---- Diagnostics and hovers (lsp/hover.cpp) ----
std::string DiagnosticsJson(Document& document, const ClientAbilities& client);  // PublishDiagnosticsParams
std::string HoverJson(Document& document, uint32_t offset, const ClientAbilities& client);

// ---- Names (lsp/features.cpp) ----
std::string DefinitionJson(Document& document, uint32_t offset);
std::string ReferencesJson(Document& document, uint32_t offset, bool with_definition);
std::string HighlightsJson(Document& document, uint32_t offset);
std::string PrepareRenameJson(Document& document, uint32_t offset);
// The WorkspaceEdit, or the reason why the name is not possible. A leading '%' is ignored.
std::expected<std::string, std::string> RenameJson(Document& document, uint32_t offset, std::string_view new_name);
std::string SymbolsJson(Document& document, const ClientAbilities& client);
std::string FoldingRangesJson(Document& document);

// ---- Editing (lsp/features.cpp) ----
// The layout of `hlo fmt`, as at most one edit of the changed lines. "null" for a text with errors or several modules;
// an error if the layout would change the module.
std::expected<std::string, std::string> FormattingJson(Document& document);
// The possible words at `offset`: opcodes, attributes of the opcode, instructions above, computations.
std::string CompletionJson(Document& document, uint32_t offset);

// Used by both files.
void AppendRange(JsonWriter& json, const PositionMap& positions, SourceRange range);
// The names of its own attributes, without the common ones.
std::vector<std::string_view> AttributesOf(Opcode opcode);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_FEATURES_H_
