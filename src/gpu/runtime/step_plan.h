// Selects the plan of a step.
#ifndef HLO_GPU_RUNTIME_STEP_PLAN_H_
#define HLO_GPU_RUNTIME_STEP_PLAN_H_

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Replaces the plan of a product or scatter by one for the host, if `device` is a host with libraries. Other plans are
// unchanged.
Result<FusionPlan> PlanForHost(const Instruction& inst, FusionPlan plan, const Device& device,
                               const CompileOptions& options);
// The instruction's plan, otherwise the planner's. A plan for a library call may lack the algorithm.
Result<FusionPlan> PlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);
// Like PlanOfStep, with our own kernels only.
Result<FusionPlan> OwnPlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_STEP_PLAN_H_
