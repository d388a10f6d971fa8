#include "gpu/emitters/emitter.h"

#include "base/text.h"
#include "gpu/emitters/contraction.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/reduction.h"
#include "gpu/emitters/scatter.h"
#include "gpu/emitters/transpose.h"
#include "gpu/kernel/depth.h"

namespace hlo::gpu {
namespace {

Result<std::vector<KernelPlan>> EmitAny(const Instruction& inst, const EmitterOptions& options) {
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

}  // namespace

Result<std::vector<KernelPlan>> EmitFusion(const Instruction& inst, const EmitterOptions& options) {
  std::vector<KernelPlan> plans = TRY(EmitAny(inst, options));
  for (const KernelPlan& plan : plans) {
    const int64_t depth = kernel::Depth(*plan.kernel);
    if (depth <= kernel::kMostDepth) continue;
    FAIL(UnsupportedAt(inst, "U111",
                       Str("no kernel for '", inst.name(), "', whose operations follow from each other ", depth,
                           " deep; at most ", kernel::kMostDepth, " fit")));
  }
  return plans;
}

}  // namespace hlo::gpu
