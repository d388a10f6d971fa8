// Rules, and the loop that applies them until none has anything to say.
#ifndef HLO_PASSES_REWRITE_H_
#define HLO_PASSES_REWRITE_H_

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/opcode.h"
#include "passes/pass.h"

namespace hlo {

class Computation;
class Instruction;

// The instruction that has the value of `inst` (an existing one or one that the function added), or null when the law
// says nothing about `inst`; then nothing has changed. A rule never makes worse code.
using RuleFunction = Result<Instruction*> (*)(Instruction& inst, const PassContext& context);

// What a rule replaces: one of a few opcodes, or every op with a trait.
class Roots {
 public:
  constexpr Roots(Opcode opcode) : Roots({opcode}) {}       // NOLINT(google-explicit-constructor)
  constexpr Roots(OpTrait trait) : trait_(trait) {}         // NOLINT(google-explicit-constructor)
  constexpr Roots(std::initializer_list<Opcode> opcodes) {  // NOLINT(google-explicit-constructor)
    for (const Opcode opcode : opcodes) opcodes_[count_++] = opcode;
  }
  bool Contain(Opcode opcode) const {
    return (RowOf(opcode).traits & trait_) != 0 ||
           std::find(opcodes_.begin(), opcodes_.begin() + count_, opcode) != opcodes_.begin() + count_;
  }

 private:
  std::array<Opcode, 3> opcodes_ = {};
  int count_ = 0;
  uint32_t trait_ = 0;
};

// A law as a row. Ids: a letter for the pass (A: algsimp), the opcode, a number; a letter behind it where the pass
// catalogue has several laws under one number.
struct Rule {
  std::string_view id;  // "A.add.1", "A.resh.1b".
  Roots roots;
  RuleFunction function;
  Preserves preserves;
  std::string_view law;           // One line.
  std::string_view options = {};  // What its pass is to be given for it, as a pipeline has it: "{rounding=true}".
};

// The rules of each pass that is made of them, in the order in which they are tried. Ids are unique.
struct RuleSet {
  std::string_view pass;
  std::span<const Rule> rules;
};
std::span<const RuleSet> AllRules();

// An id, or what several begin with: "A.add.1", "A.resh.1" (a and b), "A.resh", "A". Empty where there is none.
std::vector<const Rule*> FindRules(std::string_view selector);
// A usage error that names the nearest rules. `flag` is what it was given to.
Error UnknownRule(std::string_view flag, std::string_view selector);

// What rules may do and have done, over all passes of a run.
struct RuleBook {
  struct Entry {
    bool disabled = false;
    int64_t fuel = INT64_MAX;  // Rewrites that it may still make.
    int64_t rewrites = 0;
  };
  std::map<std::string_view, Entry> entries;  // By id.
  std::vector<std::string> cycles;            // One sentence each: rules that undo each other.
};

// Operands before users; what a rule makes is looked at again, and so are the users of what was replaced. What has died
// goes at once. Fuel: one unit of the pass and one of the rule for each replacement. `where` names the file whose log
// level 2 lists the replacements (--vmodule).
Result<bool> RewriteEach(std::span<Computation* const> computations, const PassContext& context,
                         std::span<const Rule> rules,
                         const std::source_location& where = std::source_location::current());
// Operands that their fused computations do not read any more, go (dce.cpp): a valid fusion has none.
bool RemoveUnusedOperands(Module& module);
// All computations, fused ones too.
Result<bool> RewriteEach(Module& module, const PassContext& context, std::span<const Rule> rules,
                         const std::source_location& where = std::source_location::current());

}  // namespace hlo

#endif  // HLO_PASSES_REWRITE_H_
