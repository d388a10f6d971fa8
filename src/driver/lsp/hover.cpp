#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "driver/inspect/text.h"
#include "driver/lsp/features.h"
#include "ir/analysis/cost.h"
#include "ir/source_parts.h"

namespace hlo {
namespace {

// ---- Diagnostics -------------------------------------------------------------------------------------------------

void AppendDiagnostic(JsonWriter& json, Document& document, const Diagnostic& diagnostic, int severity,
                      const ClientAbilities& client) {
  const PositionMap& positions = document.positions();
  std::string message = diagnostic.message;
  std::vector<const Note*> placed;
  for (const Note& note : diagnostic.notes) {
    const bool has_place = note.range != SourceRange{};
    if (has_place && client.related_information) {
      placed.push_back(&note);
      continue;
    }
    message += Str("\nnote: ", note.message);
    if (has_place) message += Str(" (line ", positions.PositionOf(note.range.begin).line + 1, ")");
  }
  if (!diagnostic.hint.empty()) message += Str("\nhint: ", diagnostic.hint);
  json.Open('{').Key("range");
  AppendRange(json, positions, diagnostic.range);
  json.Key("severity").Value(severity).Key("code").Value(diagnostic.code).Key("source").Value("hlo");
  json.Key("message").Value(message);
  if (!placed.empty()) {
    json.Key("relatedInformation").Open('[');
    for (const Note* note : placed) {
      json.Open('{').Key("location").Open('{').Key("uri").Value(document.uri()).Key("range");
      AppendRange(json, positions, note->range);
      json.Close('}').Key("message").Value(note->message).Close('}');
    }
    json.Close(']');
  }
  json.Close('}');
}

// ---- Hover -------------------------------------------------------------------------------------------------------

class HoverText {
 public:
  explicit HoverText(bool markdown) : markdown_(markdown) {}

  void Code(std::string_view code) { text_ += markdown_ ? Str("```hlo\n", code, "\n```\n") : Str(code, "\n"); }
  void Line(std::string_view line) {
    if (line.empty()) return;
    text_ += markdown_ ? Str("\n", line, "\n") : Str(line, "\n");
  }
  std::string Word(std::string_view word) const { return markdown_ ? Str("`", word, "`") : std::string(word); }
  std::string Words(const std::vector<std::string_view>& words) const {
    std::vector<std::string> all;
    for (const std::string_view word : words) all.push_back(Word(word));
    return Join(all, ", ");
  }
  std::string_view text() const { return Trim(text_); }
  bool markdown() const { return markdown_; }

