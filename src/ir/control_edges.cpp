#include "ir/control_edges.h"

#include <algorithm>
#include <unordered_set>

#include "ir/module.h"

namespace hlo {

std::vector<Instruction*> RunsAfter(const Instruction& inst) {
  std::vector<Instruction*> before(inst.control_predecessors().begin(), inst.control_predecessors().end());
  before.insert(before.end(), inst.operands().begin(), inst.operands().end());
  return before;
}

void MoveControlEdges(const Computation& computation, const Replacements& gone) {
  if (gone.empty()) return;
  for (Instruction* inst : computation.waiting()) {
    if (inst->removed()) continue;
    const std::span<Instruction* const> awaited = inst->control_predecessors();
    if (std::ranges::none_of(awaited, [&](const Instruction* before) { return gone.contains(before); })) continue;
    std::vector<Instruction*> left(awaited.rbegin(), awaited.rend());
    std::unordered_set<const Instruction*> seen;
    inst->ClearControlPredecessors();
    while (!left.empty()) {
      Instruction* const before = left.back();
      left.pop_back();
      if (!seen.insert(before).second) continue;
      const auto found = gone.find(before);
      if (found == gone.end()) inst->AddControlPredecessor(*before);
      else left.insert(left.end(), found->second.rbegin(), found->second.rend());
    }
  }
}

bool CloseGaps(Computation& computation, const Replacements& gone) {
  if (gone.empty()) return false;
  MoveControlEdges(computation, gone);
  if (computation.module().header.is_scheduled) computation.SetOrder(computation.PostOrder());
  return true;
}

}  // namespace hlo
