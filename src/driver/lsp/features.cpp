#include "driver/lsp/features.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "driver/format.h"
#include "parser/attribute_rows.h"
#include "parser/lexer.h"

namespace hlo {
namespace {

std::string_view TextOf(const Document& document, SourceRange range) {
  return document.text().substr(range.begin, range.end - range.begin);
}

void AppendLocation(JsonWriter& json, Document& document, SourceRange range) {
  json.Open('{').Key("uri").Value(document.uri()).Key("range");
  AppendRange(json, document.positions(), range);
  json.Close('}');
}

template <class F>
void ForEachMention(Document& document, uint32_t offset, F&& f) {
  const SymbolIndex& index = document.symbols();
  const Mention* at = index.MentionAt(offset);
  if (at == nullptr) return;
  for (const Mention& mention : index.mentions()) {
    if (mention.symbol == at->symbol) f(mention);
  }
}

const char* KindText(const Symbol& symbol) {
  return symbol.kind == Symbol::Kind::kComputation ? "computation" : "instruction";
}

// ---- Outline -----------------------------------------------------------------------------------------------------

enum SymbolKind : int {
  kModuleKind = 2,
  kFunctionKind = 12,
  kVariableKind = 13,
  kConstantKind = 14,
  kParameterKind = 26
};

SymbolKind SymbolKindOf(const Document& document, const Symbol& symbol) {
  if (symbol.kind == Symbol::Kind::kModule) return kModuleKind;
  if (symbol.kind == Symbol::Kind::kComputation) return kFunctionKind;
  const std::string_view opcode = TextOf(document, symbol.opcode);
  if (opcode == ToString(Opcode::kParameter)) return kParameterKind;  // The only kind for parameters is TypeParameter.
  return opcode == ToString(Opcode::kConstant) ? kConstantKind : kVariableKind;
}

std::string DetailOf(const Document& document, const Symbol& symbol) {
  if (symbol.kind == Symbol::Kind::kModule) return "HloModule";
  if (symbol.kind == Symbol::Kind::kComputation) return symbol.is_root ? "ENTRY" : "";
  constexpr size_t kLongest = 60;
  const std::string_view shape = TextOf(document, symbol.shape);
  const bool long_shape = shape.size() > kLongest || shape.find('\n') != std::string_view::npos;
  return Str(symbol.is_root ? "ROOT " : "", long_shape ? "(...)" : shape, shape.empty() ? "" : " ",
             TextOf(document, symbol.opcode));
}

std::string NameOf(const Symbol& symbol) { return symbol.name.empty() ? "{...}" : std::string(symbol.name); }

// Moves `at` past the appended symbols. Recursion is at most as deep as symbols nest.
void AppendTree(JsonWriter& json, Document& document, int parent, size_t& at) {
  const auto symbols = document.symbols().symbols();
  json.Open('[');
  while (at < symbols.size() && symbols[at].parent == parent) {
    const Symbol& symbol = symbols[at];
    const int self = static_cast<int>(at++);
    json.Open('{').Key("name").Value(NameOf(symbol));
    if (const std::string detail = DetailOf(document, symbol); !detail.empty()) json.Key("detail").Value(detail);
    json.Key("kind").Value(static_cast<int>(SymbolKindOf(document, symbol))).Key("range");
    AppendRange(json, document.positions(), symbol.range);
    json.Key("selectionRange");
    AppendRange(json, document.positions(), symbol.name.empty() ? symbol.range : symbol.name_range);
    if (at < symbols.size() && symbols[at].parent == self) AppendTree(json.Key("children"), document, self, at);
    json.Close('}');
  }
  json.Close(']');
}

// ---- Completion --------------------------------------------------------------------------------------------------

enum CompletionKind : int { kFunctionItem = 3, kVariableItem = 6, kPropertyItem = 10, kKeywordItem = 14 };

struct Context {
  int symbol = -1;
  std::string_view opcode;
  std::string_view attribute;
  bool operands = false;
};

Context ContextAt(Document& document, uint32_t offset) {
  const SymbolIndex& index = document.symbols();
  Context context;
  context.symbol = index.SymbolAt(offset, Symbol::Kind::kInstruction);
  for (size_t i = 0; i < index.symbols().size() && context.symbol < 0; ++i) {
    const Symbol& symbol = index.symbols()[i];
    if (symbol.kind != Symbol::Kind::kInstruction || symbol.range.end > offset) continue;
    if (Trim(document.text().substr(symbol.range.end, offset - symbol.range.end)).empty())
      context.symbol = static_cast<int>(i);
  }
  if (context.symbol < 0) return context;
  Lexer lexer(document.text(), index.symbols()[context.symbol].range.begin, offset);
  Token last;
  int depth = 0;
  bool right = false;
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd && token.kind != TokenKind::kError;
       last = token, token = lexer.Next()) {
    right |= token.Is('=');
    if (token.Is('(') && right && depth == 0 && last.kind == TokenKind::kWord) {
      context.opcode = last.text;
      context.operands = true;
    }
    if (token.Is('(') || token.Is('{') || token.Is('[')) ++depth;
    if (token.Is(')') || token.Is('}') || token.Is(']')) --depth;
    if (depth == 0 && token.Is(')')) context.operands = false;
    if (depth == 0 && token.kind == TokenKind::kAttribute) context.attribute = token.text;
    if (depth == 0 && token.Is(',')) context.attribute = {};
  }
  if (!right) context.symbol = -1;
  return context;
}

void AppendItem(JsonWriter& json, std::string_view label, CompletionKind kind, std::string_view detail = "") {
  json.Open('{').Key("label").Value(label).Key("kind").Value(static_cast<int>(kind));
  if (!detail.empty()) json.Key("detail").Value(detail);
  json.Close('}');
}

void AppendOpcodes(JsonWriter& json) {
  for (const OpRow& row : AllOps()) AppendItem(json, row.text, kFunctionItem);
}

void AppendInstructionsAbove(JsonWriter& json, Document& document, int symbol) {
  const auto symbols = document.symbols().symbols();
  for (int i = 0; i < symbol; ++i) {
    if (symbols[i].kind != Symbol::Kind::kInstruction || symbols[i].parent != symbols[symbol].parent) continue;
    AppendItem(json, symbols[i].name, kVariableItem, DetailOf(document, symbols[i]));
  }
}

void AppendComputationsAbove(JsonWriter& json, Document& document, int symbol) {
  const auto symbols = document.symbols().symbols();
  for (int i = 0; i < symbols[symbol].parent; ++i) {
    if (symbols[i].kind == Symbol::Kind::kComputation && !symbols[i].name.empty())
      AppendItem(json, symbols[i].name, kFunctionItem);
  }
}

void AppendAttributes(JsonWriter& json, Opcode opcode) {
  for (const std::string_view name : AttributesOf(opcode)) AppendItem(json, Str(name, "="), kPropertyItem);
  ForEachField<CommonAttrs>([&](const auto& field) {
    if (TakesAttribute(opcode, field.name)) AppendItem(json, Str(field.name, "="), kPropertyItem);
  });
  AppendItem(json, "control-predecessors=", kPropertyItem);
}

}  // namespace

