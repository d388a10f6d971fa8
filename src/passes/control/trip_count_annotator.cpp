// Writes {"known_trip_count":{"n":"12"}} to backend_config. Passes that change trip counts must run before.
#include "base/text.h"
#include "interp/count_trips.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// XLA's limit of interpreted trips, for counters of unknown form.
constexpr int64_t kMostInterpreted = 128;

// Precondition: the backend_config is an object or empty.
void Annotate(Instruction& loop, int64_t trips) {
  std::string text = ConfigText(loop);
  const std::string entry = Str("\"known_trip_count\":{\"n\":\"", trips, "\"}");
  if (text.size() <= 2) {
    text = Str("{", entry, "}");
  } else {
    text.insert(text.size() - 1, "," + entry);
  }
  loop.mutable_common().backend_config.text = text;
}

}  // namespace

Result<bool> AnnotateTripCounts(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kWhile) || ConfigValue(*inst, "known_trip_count")) continue;
      const auto trips = CountTrips(*inst, kMostInterpreted);
      if (!trips || !context.ConsumeFuel()) continue;
      Annotate(*inst, *trips);
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
