// What the numbers of a plan could be otherwise: for who measures (gpu/runtime/tuning). Of each kind those that were
// seen to matter; whether they fit, its emitter tells.
#ifndef HLO_GPU_PLAN_VARIANTS_H_
#define HLO_GPU_PLAN_VARIANTS_H_

#include <vector>

#include "gpu/plan/planner.h"
#include "ir/device_description.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Others than `chosen`, kernels of ours for `fusion`; the likelier to be faster, the earlier. None for kinds that have
// nothing to choose: block, attention, sort, fft, matrix.
std::vector<FusionPlan> VariantsOf(const Instruction& fusion, const FusionPlan& chosen,
                                   const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_VARIANTS_H_
