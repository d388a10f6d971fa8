// conditional canonicalizer: lets conditionals return tuples, whose elements passes can merge or remove.
//
//   r = conditional(...)  =>  t = (S) conditional(...), r = get-tuple-element(t), index=0
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/call_sites.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Changes the conditional in place, to keep its control edges.
void WrapResult(Instruction& conditional, CallSites& calls) {
  ForEachCalled(conditional.attributes(), [&](Computation*& branch) {
    Computation& own = calls.Own(branch);
    own.SetRoot(own.AddTuple({&own.root()}));
  });
  Computation& computation = conditional.computation();
  const Shape result = conditional.shape();
  const int origin = conditional.origin();
  const auto sharding = conditional.common().sharding;
  const std::vector<Instruction*> users(conditional.users().begin(), conditional.users().end());
  const bool is_root = conditional.IsRoot();
  conditional.SetShape(Shape::Tuple({result}));
  Instruction& element =
      computation.AddLike(conditional, Opcode::kGetTupleElement, result, {&conditional}, IndexAttrs{0});
  element.SetOrigin(origin);
  if (!sharding.empty()) element.mutable_common().sharding = sharding;
  for (Instruction* user : users) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (&user->operand(i) == &conditional) user->SetOperand(i, element);
    }
  }
  if (is_root) computation.SetRoot(element);
}

}  // namespace

Result<bool> CanonicalizeConditionals(Module& module, const PassContext& context) {
  CallSites calls(module);
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kConditional) || inst->shape().IsTuple() || !context.ConsumeFuel()) continue;
      WrapResult(*inst, calls);
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
