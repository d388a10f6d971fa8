// Copies shared computations of calls, loops and branches, so that each caller has memory of its own for their values.
// Values of map, reduce, sort and fusion computations have no memory.
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/call_sites.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Nested calls can multiply the copies.
constexpr int64_t kMostCopied = 1'000'000;

}  // namespace

Result<bool> FlattenCallGraph(Module& module, const PassContext& context) {
  CallSites calls(module);
  int64_t left = kMostCopied;
  bool changed = false;
  // Callers come first, because a copy may share callees with the original.
  const std::vector<Computation*> order = SequentialComputations(module);
  std::vector<Computation*> worklist(order.rbegin(), order.rend());
  for (size_t i = 0; i < worklist.size(); ++i) {
    for (Instruction* inst : worklist[i]->Instructions()) {
      if (!inst->Is(kControl)) continue;
      ForEachCalled(inst->attributes(), [&](Computation*& called) {
        if (calls.Count(*called) <= 1 || called->InstructionCount() > left || !context.ConsumeFuel()) return;
        left -= called->InstructionCount();
        worklist.push_back(&calls.Own(called));
        changed = true;
      });
    }
  }
  return changed;
}

}  // namespace hlo
