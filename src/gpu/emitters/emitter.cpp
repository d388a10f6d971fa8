#include "gpu/emitters/emitter.h"

#include "base/text.h"
#include "gpu/emitters/contraction.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/reduction.h"
#include "gpu/emitters/scatter.h"
#include "gpu/emitters/transpose.h"

namespace hlo::gpu {

Result<std::vector<KernelPlan>> EmitFusion(const Instruction& inst, const EmitterOptions& options) {
  const FusionBody body(inst);
  std::vector<KernelPlan> plans;
  if (auto reduction = TRY(EmitReduction(body, options))) {
    plans.push_back(std::move(*reduction));
    return plans;
  }
  if (auto contraction = TRY(EmitContraction(body, options))) {
    plans.push_back(std::move(*contraction));
    return plans;
  }
  if (!body.roots().empty()) {
    if (auto scatter = TRY(EmitScatter(body, options))) return std::move(*scatter);
  }
  std::vector<const FusionBody::Root*> roots;
  for (const FusionBody::Root& root : body.roots()) roots.push_back(&root);
  for (auto& plan : TRY(PlanLoops(body, roots))) {
    const std::string suffix = plans.empty() ? "" : Str("_", plans.size());
    if (auto transpose = EmitTranspose(*plan, options, suffix)) {
      plans.push_back(std::move(*transpose));
    } else {
      plans.push_back(TRY(EmitLoop(body, std::move(plan), options, suffix)));
    }
  }
  return plans;
}

}  // namespace hlo::gpu
