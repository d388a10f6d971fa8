// The names of a text with their definitions and uses, found from its tokens alone.
//
// The module is not used, because a text with errors has none, and a text in an editor has errors most of the time. A
// module also does not contain the positions of names. For texts that parse, the index agrees with the module
// (tests/lsp_symbols_test.cpp).
//
// Errors are contained. An instruction ends at the next `NAME =` at the start of a line, and a computation at the next
// ENTRY or computation.
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
  bool is_root = false;  // For a computation: ENTRY. For an instruction: ROOT.
  int parent = -1;       // The computation of an instruction, the module of a computation; -1 for none in the text.
  std::string_view name;
  SourceRange name_range;  // Without '%'; empty for an anonymous computation.
  SourceRange range;       // The whole symbol, from the keyword or '%' on.
  SourceRange opcode;      // For an instruction; empty if missing.

  // For an instruction: between '=' and the opcode.
  SourceRange shape;
};

// An occurrence of a name.
struct Mention {
  SourceRange range;  // Without '%' and ':'.
  int symbol;
  bool is_definition;
};

class SymbolIndex {
 public:
  // Each piece is a separate module. The text must outlive the index, and the byte after it must be readable.
  SymbolIndex(std::string_view text, std::span<const SourceRange> pieces);

  // In the order of the text; parents precede children.
  std::span<const Symbol> symbols() const { return symbols_; }
  // In the order of the text, without undefined names.
  std::span<const Mention> mentions() const { return mentions_; }
  // The mention at `offset`, or directly before it if the cursor follows a name; null if there is none.
  const Mention* MentionAt(uint32_t offset) const;
  // The innermost symbol of this kind whose range contains `offset`, or -1.
  int SymbolAt(uint32_t offset, Symbol::Kind kind) const;
  // The definition of `name` in the scope of `symbol`, or -1.
  int Sibling(int symbol, std::string_view name) const;
  // Whether `name` is used but not defined in the scope of `symbol`.
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

// Whether an attribute of this name, for some opcode, names computations.
bool NamesComputations(std::string_view attribute);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_SYMBOLS_H_
