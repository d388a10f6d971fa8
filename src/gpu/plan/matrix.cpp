#include <algorithm>

#include "gpu/plan/launch_shape.h"
#include "gpu/plan/matrix_space.h"
#include "gpu/plan/planner.h"

namespace hlo::gpu {

Result<PlanAnswer> PlanMatrix(PlanRequest& request) {
  const auto space = TRY(MatrixSpaceOf(request.body()));
  if (space == nullptr) return PlanAnswer{};
  KernelPlan plan{.kind = KernelKind::kMatrix};
  if (request.body().source().Is(Opcode::kFusion)) plan.heroes.emplace_back(space->inst->name());
  plan.threads = ThreadsFor(space->rows * std::max(space->columns, space->others));
  return PlanAnswer{.candidates = {{std::move(plan)}}};
}

}  // namespace hlo::gpu