// ---- Shared ------------------------------------------------------------------------------------------------------

void AppendRange(JsonWriter& json, const PositionMap& positions, SourceRange range) {
  const auto append = [&](const char* key, size_t offset) {
    const Position position = positions.PositionOf(offset);
    json.Key(key).Open('{').Key("line").Value(position.line).Key("character").Value(position.character).Close('}');
  };
  json.Open('{');
  append("start", range.begin);
  append("end", range.end);
  json.Close('}');
}

std::vector<std::string_view> AttributesOf(Opcode opcode) {
  std::vector<std::string_view> names;
  Visit(RowOf(opcode).make_attrs(), [&]<class A>(const A&) {
    ForEachField<A>([&](const auto& field) {
      if (TakesAttribute(opcode, field.name)) names.emplace_back(field.name);
    });
  });
  return names;
}

// ---- Names -------------------------------------------------------------------------------------------------------

std::string DefinitionJson(Document& document, uint32_t offset) {
  const SymbolIndex& index = document.symbols();
  const Mention* at = index.MentionAt(offset);
  if (at == nullptr) return "null";
  JsonWriter json;
  AppendLocation(json, document, index.symbols()[at->symbol].name_range);
  return json.text();
}

std::string ReferencesJson(Document& document, uint32_t offset, bool with_definition) {
  JsonWriter json;
  json.Open('[');
  ForEachMention(document, offset, [&](const Mention& mention) {
    if (with_definition || !mention.is_definition) AppendLocation(json, document, mention.range);
  });
  return json.Close(']').text();
}

std::string HighlightsJson(Document& document, uint32_t offset) {
  constexpr int kRead = 2, kWrite = 3;  // DocumentHighlightKind
  JsonWriter json;
  json.Open('[');
  ForEachMention(document, offset, [&](const Mention& mention) {
    json.Open('{').Key("range");
    AppendRange(json, document.positions(), mention.range);
    json.Key("kind").Value(mention.is_definition ? kWrite : kRead).Close('}');
  });
  return json.Close(']').text();
}

std::string PrepareRenameJson(Document& document, uint32_t offset) {
  const Mention* at = document.symbols().MentionAt(offset);
  if (at == nullptr) return "null";
  JsonWriter json;
  json.Open('{').Key("range");
  AppendRange(json, document.positions(), at->range);
  json.Key("placeholder").Value(TextOf(document, at->range)).Close('}');
  return json.text();
}

