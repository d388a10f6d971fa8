// What the language server knows of one document: each answer as JSON in the form of the protocol (LSP 3.17), "null"
// or "[]" where there is nothing to say. Names come from the index of the tokens, so they work in broken texts too;
// shapes and costs from the module, when there is one.
#ifndef HLO_DRIVER_LSP_FEATURES_H_
#define HLO_DRIVER_LSP_FEATURES_H_

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "driver/lsp/document.h"

namespace hlo {

// What the client can show; LSP's defaults.
struct ClientAbilities {
  bool markdown = false;             // In a hover.
  bool symbol_trees = false;         // Else documentSymbol is a list.
  bool related_information = false;  // Else notes become part of the message.
};

// ---- What is wrong and what things are (lsp/hover.cpp) ----
std::string DiagnosticsJson(Document& document, const ClientAbilities& client);  // PublishDiagnosticsParams
std::string HoverJson(Document& document, uint32_t offset, const ClientAbilities& client);

// ---- Names (lsp/features.cpp) ----
std::string DefinitionJson(Document& document, uint32_t offset);
std::string ReferencesJson(Document& document, uint32_t offset, bool with_definition);
std::string HighlightsJson(Document& document, uint32_t offset);
std::string PrepareRenameJson(Document& document, uint32_t offset);
// The WorkspaceEdit; else why the name cannot be taken. A '%' before it is dropped.
std::expected<std::string, std::string> RenameJson(Document& document, uint32_t offset, std::string_view new_name);
std::string SymbolsJson(Document& document, const ClientAbilities& client);
std::string FoldingRangesJson(Document& document);

// ---- Writing (lsp/features.cpp) ----
// As `hlo fmt` lays it out: at most one edit, of the lines that change. "null" for a text that does not parse or holds
// several modules; an error of ours when the layout would change the module.
std::expected<std::string, std::string> FormattingJson(Document& document);
// Opcodes, attributes of the opcode, instructions above, computations: what may stand at `offset`.
std::string CompletionJson(Document& document, uint32_t offset);

// Shared by both files.
void AppendRange(JsonWriter& json, const PositionMap& positions, SourceRange range);
// Names of its own attributes, without those that every opcode takes.
std::vector<std::string_view> AttributesOf(Opcode opcode);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_FEATURES_H_
