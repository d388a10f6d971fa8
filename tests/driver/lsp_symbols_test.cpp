// Tests that the language server's index of names agrees with the module, for every text under testdata/ that parses.
#include "driver/lsp/symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "ir/text/async_sugar.h"
#include "parser/parser.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// Maps the offset of an instruction's name to the sorted offsets of the names that it mentions.
using Uses = std::map<uint32_t, std::vector<uint32_t>>;

uint32_t NameBegin(std::string_view text, uint32_t begin) { return begin + static_cast<uint32_t>(text[begin] == '%'); }

// Adds the names of the operands. A nested operand has no name, so the names in it are added. The range of a projection
// `x#1` is at the number, so the name of its operand `x` is added.
void AddOperands(const Instruction& inst, SourceRange within, std::string_view text, std::vector<uint32_t>& uses) {
  for (const Instruction* operand : inst.operands()) {
    const SourceRange range = operand->range();
    const bool nested = within.begin < range.begin && range.end <= within.end;
    const bool projection = text[range.begin] >= '0' && text[range.begin] <= '9';
    if (nested || projection) AddOperands(*operand, within, text, uses);
    else uses.push_back(NameBegin(text, range.begin));
  }
}

Uses UsesIn(const Module& module) {
  const std::string_view text = module.source->text();
  Uses all;
  for (const Computation* computation : module.Computations()) {
    if (computation->range.empty()) continue;  // The parser made this computation for an asynchronous op.
    for (const Instruction* inst : computation->instructions()) {
      const uint32_t begin = NameBegin(text, inst->range().begin);
      const size_t behind =
          text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", begin);
      const size_t equals = text.find_first_not_of(" \t\r\n", behind);
      if (equals == std::string_view::npos || text[equals] != '=') continue;  // A nested operand has no name.
      std::vector<uint32_t>& uses = all[begin];
      AddOperands(*inst, inst->range(), text, uses);
      for (const Instruction* before : inst->control_predecessors())
        uses.push_back(NameBegin(text, before->range().begin));
      const auto add_called = [&](const Instruction& caller) {
        for (const Computation* called : CalledComputations(caller)) {
          const bool written = !called->range.empty() && text[called->range.begin] != '{';
          if (written) uses.push_back(NameBegin(text, called->range.begin));
        }
      };
      add_called(*inst);
      // The op that the parser wrapped calls the computations that the text of OPCODE-start names.
      const Instruction* wrapped = inst->Is(Opcode::kAsyncStart) ? WrappedInstruction(*inst) : nullptr;
      if (wrapped != nullptr && wrapped->computation().range.empty()) add_called(*wrapped);
      std::sort(uses.begin(), uses.end());
    }
  }
  return all;
}

Uses UsesIn(const SymbolIndex& index, std::string_view text) {
  Uses all;
  const auto symbols = index.symbols();
  for (const Symbol& symbol : symbols) {
    if (symbol.kind == Symbol::Kind::kInstruction) all[symbol.name_range.begin];
  }
  for (const Mention& mention : index.mentions()) {
    EXPECT_EQ(text.substr(mention.range.begin, mention.range.end - mention.range.begin), symbols[mention.symbol].name);
    const int inside = index.SymbolAt(mention.range.begin, Symbol::Kind::kInstruction);
    if (mention.is_definition || inside < 0) continue;  // The mention is in a signature.
    all[symbols[inside].name_range.begin].push_back(symbols[mention.symbol].name_range.begin);
  }
  for (auto& [name, uses] : all) std::sort(uses.begin(), uses.end());
  return all;
}

SymbolIndex IndexOf(const SourceText& source) {
  const SourceRange whole = {0, static_cast<uint32_t>(source.text().size())};
  return SymbolIndex(source.text(), {&whole, 1});
}