std::expected<std::string, std::string> RenameJson(Document& document, uint32_t offset, std::string_view new_name) {
  const SymbolIndex& index = document.symbols();
  const Mention* at = index.MentionAt(offset);
  if (at == nullptr) return std::unexpected("this place has no name that the text defines");
  const Symbol& symbol = index.symbols()[at->symbol];
  if (new_name.starts_with('%')) new_name.remove_prefix(1);
  const std::string shown = Escaped(new_name);
  if (!IsPlainName(new_name)) {
    const bool reserved = IsReserved(new_name);
    return std::unexpected(reserved ? Str("'", shown, "' is a reserved word")
                                    : Str("'", shown,
                                          "' is not a valid name: a name has letters, digits, '_', '.' and '-', and "
                                          "does not begin with a digit, '.' or '-'"));
  }
  if (symbol.kind == Symbol::Kind::kInstruction && HasForbiddenPrefix(new_name))
    return std::unexpected(Str("'", shown, "': names of instructions that begin with '__' are reserved for XLA"));
  const int sibling = index.Sibling(at->symbol, new_name);
  if (sibling >= 0 && sibling != at->symbol)
    return std::unexpected(Str("there is a", symbol.kind == Symbol::Kind::kInstruction ? "n " : " ", KindText(symbol),
                               " '", shown, "' already"));
  if (index.IsUndefined(at->symbol, new_name))
    return std::unexpected(Str("'", shown, "' is used here already, without a definition"));
  JsonWriter json;
  json.Open('{').Key("changes").Open('{').Key(document.uri()).Open('[');
  ForEachMention(document, offset, [&](const Mention& mention) {
    json.Open('{').Key("range");
    AppendRange(json, document.positions(), mention.range);
    json.Key("newText").Value(new_name).Close('}');
  });
  return json.Close(']').Close('}').Close('}').text();
}

std::string SymbolsJson(Document& document, const ClientAbilities& client) {
  JsonWriter json;
  if (client.symbol_trees) {
    size_t at = 0;
    AppendTree(json, document, -1, at);
    return json.text();
  }
  const auto symbols = document.symbols().symbols();
  json.Open('[');
  for (const Symbol& symbol : symbols) {
    json.Open('{').Key("name").Value(NameOf(symbol));
    json.Key("kind").Value(static_cast<int>(SymbolKindOf(document, symbol))).Key("location");
    AppendLocation(json, document, symbol.range);
    if (symbol.parent >= 0) json.Key("containerName").Value(NameOf(symbols[symbol.parent]));
    json.Close('}');
  }
  return json.Close(']').text();
}

std::string FoldingRangesJson(Document& document) {
  JsonWriter json;
  json.Open('[');
  for (const Symbol& symbol : document.symbols().symbols()) {
    if (symbol.kind != Symbol::Kind::kComputation) continue;
    const int64_t first = document.positions().PositionOf(symbol.range.begin).line;
    const int64_t last = document.positions().PositionOf(symbol.range.end).line;
    // The closing brace stays visible.
    if (last > first + 1) json.Open('{').Key("startLine").Value(first).Key("endLine").Value(last - 1).Close('}');
  }
  return json.Close(']').text();
}

// ---- Writing -----------------------------------------------------------------------------------------------------

std::expected<std::string, std::string> FormattingJson(Document& document) {
  const auto modules = document.modules();
  if (modules.size() != 1 || modules[0].module == nullptr) return "null";
  const Result<std::string> formatted = FormatText(*modules[0].module);
  if (!formatted) return std::unexpected(formatted.error().message());
  const std::string_view before = document.text(), after = *formatted;
  if (before == after) return "[]";
  size_t begin = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin();
  begin = begin == 0 ? 0 : before.rfind('\n', begin - 1) + 1;
  const auto differ = std::mismatch(before.rbegin(), before.rend() - static_cast<ptrdiff_t>(begin), after.rbegin(),
                                    after.rend() - static_cast<ptrdiff_t>(begin));
  size_t same = differ.first - before.rbegin();
  const size_t line = before.find('\n', before.size() - same);
  same = line == std::string_view::npos ? 0 : before.size() - line - 1;
  JsonWriter json;
  json.Open('[').Open('{').Key("range");
  AppendRange(json, document.positions(), {static_cast<uint32_t>(begin), static_cast<uint32_t>(before.size() - same)});
  json.Key("newText").Value(after.substr(begin, after.size() - same - begin));
  return json.Close('}').Close(']').text();
}

std::string CompletionJson(Document& document, uint32_t offset) {
  JsonWriter json;
  json.Open('[');
  const Context context = ContextAt(document, offset);
  if (context.symbol < 0) {
    for (const char* keyword : {"HloModule", "ENTRY", "ROOT"}) AppendItem(json, keyword, kKeywordItem);
  } else if (context.opcode.empty()) {
    AppendOpcodes(json);
  } else if (context.operands || context.attribute == "control-predecessors") {
    AppendInstructionsAbove(json, document, context.symbol);
  } else if (NamesComputations(context.attribute)) {
    AppendComputationsAbove(json, document, context.symbol);
  } else if (const auto opcode = OpcodeFromText(context.opcode); opcode && context.attribute.empty()) {
    AppendAttributes(json, *opcode);
  }
  return json.Close(']').text();
}

}  // namespace hlo
