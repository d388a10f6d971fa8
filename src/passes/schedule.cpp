// gpu-schedule: an order of execution for every computation: operands and control predecessors first, depth first from
// the earliest instruction on, so that a value is made shortly before its first use. No copies are inserted for loop
// state and updates in place: the plan of buffers makes one where two values that live at once would share memory.
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {

Result<bool> ScheduleModule(Module& module, const PassContext&) {
  const bool was_scheduled = module.header.is_scheduled;
  Fingerprinter fingerprints;
  const uint64_t before = was_scheduled ? fingerprints.Of(module) : 0;
  // Also of those that nothing calls any more: the module is valid with them.
  for (Computation* computation : module.Computations()) computation->SetOrder(computation->PostOrder());
  module.header.is_scheduled = true;
  return !was_scheduled || fingerprints.Of(module) != before;
}

}  // namespace hlo
