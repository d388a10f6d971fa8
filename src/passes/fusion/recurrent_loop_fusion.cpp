// Makes a loop of a recurrent network a region "block" if its weights fit the shared memory of a cluster of blocks, and
// a model expects it to be faster (ir/analysis/recurrent_loop.h).
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/analysis/recurrent_loop.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/regions.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

using Computations = std::unordered_set<const Computation*>;

bool HasLoops(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    if (inst->Is(Opcode::kWhile)) return true;
  }
  return false;
}

bool RunsInCluster(const Instruction& loop, const DeviceDescription& device) {
  std::string why_not;
  const auto recurrent = RecurrentLoopOf(loop, &why_not);
  bool runs = recurrent && ClusterFor(*recurrent, device, &why_not);
  // A region relies on known_trip_count. It does not see the counter's initial value.
  if (runs && DerivedTripCount(loop) != recurrent->trips) {
    runs = false;
    why_not = "its trip count does not follow from its counter";
  }
  if (!LOGS_WHY()) return runs;
  if (runs) LogWhy("recurrent-loop-fusion", loop, "=> one region", "its weights fit the shared memory of a cluster");
  else LogWhy("recurrent-loop-fusion", loop, "stays", why_not);
  return runs;
}

// `taken`: conditions and bodies of loops in regions.
bool FuseIn(Computation& computation, const DeviceDescription& device, Computations* taken) {
  RegionGraph graph(computation);
  std::unordered_set<const Instruction*> chosen;
  for (const Instruction* launch : graph.launches()) {
    if (launch->Is(Opcode::kWhile) && RunsInCluster(*launch, device)) chosen.insert(launch);
  }
  return graph.Build("block", [&](const std::vector<Instruction*>& group) {
    if (!chosen.contains(group.front())) return false;
    taken->insert(group.front()->attrs<WhileAttrs>().condition);
    taken->insert(group.front()->attrs<WhileAttrs>().body);
    return true;
  });
}

}  // namespace

Result<bool> FuseRecurrentLoops(Module& module, const PassContext& context) {
  bool changed = false;
  Computations taken;
  const std::vector<Computation*> order = SequentialComputations(module);
  for (size_t i = order.size(); i-- > 0;) {  // Callers first.
    if (!taken.contains(order[i]) && HasLoops(*order[i])) changed |= FuseIn(*order[i], *context.device, &taken);
  }
  return changed;
}

}  // namespace hlo
