#include <algorithm>

#include "base/text.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"

namespace hlo::gpu {

Result<PlanAnswer> PlanScan(PlanRequest& request) {
  const FusionBody& body = request.body();
  PlanAnswer answer;
  std::vector<const Instruction*> heroes;
  for (const Instruction* inst : body.instructions()) {
    if (RunningFoldOf(*inst)) heroes.push_back(inst);
  }
  if (heroes.empty() || !heroes[0]->operand(0).shape().layout().tiling->tiles.empty()) return answer;
  std::string why_not = body.HasComplex() ? "it has complex numbers" : "";
  std::unique_ptr<ScanSpace> space;
  if (why_not.empty()) space = TRY(ScanSpaceOf(body, heroes, &why_not));
  if (space == nullptr) answer.why = Str("each result of a scan is computed from its whole window: ", why_not);
  if (space == nullptr) return answer;
  KernelPlan plan{.kind = KernelKind::kScan};
  if (body.source().Is(Opcode::kFusion)) {
    for (const Instruction* hero : heroes) plan.heroes.emplace_back(hero->name());
  }
  ShapeScan(*space, request.device(), plan);
  std::vector<KernelPlan> kernels;
  if (plan.splits > 1) {
    kernels.push_back(plan);
    kernels.back().totals = true;
  }
  kernels.push_back(std::move(plan));
  answer.candidates = {std::move(kernels)};
  return answer;
}

}  // namespace hlo::gpu
