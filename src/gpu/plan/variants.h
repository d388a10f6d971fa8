// The variants of a plan that autotuning measures (gpu/runtime/tuning). Only the numbers that were found to matter
// vary. The emitter decides whether a variant fits.
#ifndef HLO_GPU_PLAN_VARIANTS_H_
#define HLO_GPU_PLAN_VARIANTS_H_

#include <vector>

#include "gpu/plan/planner.h"
#include "ir/device_description.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Our own kernels for `fusion`, the most promising first. Empty for kinds without choices: block, attention, sort, fft,
// matrix.
std::vector<FusionPlan> VariantsOf(const Instruction& fusion, const FusionPlan& chosen,
                                   const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_VARIANTS_H_
