// Selects the plan of a step.
#ifndef HLO_GPU_RUNTIME_STEP_PLAN_H_
#define HLO_GPU_RUNTIME_STEP_PLAN_H_

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Returns `plan`, or for products and scatters a plan for the host.
Result<FusionPlan> PlanForHost(const Instruction& inst, FusionPlan plan, const Device& device,
                               const CompileOptions& options);
// The plan in the text, or a planner's plan. A library call's plan may lack the library's choice.
Result<FusionPlan> PlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);
// Like PlanOfStep, with our own kernels only.
Result<FusionPlan> OwnPlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_STEP_PLAN_H_
