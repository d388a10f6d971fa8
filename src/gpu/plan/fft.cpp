#include <algorithm>

#include "gpu/plan/fft_space.h"
#include "gpu/plan/planner.h"

namespace hlo::gpu {

Result<PlanAnswer> PlanFft(PlanRequest& request) {
  const auto space = TRY(FftSpaceOf(request.body()));
  if (space == nullptr) return PlanAnswer{};
  std::vector<KernelPlan> kernels;
  for (const FftStep& step : space->steps) {
    KernelPlan plan{.kind = KernelKind::kFft};
    if (request.body().source().Is(Opcode::kFusion)) plan.heroes.emplace_back(space->inst->name());
    const int64_t lines = LinesOfBlock(*space, step);
    plan.tile = {lines, step.length};
    plan.threads = ThreadsFor(lines * FftForm(step.points()).size / 4);
    kernels.push_back(std::move(plan));
  }
  return PlanAnswer{.candidates = {std::move(kernels)}};
}

}  // namespace hlo::gpu
