// call-inliner: call(f, x) => f's body applied to x. fusion-dissolver does the same for fusions in the input, so that
// our passes form fusions anew.
//
// Callers come first, so that a body is copied directly to its final computation, once for each chain of calls.
#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "ir/control_edges.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "ir/source_line.h"
#include "passes/pass.h"

namespace hlo {
namespace {

class Inliner {
 public:
  Inliner(Computation& caller, Opcode opcode, const PassContext& context, int64_t* left)
      : caller_(caller), opcode_(opcode), context_(context), left_(*left) {}

  bool Run() {
    std::vector<Instruction*> calls;
    for (Instruction* inst : caller_.Instructions()) {
      if (inst->Is(opcode_)) calls.push_back(inst);
    }
    std::reverse(calls.begin(), calls.end());
    while (!calls.empty()) {
      Instruction& call = *calls.back();
      calls.pop_back();
      Computation& callee = *CalledComputations(call).front();
      if (callee.InstructionCount() > left_ || !context_.ConsumeFuel()) continue;
      left_ -= callee.InstructionCount();
      const size_t first_new = calls.size();
      Inline(call, callee, &calls);
      std::reverse(calls.begin() + static_cast<std::ptrdiff_t>(first_new), calls.end());
    }
    MoveControlEdges(caller_, ends_);
    return !ends_.empty();
  }

 private:
  void Inline(Instruction& call, const Computation& callee, std::vector<Instruction*>* calls) {
    std::vector<Instruction*> copies(callee.place_limit());
    std::vector<Instruction*> ends;
    for (const Instruction* inst : callee.PostOrder()) {
      if (inst->Is(Opcode::kParameter)) {
        copies[inst->place()] = &call.operand(inst->parameter_number());
        continue;
      }
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand->place()]);
      Instruction& copy = caller_.AddClone(*inst, operands);
      // A copy has no origin, because the body may be copied repeatedly.
      copy.SetOrigin(-1);
      TakeSourceLine(copy, call);  // Instructions of JAX's library functions have no source line.
      for (Instruction* before : call.control_predecessors()) copy.AddControlPredecessor(*before);
      for (const Instruction* before : inst->control_predecessors())
        copy.AddControlPredecessor(*copies[before->place()]);
      copies[inst->place()] = &copy;
      if (copy.Is(opcode_)) calls->push_back(&copy);
      if (!inst->IsRoot() && HasSideEffect(*inst)) ends.push_back(&copy);
    }
    Instruction& result = *copies[callee.root().place()];
    ends.push_back(&result);
    if (callee.root().Is(Opcode::kParameter)) std::ranges::copy(RunsAfter(call), std::back_inserter(ends));
    call.ReplaceAllUses(result);
    caller_.Remove(call);
    ends_[&call] = std::move(ends);
  }

  Computation& caller_;
  const Opcode opcode_;
  const PassContext& context_;
  int64_t& left_;
  Replacements ends_;
};

bool InlineEach(Module& module, const PassContext& context, Opcode opcode) {
  int64_t left = context.Get<InliningOptions>().instructions;
  bool changed = false;
  std::unordered_set<const Computation*> reached = {&module.entry()};
  const std::vector<Computation*> order = module.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    if (!reached.contains(order[i])) continue;
    changed |= Inliner(*order[i], opcode, context, &left).Run();
    for (const Instruction* inst : order[i]->instructions()) {
      for (const Computation* called : CalledComputations(*inst)) reached.insert(called);
    }
  }
  module.RemoveUnreachable();  // Not reported as a change.
  return changed;
}

}  // namespace

Result<bool> InlineCalls(Module& module, const PassContext& context) {
  return InlineEach(module, context, Opcode::kCall);
}
Result<bool> DissolveFusions(Module& module, const PassContext& context) {
  return InlineEach(module, context, Opcode::kFusion);
}

}  // namespace hlo
