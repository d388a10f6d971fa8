// flatten-call-graph: what runs step by step is called from one place, so that where its values lie can be decided for
// that place. A computation that calls, loops and branches share is copied; one of a map, a reduce, a sort or a fusion
// is not: its values lie nowhere.
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/call_sites.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Instructions in copies, at most: calls of calls of shared computations are as many as there are ways to them.
constexpr int64_t kMostCopied = 1'000'000;

}  // namespace

Result<bool> FlattenCallGraph(Module& module, const PassContext& context) {
  CallSites calls(module);
  int64_t left = kMostCopied;
  bool changed = false;
  // Callers first; a copy is looked at itself, since what it calls is shared with what it is a copy of.
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
