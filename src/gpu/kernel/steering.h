// Finds the values that steer a kernel: addresses, bounds of loops, waits for other blocks and conditions of kWhile
// depend on them. If only other values change, a kernel still stays within its arrays and ends.
#ifndef HLO_GPU_KERNEL_STEERING_H_
#define HLO_GPU_KERNEL_STEERING_H_

#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct Steering {
  std::vector<bool> values, slots, variables, arrays;  // Whether each steers, indexed by number.
};

// `arrays`, possibly empty, marks arrays that steer other kernels, and so the values stored in them.
Steering FindSteering(const Kernel& kernel, std::vector<bool> arrays = {});

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_STEERING_H_
