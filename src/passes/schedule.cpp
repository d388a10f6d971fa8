// gpu-schedule: an order of execution for every computation: operands and control predecessors first, depth first from
// the earliest instruction on, so that a value is made shortly before its first use. No copies are inserted for loop
// state and updates in place: the plan of buffers makes one where two values that live at once would share memory.
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {

Result<bool> ScheduleModule(Module& module, const PassContext&) {
  Fingerprinter fingerprints;
  const uint64_t before = fingerprints.Of(module);
  for (Computation* computation : module.PostOrder()) {
    const std::vector<Instruction*> order = computation->PostOrder();
    if (order != computation->Instructions()) computation->SetOrder(order);
  }
  module.header.is_scheduled = true;
  return fingerprints.Of(module) != before;
}

}  // namespace hlo
