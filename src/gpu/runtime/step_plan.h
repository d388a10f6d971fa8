// Selects the plan of a step.
#ifndef HLO_GPU_RUNTIME_STEP_PLAN_H_
#define HLO_GPU_RUNTIME_STEP_PLAN_H_

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// `plan`, or the host's alternative.
Result<FusionPlan> PlanForHost(const Instruction& inst, FusionPlan plan, const Device& device,
                               const CompileOptions& options);
// The plan in the text, or a planner's. A library call's plan lacks the library's choice.
Result<FusionPlan> PlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);
// The same with our own kernels only.
Result<FusionPlan> OwnPlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_STEP_PLAN_H_
