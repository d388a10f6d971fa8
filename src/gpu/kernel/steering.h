// The values that steer a kernel: an address, a bound of a loop, a wait for other blocks or the end of a kWhile depends
// on them. A change of any other value changes results, and cannot make the kernel leave its arrays or run forever.
#ifndef HLO_GPU_KERNEL_STEERING_H_
#define HLO_GPU_KERNEL_STEERING_H_

#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct Steering {
  std::vector<bool> values, slots, variables, arrays;  // By number.
};

// `arrays`: arrays of the kernel that steer other kernels; may be empty.
Steering FindSteering(const Kernel& kernel, std::vector<bool> arrays = {});

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_STEERING_H_
