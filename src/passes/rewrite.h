// The rewrite loop: rules on every instruction until none applies.
#ifndef HLO_PASSES_REWRITE_H_
#define HLO_PASSES_REWRITE_H_

#include <span>

#include "base/result.h"
#include "passes/pass.h"

namespace hlo {

class Computation;
class Instruction;

// A law: the instruction that has the value of `inst` (an existing one or one that the rule added), or null when the
// law says nothing about `inst`; then the rule has changed nothing. A rule never makes worse code.
using Rule = Result<Instruction*> (*)(Instruction& inst, const PassContext& context);

// Operands before users; what a rule makes is looked at again, and so are the users of what was replaced. What has died
// goes at once. Fused computations are looked into as well. Uses fuel: one unit a replacement.
Result<bool> RewriteEach(Module& module, const PassContext& context, std::span<const Rule> rules);
Result<bool> RewriteEach(Computation& computation, const PassContext& context, std::span<const Rule> rules);

}  // namespace hlo

#endif  // HLO_PASSES_REWRITE_H_
