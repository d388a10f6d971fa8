// A plan's variants that autotuning measures (gpu/runtime/tuning). Only numbers that were found to matter vary. The
// emitter decides whether a variant fits.
#ifndef HLO_GPU_PLAN_VARIANTS_H_
#define HLO_GPU_PLAN_VARIANTS_H_

#include <vector>

#include "gpu/plan/planner.h"
#include "ir/device_description.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Other plans for `fusion` than `chosen`, the most promising first. Empty for kinds without choices, such as block,
// attention, sort, fft and matrix.
std::vector<FusionPlan> VariantsOf(const Instruction& fusion, const FusionPlan& chosen,
                                   const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_VARIANTS_H_