TEST(LspSymbols, AgreeWithTheModule) {
  int texts = 0, names = 0;
  for (const std::string& path : ModuleFilesBelow("testdata")) {
    if (fs::file_size(path) > 300'000) continue;
    const auto source = ReadSource(path);
    ASSERT_TRUE(source.has_value());
    const auto module = Parse(*source);
    // The parser makes the operands of a lone instruction.
    const bool alone = (*source)->text().find('{') == std::string_view::npos;
    if (!module || alone) continue;
    const Uses expected = UsesIn(**module), actual = UsesIn(IndexOf(**source), (*source)->text());
    for (const auto& [name, uses] : expected) {
      const auto found = actual.find(name);
      const std::string_view line = (*source)->Line((*source)->PlaceOf(name).line);
      ASSERT_NE(found, actual.end()) << path << ": " << line;
      EXPECT_EQ(found->second, uses) << path << ": " << line;
    }
    EXPECT_EQ(actual.size(), expected.size()) << path;
    ++texts;
    names += static_cast<int>(expected.size());
  }
  EXPECT_GT(texts, 400);
  EXPECT_GT(names, 5000);
}

std::string OutlineOf(const std::string& text) {
  const SourceText source("<text>", text);
  const SymbolIndex index = IndexOf(source);
  std::string outline;
  for (const Symbol& symbol : index.symbols())
    outline += Str(symbol.kind == Symbol::Kind::kInstruction ? " " : "\n", symbol.name);
  return outline;
}

// A broken instruction ends at the end of its line or of its computation.
TEST(LspSymbols, BrokenTextsKeepTheirOutline) {
  const std::string callee = "HloModule m\n\nf {\n  p = f32[] parameter(0)\n  ";
  const std::string rest = "\n  c = f32[] copy(p)\n}\n\nENTRY e {\n  q = f32[] parameter(0)\n}\n";
  for (const char* broken :
       {"", "b", "b =", "b = f32[", "b = f32[] add(p", "b = f32[] add(p, p), metadata={op_name=\"x\"",
        "b = f32[] add(p, p)), x=", "b = f32[] constant({{1, 2}, {", "b = f32[] add(p, \"open", "b = $ @ add(p)",
        "b = f32[] call(p), to_apply={"}) {
    const std::string outline = OutlineOf(callee + broken + rest);
    for (const char* name : {"\nm", "\nf p", " c", "\ne q"})
      EXPECT_NE(outline.find(name), std::string::npos) << broken << ":" << outline;
  }
  // The computation's opening brace is never closed.
  EXPECT_EQ(OutlineOf("f {\n  p = f32[] parameter(0)\n\nENTRY e {\n  q = f32[] parameter(0)\n}\n"), "\nf p\ne q");
  EXPECT_EQ(OutlineOf("f {\n  p = f32[] parameter(0)\n\ng {\n  q = f32[] parameter(0)\n}\n"), "\nf p\ng q");
  for (const char* open : {"add(p,", "call(p), to_apply={", "constant({1, ", "fusion(p), control-predecessors={p"}) {
    for (const char* head : {"ENTRY e {", "%e (q: f32[]) -> f32[] {", "e {"}) {
      const std::string text =
          Str("f {\n  p = f32[] parameter(0)\n  b = f32[] ", open, "\n\n", head, "\n  q = f32[] parameter(0)\n}\n");
      std::string outline = OutlineOf(text);
      std::erase(outline, '\n');
      EXPECT_TRUE(outline == "f p be q") << text << outline;
    }
  }
}

// Unterminated strings, unterminated comments and deep nesting need neither much time nor much stack.
TEST(LspSymbols, HostileTextsAreIndexed) {
  std::string open = "e {\n";
  for (int i = 0; i < 1'000'000; ++i) open += "\\\"\n";
  EXPECT_EQ(OutlineOf(open), "\ne");
  std::string comments = "e {\n";
  for (int i = 0; i < 1'000'000; ++i) comments += "/* ";
  EXPECT_EQ(OutlineOf(comments), "\ne");
  std::string deep = "e {\n";
  for (int i = 0; i < 100'000; ++i) deep += "x = f32[] call(), to_apply={\n";
  EXPECT_EQ(OutlineOf(deep).substr(0, 4), "\ne x");
}

}  // namespace
}  // namespace hlo
