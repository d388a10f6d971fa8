// Values as linear functions of the position in their tile, to find vector accesses.
#ifndef HLO_GPU_KERNEL_LINEAR_H_
#define HLO_GPU_KERNEL_LINEAR_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct Linear {
  static constexpr int64_t kVarying = INT64_MIN;
  // The value's difference between adjacent elements of the tile. kVarying if not known to be linear.
  int64_t stride = 0;
  // A power of two that divides the value at each thread's first element.
  int64_t multiple = 1;
};

// Indexed by value.
std::vector<Linear> LinearForms(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_LINEAR_H_
