#include "gpu/runtime/shares.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gpu/runtime/prepare.h"
#include "ir/analysis/cost.h"
#include "ir/analysis/trip_count.h"

namespace hlo::gpu {
namespace {

struct Entered {
  const Computation* computation;
  double times;
  bool known;
};

std::vector<Entered> EnteredBy(const Module& module) {
  std::vector<Entered> all = {{&module.entry(), 1, true}};
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Instruction* inst : all[i].computation->Instructions()) {
      if (!inst->Is(kControl)) continue;
      const bool known = all[i].known && (!inst->Is(Opcode::kWhile) || TripCount(*inst).has_value());
      for (const auto& [called, times] : RunsOf(*inst)) all.push_back({called, all[i].times * times, known});
    }
  }
  return all;
}

}  // namespace

std::unordered_map<const Instruction*, StepShare> SharesOfRun(const Module& module, const DeviceDescription& device) {
  const CostAnalysis costs(module);
  std::set<const Computation*> with_gaps;
  std::set<const Instruction*> gaps;
  for (const CostGap& gap : costs.gaps()) {
    gaps.insert(gap.inst);
    with_gaps.insert(&gap.inst->computation());
  }
  const auto has_gap = [&](const Instruction& inst) {
    return gaps.contains(&inst) || std::ranges::any_of(CalledComputations(inst), [&](const Computation* called) {
             return with_gaps.contains(called);
           });
  };
  std::unordered_map<const Instruction*, StepShare> shares;
  std::set<const Instruction*> unknown;
  double all = 0;
  for (const auto& [computation, times, known] : EnteredBy(module)) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!IsStep(*inst)) continue;
      const double seconds = RooflineOf(costs.CostOf(*inst), device).Seconds();
      shares[inst] = {.share = times * seconds, .seconds = has_gap(*inst) ? 0 : seconds};
      all += times * (seconds + device.launch_seconds);
      if (!known || has_gap(*inst)) unknown.insert(inst);
    }
  }
  for (auto& [inst, step] : shares) step.share = unknown.contains(inst) || all == 0 ? 1 : step.share / all;
  return shares;
}

}  // namespace hlo::gpu
