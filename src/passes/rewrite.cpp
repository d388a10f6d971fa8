#include "passes/rewrite.h"

#include <algorithm>
#include <deque>

#include "ir/id_span.h"
#include "ir/module.h"
#include "ir/side_effects.h"

namespace hlo {
namespace {

// Rules that undo each other would not end; each instruction of the start may be rewritten this often on average.
constexpr int64_t kMostRewritesEach = 50;

}  // namespace

Result<bool> RewriteEach(Computation& computation, const PassContext& context, std::span<const Rule> rules) {
  const std::vector<Instruction*> start = computation.PostOrder();
  std::deque<Instruction*> worklist(start.begin(), start.end());
  const IdSpan ids(start);
  std::vector<bool> queued(ids.size(), true);
  const auto enqueue = [&](Instruction& inst) {
    if (ids.Of(inst) >= queued.size()) queued.resize(ids.Of(inst) + 1, false);
    if (queued[ids.Of(inst)]) return;
    queued[ids.Of(inst)] = true;
    worklist.push_back(&inst);
  };

  // What somebody waits for stays, used or not; where there is such, dce looks after what is dead.
  const bool removes = std::all_of(start.begin(), start.end(),
                                   [](const Instruction* inst) { return inst->control_predecessors().empty(); });
  int64_t left = kMostRewritesEach * static_cast<int64_t>(start.size());
  bool changed = false;
  while (!worklist.empty()) {
    Instruction& inst = *worklist.front();
    worklist.pop_front();
    queued[ids.Of(inst)] = false;
    if (inst.removed() || (inst.IsDead() && !inst.Is(Opcode::kParameter))) continue;
    for (const Rule& rule : rules) {
      if (left <= 0) return changed;
      const int first_new = computation.module().id_limit();
      Instruction* replacement = TRY(rule(inst, context));
      if (replacement == nullptr) continue;
      if (!context.ConsumeFuel()) {
        // The rule has added what nobody uses; take it back.
        if (replacement->id() >= first_new) computation.RemoveDeadTree(*replacement);
        return changed;
      }
      --left;
      changed = true;
      const std::vector<Instruction*> users(inst.users().begin(), inst.users().end());
      const std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
      inst.ReplaceAllUses(*replacement);
      if (removes && !inst.Is(Opcode::kParameter) && !HasSideEffect(inst)) computation.RemoveDeadTree(inst);
      // New ones, in the order of their making: operands first.
      if (replacement->id() >= first_new) {
        std::vector<Instruction*> made = {replacement};
        for (size_t i = 0; i < made.size(); ++i) {
          for (Instruction* operand : made[i]->operands()) {
            if (operand->id() >= first_new && std::find(made.begin(), made.end(), operand) == made.end())
              made.push_back(operand);
          }
        }
        for (size_t i = made.size(); i-- > 0;) enqueue(*made[i]);
      }
      for (Instruction* user : users) {
        if (!user->removed()) enqueue(*user);
      }
      for (Instruction* operand : operands) {
        if (operand->removed()) continue;
        for (Instruction* user : operand->users()) enqueue(*user);  // It has one user less; rules ask for single users.
      }
      break;
    }
  }
  return changed;
}

Result<bool> RewriteEach(Module& module, const PassContext& context, std::span<const Rule> rules) {
  bool changed = false;
  for (Computation* computation : module.PostOrder()) changed |= TRY(RewriteEach(*computation, context, rules));
  return changed;
}

}  // namespace hlo
