// Estimates each step's share in the run time from ir/analysis/cost.h and a device's rates.
#ifndef HLO_GPU_RUNTIME_SHARES_H_
#define HLO_GPU_RUNTIME_SHARES_H_

#include <unordered_map>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

struct StepShare {
  // Seconds of all executions of the step / seconds of the run, with launches and all branches. 1 if unknown: in loops
  // with unknown trip count, and if the cost analysis has a gap.
  double share = 1;
  double seconds = 0;  // One execution without its launch. 0 if the cost analysis has a gap.
};

// `module` comes from Prepare.
std::unordered_map<const Instruction*, StepShare> SharesOfRun(const Module& module, const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_SHARES_H_
