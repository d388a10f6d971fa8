// Which plan a step is compiled by, where several have a say: what is written on it, the planners, and what a host has
// of its own.
#ifndef HLO_GPU_RUNTIME_STEP_PLAN_H_
#define HLO_GPU_RUNTIME_STEP_PLAN_H_

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// `plan`, or what a host takes in its place.
Result<FusionPlan> PlanForHost(const Instruction& inst, FusionPlan plan, const Device& device,
                               const CompileOptions& options);
// The plan that stands on `inst`, or the planners'; a library's call as it stands, without the library's choice.
Result<FusionPlan> PlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);
// By kernels of ours, whatever it is meant for.
Result<FusionPlan> OwnPlanOfStep(const Instruction& inst, const Device& device, const CompileOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_STEP_PLAN_H_
