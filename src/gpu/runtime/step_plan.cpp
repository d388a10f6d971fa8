#include "gpu/runtime/step_plan.h"

#include <algorithm>

#include "gpu/plan/planner.h"

namespace hlo::gpu {

// On a host with libraries, a kernel for a product replaces a library call, and a scatter for GPUs would scan all
// indices in each block, so both are planned for the host.
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
