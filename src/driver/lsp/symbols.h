// The names of a text: where each is defined and where it is used, found in the text's tokens alone.
//
// Why not in the module: the parser gives none for a text with errors, and an editor's text has errors most of the
// time, while a person who mends it jumps and renames. A module does not say either where its names stand. On what
// parses, the index agrees with the module, name by name (tests/lsp_symbols_test.cpp).
//
// What is broken reaches as far as it must: an instruction ends where `NAME =` stands at the beginning of a line, a
// computation where ENTRY or another one begins.
#ifndef HLO_DRIVER_LSP_SYMBOLS_H_
#define HLO_DRIVER_LSP_SYMBOLS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

struct Symbol {
  enum class Kind : uint8_t { kModule, kComputation, kInstruction };

  Kind kind;
  bool is_root = false;  // Of a computation: ENTRY. Of an instruction: ROOT.
  int parent = -1;       // Of an instruction its computation, of that its module; -1: none in the text.
  std::string_view name;
  SourceRange name_range;  // Without '%'; empty for an anonymous computation, which has no name.
  SourceRange range;       // All of it, from the keyword or '%' on.
  SourceRange opcode;      // Of an instruction; empty when there is none.

  // Of an instruction: between '=' and the opcode.
  SourceRange shape;
};

// A name where it stands.
struct Mention {
  SourceRange range;  // Without '%' and ':'.
  int symbol;
  bool is_definition;
};

class SymbolIndex {
 public:
  // Each piece is a module of its own. The text must outlive the index, and a byte behind it be readable.
  SymbolIndex(std::string_view text, std::span<const SourceRange> pieces);

  // In order of the text; parents before children.
  std::span<const Symbol> symbols() const { return symbols_; }
  // In order of the text. Names without definition are not among them.
  std::span<const Mention> mentions() const { return mentions_; }
  // That of the name at `offset`, or right before it, where a cursor stands behind a name; null when there is none.
  const Mention* MentionAt(uint32_t offset) const;
  // The innermost symbol of that kind whose range holds `offset`; -1 when there is none.
  int SymbolAt(uint32_t offset, Symbol::Kind kind) const;
  // The definition of `name` in the same scope as `symbol`; -1 when there is none.
  int Sibling(int symbol, std::string_view name) const;
  // Whether `name` is used in the scope of `symbol` and defined nowhere in it.
  bool IsUndefined(int symbol, std::string_view name) const;

 private:
  friend class SymbolScanner;
  struct OpenName {
    std::string_view name;
    Symbol::Kind kind;
    int parent;
  };
  std::vector<OpenName> open_names_;
  std::vector<Symbol> symbols_;
  std::vector<Mention> mentions_;
};

// Whether the value of an attribute of that name, of some opcode, is computations.
bool NamesComputations(std::string_view attribute);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_SYMBOLS_H_
