// The names of a text with definitions and uses, from tokens alone.
//
// A module has no positions of names, and a text with errors has no module. For valid texts the index agrees with the
// module.
//
// Errors have a local effect: an instruction ends at the next `NAME =` at the start of a line, and a computation at the
// next ENTRY or computation.
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
  bool is_root = false;  // The text has the word ENTRY or ROOT.
  int parent = -1;       // The enclosing computation or module, or -1.
  std::string_view name;
  SourceRange name_range;  // Without '%'. Empty for an anonymous computation.
  SourceRange range;       // From the keyword or '%' on.
  SourceRange opcode;      // Empty if the opcode is missing.

  // The text between '=' and the opcode.
  SourceRange shape;
};

struct Mention {
  SourceRange range;  // Without '%' and ':'.
  int symbol;
  bool is_definition;
};

class SymbolIndex {
 public:
  // Each piece is a module of its own. The text must outlive the index, and the byte after it must be readable.
  SymbolIndex(std::string_view text, std::span<const SourceRange> pieces);

  // In text order, parents first.
  std::span<const Symbol> symbols() const { return symbols_; }
  // In text order, without undefined names.
  std::span<const Mention> mentions() const { return mentions_; }
  const Mention* MentionAt(uint32_t offset) const;
  int SymbolAt(uint32_t offset, Symbol::Kind kind) const;
  // The symbol with this name and the kind and parent of `symbol`, or -1.
  int Sibling(int symbol, std::string_view name) const;
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

// Whether the attribute names computations for some opcode.
bool NamesComputations(std::string_view attribute);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_SYMBOLS_H_
