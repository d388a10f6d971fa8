#include "gpu/runtime/step_plan.h"

#include <algorithm>

#include "gpu/plan/planner.h"

namespace hlo::gpu {

// A product is a library's business on any device, so that what takes the place of a library on a host is made for
// the host, whatever the other kernels are made for; so is a scatter, of which each block of a GPU looks at all
// indices. Without libraries a host runs those of the target; and a plan that is written is obeyed.
Result<FusionPlan> PlanForHost(const Instruction& inst, FusionPlan plan, const Device& device,
                               const CompileOptions& options) {
  const bool has_host_form = std::ranges::any_of(plan.kernels, [](const KernelPlan& kernel) {
    return kernel.kind == KernelKind::kContraction || kernel.kind == KernelKind::kScatter;
  });
  if (!has_host_form || !device.IsHost() || !options.libraries) return plan;
  const auto written = TRY(ReadPlan(inst));
  if (written && IsOwnKernel(written->kernels.front().kind)) return plan;
  return PlanKernels(inst, device.Describe());
}

Result<FusionPlan> PlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options) {
  return PlanForHost(inst, TRY(PlanOf(inst, *options.target)), device, options);
}

Result<FusionPlan> OwnPlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options) {
  return PlanForHost(inst, TRY(KernelPlanOf(inst, *options.target)), device, options);
}

}  // namespace hlo::gpu
