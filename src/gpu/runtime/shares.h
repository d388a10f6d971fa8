// Which part of a run each step takes, as far as shapes tell: by the arithmetic and traffic of ir/cost.h, the rates of
// a device and its launches. Enough to know where a slower kernel would not be noticed.
#ifndef HLO_GPU_RUNTIME_SHARES_H_
#define HLO_GPU_RUNTIME_SHARES_H_

#include <unordered_map>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

struct StepShare {
  // Of a run, without what launching it takes; loops count by their trips, and every branch is taken. 1 where that is
  // not known: in loops whose trips hang on data, and where the cost has a gap.
  double share = 1;
  double seconds = 0;  // Once. 0: the cost has a gap.
};

// Of each instruction that runs as a step. `module` is prepared: each computation is entered from one place.
std::unordered_map<const Instruction*, StepShare> SharesOfRun(const Module& module, const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_SHARES_H_
