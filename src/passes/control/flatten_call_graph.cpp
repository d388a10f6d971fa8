// flatten-call-graph: gives each call, loop and branch a computation of its own, by copying shared ones, so that the
// memory of its values can be assigned for that call. The computations of map, reduce, sort and fusion stay shared,
// because their values have no memory.
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/call_sites.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Limit on copied instructions: nested calls can multiply the copies.
constexpr int64_t kMostCopied = 1'000'000;

}  // namespace

Result<bool> FlattenCallGraph(Module& module, const PassContext& context) {
  CallSites calls(module);
  int64_t left = kMostCopied;
  bool changed = false;
  // Callers come first. Copies are processed too, because the original shares its callees with them.
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