 private:
  bool markdown_;
  std::string text_;
};

std::string Cut(std::string_view text) {
  size_t longest = 200;
  if (text.size() <= longest) return std::string(text);
  while (IsContinuation(text[longest])) --longest;
  return Str(text.substr(0, longest), "...");
}

std::string SizeText(const Shape& shape) {
  const std::string bytes = HumanBytes(static_cast<double>(shape.ByteSize()));
  if (shape.IsTuple())
    return Str(Counted(static_cast<int64_t>(shape.elements().size()), "element"), " of a tuple, ", bytes);
  if (!shape.IsArray()) return "";
  if (shape.IsScalar()) return Str("scalar, ", bytes);
  return Str(Counted(shape.NumElements(), "element"), ", ", bytes);
}

std::string CostText(const Cost& cost) {
  std::vector<std::string> parts;
  if (cost.flops > 0) parts.push_back(Str(HumanCount(cost.flops), " FLOP"));
  if (cost.transcendentals > 0)
    parts.push_back(Str(HumanCount(cost.transcendentals), " transcendental function values"));
  if (cost.bytes_read > 0) parts.push_back(Str("reads ", HumanBytes(cost.bytes_read)));
  if (cost.bytes_written > 0) parts.push_back(Str("writes ", HumanBytes(cost.bytes_written)));
  if (parts.empty()) return "computes nothing and moves nothing";
  if (cost.bytes() > 0 && cost.flops > 0) parts.push_back(Format("%.3g FLOP a byte", cost.flops / cost.bytes()));
  return Join(parts, ", ");
}

std::string OpcodeText(Opcode opcode, const HoverText& hover) {
  const OpRow& row = RowOf(opcode);
  std::vector<std::string> parts;
  parts.push_back(row.arity == kVariadic ? "any number of operands" : Counted(row.arity, "operand"));
  if ((row.traits & kElementwise) != 0) parts.emplace_back("elementwise");
  if ((row.traits & kCommutative) != 0) parts.emplace_back("commutative");
  if ((row.traits & kCollective) != 0) parts.emplace_back("collective");
  if ((row.traits & kSideEffect) != 0) parts.emplace_back("kept even if nothing uses it");
  parts.emplace_back((row.traits & kInferable) != 0 ? "its shape may be left out" : "its shape must be written");
  std::string text = Str(hover.Word(row.text), ": ", row.prose, " (", Join(parts, ", "), ")");
  if (const auto attributes = AttributesOf(opcode); !attributes.empty())
    text += Str("; attributes ", hover.Words(attributes));
  return text;
}

void AppendCost(HoverText& hover, const DocumentModule& document, const Computation& computation,
                const Instruction* inst) {
  if (!document.valid) return hover.Line("no cost: the module has errors");
  const Module& module = *document.module;
  const std::vector<Computation*> reached = module.PostOrder();
  if (std::find(reached.begin(), reached.end(), &computation) == reached.end())
    return hover.Line("no cost: the entry does not reach this computation");
  const CostAnalysis analysis(module);
  hover.Line(CostText(inst != nullptr ? analysis.CostOf(*inst) : analysis.CostOf(computation)));
  for (const CostGap& gap : analysis.gaps()) {
    if (gap.inst == inst) hover.Line(Str("not counted: ", gap.what));
  }
}

std::string_view NameOf(const Instruction& inst) {
  const SourceRange range = NameRange(inst);
  if (range == inst.range()) return "";  // Nested instructions have no name.
  const std::string_view name = inst.module().source->text().substr(range.begin, range.end - range.begin);
  return name.substr(static_cast<size_t>(name.starts_with('%')));
}

void AppendInstruction(HoverText& hover, const DocumentModule& document, const Instruction& inst) {
  const std::string_view name = NameOf(inst);
  hover.Code(Cut(Str(name, name.empty() ? "" : " = ", inst.shape().ToStringWithLayout(), " ", inst.opcode())));
  hover.Line(SizeText(inst.shape()));
  AppendCost(hover, document, inst.computation(), &inst);
  constexpr int64_t kMostOperands = 8;
  for (int64_t i = 0; i < std::min(inst.operand_count(), kMostOperands); ++i) {
    const Instruction& operand = inst.operand(i);
    const std::string_view operand_name = NameOf(operand);
    const std::string text = Str(operand_name, operand_name.empty() ? "" : " ", operand.shape().ToStringWithLayout());
    hover.Line(Str("operand ", i, ": ", hover.Word(Cut(text))));
  }
  if (inst.operand_count() > kMostOperands)
    hover.Line(Str("and ", Counted(inst.operand_count() - kMostOperands, "operand"), " more"));
  const auto called = CalledComputations(inst);
  std::vector<std::string_view> names;
  for (const Computation* computation : called) names.push_back(computation->name());
  if (!names.empty()) hover.Line(Str("calls ", hover.Words(names)));
  const Metadata& metadata = inst.metadata();
  if (!metadata.op_name.empty()) hover.Line(Str("op_name ", hover.Word(Cut(Str(metadata.op_name)))));
  if (!metadata.source_file.empty()) hover.Line(Str("from ", metadata.source_file, ":", metadata.source_line));
}

void AppendComputation(HoverText& hover, const DocumentModule& document, const Computation& computation) {
  std::vector<std::string> parameters;
  for (const Instruction* parameter : computation.parameters())
    parameters.push_back(Str(NameOf(*parameter), ": ", parameter->shape()));
  const std::string head = Str(computation.IsEntry() ? "ENTRY " : "", computation.name(), " (", Join(parameters, ", "));
  hover.Code(Cut(Str(head, ") -> ", computation.root().shape())));
  hover.Line(Counted(computation.InstructionCount(), "instruction"));
  AppendCost(hover, document, computation, nullptr);
}

void AppendDefinition(HoverText& hover, std::string_view text, const Symbol& symbol) {
  const std::string_view definition = text.substr(symbol.range.begin, symbol.range.end - symbol.range.begin);
  hover.Code(Cut(definition.substr(0, definition.find('\n'))));
  hover.Line("no shape and no cost: the text does not parse");
}

// ---- From the text to the module ---------------------------------------------------------------------------------

const DocumentModule* ModuleAt(Document& document, uint32_t offset) {
  const DocumentModule* found = nullptr;
  for (const DocumentModule& one : document.modules()) {
    if (one.piece.begin <= offset) found = &one;
  }
  return found != nullptr && found->module != nullptr ? found : nullptr;
}

// Compares positions, because computations can share names in the text.
const Instruction* InstructionOf(const Module& module, const Symbol& symbol) {
  for (const Computation* computation : module.Computations()) {
    // Skips computations without text, which the parser made for asynchronous instructions.
    if (computation->range.empty()) continue;
    for (const Instruction* inst : computation->instructions()) {
      const SourceRange range = inst->range();
      if (range.begin <= symbol.name_range.begin && range.begin + 1 >= symbol.name_range.begin) return inst;
    }
  }
  return nullptr;
}

const Computation* ComputationOf(const Module& module, const Symbol& symbol) {
  for (const Computation* computation : module.Computations()) {
    const SourceRange range = computation->range;
    if (range.begin <= symbol.name_range.begin && symbol.name_range.end <= range.end && !range.empty())
      return computation;
  }
  return nullptr;
}

const Instruction* AtOpcode(const Module& module, const SymbolIndex& index, uint32_t offset, SourceRange& opcode) {
  const int at = index.SymbolAt(offset, Symbol::Kind::kInstruction);
  if (at >= 0) {
    const Symbol& symbol = index.symbols()[at];
    opcode = symbol.opcode;
    if (opcode.begin <= offset && offset < opcode.end) return InstructionOf(module, symbol);
  }
  const Instruction* innermost = nullptr;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      const SourceRange range = inst->range();
      const bool inside = range.begin <= offset && offset < range.end;
      if (inside && (innermost == nullptr || range.begin >= innermost->range().begin)) innermost = inst;
    }
  }
  if (innermost == nullptr) return nullptr;
  opcode = OpcodeRange(*innermost);
  return opcode.begin <= offset && offset < opcode.end ? innermost : nullptr;
}

