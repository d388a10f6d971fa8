// The estimated share of each step in the run time, from the costs of ir/cost.h, the rates of a device and its launch
// time. Used to find steps where a slower kernel does not matter.
#ifndef HLO_GPU_RUNTIME_SHARES_H_
#define HLO_GPU_RUNTIME_SHARES_H_

#include <unordered_map>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

struct StepShare {
  // The share without launch times. Loops count by their trips, and all branches are counted. 1 if unknown: in loops
  // with data-dependent trips and for costs with a gap.
  double share = 1;
  double seconds = 0;  // For one execution; 0 if the cost has a gap.
};

// For each instruction that runs as a step. `module` is prepared: each computation has one caller.
std::unordered_map<const Instruction*, StepShare> SharesOfRun(const Module& module, const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_SHARES_H_
