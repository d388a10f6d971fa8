// Rules, and the loop that applies them until none matches.
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

// An old or new instruction with the value of `inst`. Null if the rule does not apply, and then nothing has changed. A
// rule never makes the code worse.
using RuleFunction = Result<Instruction*> (*)(Instruction& inst, const PassContext& context);

// The opcodes to which a rule applies: up to three, or all opcodes with a trait.
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

struct Rule {
  std::string_view id;  // Pass (A: algsimp), opcode and number in the pass catalogue: "A.add.1", "A.resh.1b".
  Roots roots;
  RuleFunction function;
  Preserves preserves;
  std::string_view law;           // One line.
  std::string_view options = {};  // Options that enable the rule: "{rounding=true}".
};

// Rules in the order in which they are tried. Ids are unique.
struct RuleSet {
  std::string_view pass;
  std::span<const Rule> rules;
};
std::span<const RuleSet> AllRules();

// Accepts ids and prefixes: "A.resh.1" finds A.resh.1a and A.resh.1b. Empty if no rule matches.
std::vector<const Rule*> FindRules(std::string_view selector);
// A usage error with the nearest ids.
Error UnknownRule(std::string_view flag, std::string_view selector);

// Limits and counts of rules over a run.
struct RuleBook {
  struct Entry {
    bool disabled = false;
    int64_t fuel = INT64_MAX;
    int64_t rewrites = 0;
  };
  std::map<std::string_view, Entry> entries;
  std::vector<std::string> cycles;  // One sentence for each cycle of rules that undo each other.
};

// Visits operands before users. New instructions and the users of replaced ones are visited again. Dead instructions
// are removed immediately, except in computations with control edges. A replacement takes one unit of fuel of the pass
// and of the rule. Log level 2 of the file `where` lists replacements.
Result<bool> RewriteEach(std::span<Computation* const> computations, const PassContext& context,
                         std::span<const Rule> rules,
                         const std::source_location& where = std::source_location::current());
// Removes fusion operands that their computations do not read.
bool RemoveUnusedOperands(Module& module);
Result<bool> RewriteEach(Module& module, const PassContext& context, std::span<const Rule> rules,
                         const std::source_location& where = std::source_location::current());

}  // namespace hlo

#endif  // HLO_PASSES_REWRITE_H_
