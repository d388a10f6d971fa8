// Sets an execution order for every computation, depth first from the earliest instruction, so that values are computed
// shortly before their first use.
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {

Result<bool> ScheduleModule(Module& module, const PassContext&) {
  const bool was_scheduled = module.header.is_scheduled;
  Fingerprinter fingerprints;
  const uint64_t before = was_scheduled ? fingerprints.FingerprintOf(module) : 0;
  // The verifier requires an order for unreachable computations too.
  for (Computation* computation : module.Computations()) computation->SetOrder(computation->PostOrder());
  module.header.is_scheduled = true;
  return !was_scheduled || fingerprints.FingerprintOf(module) != before;
}

}  // namespace hlo