std::string Hover(Document& document, const HoverText& hover, SourceRange range) {
  JsonWriter json;
  json.Open('{').Key("contents").Open('{').Key("kind").Value(hover.markdown() ? "markdown" : "plaintext");
  json.Key("value").Value(hover.text()).Close('}').Key("range");
  AppendRange(json, document.positions(), range);
  return json.Close('}').text();
}

}  // namespace

std::string DiagnosticsJson(Document& document, const ClientAbilities& client) {
  constexpr int kError = 1, kWarning = 2;  // DiagnosticSeverity
  JsonWriter json;
  json.Open('{').Key("uri").Value(document.uri());
  if (document.version()) json.Key("version").Value(*document.version());
  json.Key("diagnostics").Open('[');
  for (const Diagnostic& error : document.errors()) AppendDiagnostic(json, document, error, kError, client);
  for (const Diagnostic& warning : document.warnings()) AppendDiagnostic(json, document, warning, kWarning, client);
  return json.Close(']').Close('}').text();
}

std::string HoverJson(Document& document, uint32_t offset, const ClientAbilities& client) {
  HoverText hover(client.markdown);
  const DocumentModule* module = ModuleAt(document, offset);
  const SymbolIndex& index = document.symbols();
  if (const Mention* mention = index.MentionAt(offset)) {
    const Symbol& symbol = index.symbols()[mention->symbol];
    const bool is_instruction = symbol.kind == Symbol::Kind::kInstruction;
    const Instruction* inst = module != nullptr && is_instruction ? InstructionOf(*module->module, symbol) : nullptr;
    const Computation* computation =
        module != nullptr && !is_instruction ? ComputationOf(*module->module, symbol) : nullptr;
    if (inst != nullptr) AppendInstruction(hover, *module, *inst);
    else if (computation != nullptr) AppendComputation(hover, *module, *computation);
    else AppendDefinition(hover, document.text(), symbol);
    return Hover(document, hover, mention->range);
  }
  SourceRange range;
  std::optional<Opcode> opcode;
  if (const Instruction* inst = module != nullptr ? AtOpcode(*module->module, index, offset, range) : nullptr) {
    AppendInstruction(hover, *module, *inst);
    opcode = inst->opcode();
  } else if (const int at = index.SymbolAt(offset, Symbol::Kind::kInstruction); module == nullptr && at >= 0) {
    range = index.symbols()[at].opcode;
    if (range.begin <= offset && offset < range.end)
      opcode = OpcodeFromText(document.text().substr(range.begin, range.end - range.begin));
  }
  if (!opcode) return "null";
  hover.Line(OpcodeText(*opcode, hover));
  return Hover(document, hover, range);
}

}  // namespace hlo
