// while-loop-constant-sinking: replaces invariant state elements by their constant initial values, in body and
// condition.
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/call_sites.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Whether this use passes the element on unchanged, as IsInvariant() requires.
bool IsOwnNext(const Loop& loop, const Instruction& user, int64_t operand, int64_t element) {
  return &user == &loop.body->root() && operand == element;
}

bool HasOtherUse(const Loop& loop, const Instruction& element) {
  for (const Instruction* user : element.users()) {
    for (int64_t k = 0; k < user->operand_count(); ++k) {
      if (&user->operand(k) == &element && !IsOwnNext(loop, *user, k, element.tuple_index())) return true;
    }
  }
  return false;
}

void Sink(const Loop& loop, Instruction& element) {
  const int64_t i = element.tuple_index();
  Instruction& constant = element.computation().AddClone(loop.init->operand(i), {});
  constant.SetOrigin(-1);
  const std::vector<Instruction*> users(element.users().begin(), element.users().end());
  for (Instruction* user : users) {
    for (int64_t k = 0; k < user->operand_count(); ++k) {
      if (&user->operand(k) == &element && !IsOwnNext(loop, *user, k, i)) user->SetOperand(k, constant);
    }
  }
}

}  // namespace

bool SinkConstants(const Loop& loop) {
  bool changed = false;
  for (const auto* elements : {&loop.in_body, &loop.in_condition}) {
    for (Instruction* element : *elements) {
      const int64_t i = element->tuple_index();
      if (!loop.init->operand(i).Is(Opcode::kConstant) || !loop.IsInvariant(i) || !HasOtherUse(loop, *element))
        continue;
      Sink(loop, *element);
      changed = true;
    }
  }
  return changed;
}

Result<bool> SinkLoopConstants(Module& module, const PassContext& context) {
  CallSites calls(module);
  bool changed = false;
  // Callers come first: a new constant in a body may be the state of an inner loop.
  const std::vector<Computation*> order = SequentialComputations(module);
  for (size_t at = order.size(); at-- > 0;) {
    for (Instruction* inst : order[at]->PostOrder()) {
      const auto loop = ReadLoop(*inst);
      if (!loop || calls.Count(*loop->body) != 1 || calls.Count(*loop->condition) != 1) continue;
      if (context.ConsumeFuel()) changed |= SinkConstants(*loop);
    }
  }
  return changed;
}

}  // namespace hlo
