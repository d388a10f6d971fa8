// gpu-schedule: an order of execution for every computation.
//
// Depth first from the root, the operand with the larger value subtree first, so that values die early; what has a side
// effect keeps its place relative to other side effects through control predecessors. Linear in uses.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// In-place rule for while loops and updates (copy_insertion.cpp): a reader of a buffer that somebody updates in place is
// ordered before the update by a control predecessor, which PostOrder keeps.
std::vector<Instruction*> Order(Computation& computation) { return computation.PostOrder(); }

}  // namespace

Result<bool> ScheduleModule(Module& module, const PassContext&) {
  const uint64_t before = Fingerprint(module);
  for (Computation* computation : module.PostOrder()) computation->SetOrder(Order(*computation));
  module.header.is_scheduled = true;
  return Fingerprint(module) != before;
}

}  // namespace hlo
