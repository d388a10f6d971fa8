// Estimates the share of each step in the run time from ir/cost.h and the rates of a device.
#ifndef HLO_GPU_RUNTIME_SHARES_H_
#define HLO_GPU_RUNTIME_SHARES_H_

#include <unordered_map>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

struct StepShare {
  // The step without its launch, as a share of the run. All branches are counted. 1 if unknown: in loops whose trip
  // count is unknown, and for costs with a gap.
  double share = 1;
  double seconds = 0;  // For one execution; 0 if the cost has a gap.
};

// `module` is prepared: each computation has one caller.
std::unordered_map<const Instruction*, StepShare> SharesOfRun(const Module& module, const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_SHARES_H_
