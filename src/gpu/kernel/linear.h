// What is known of every value as a function of the position in its tile: enough to see vector accesses.
#ifndef HLO_GPU_KERNEL_LINEAR_H_
#define HLO_GPU_KERNEL_LINEAR_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct Linear {
  static constexpr int64_t kVarying = INT64_MIN;
  // From one element of the tile to the next; 0: the same for all V; kVarying: not known to be a line.
  int64_t stride = 0;
  // A power of two that divides the value at the first element.
  int64_t multiple = 1;
};

// By value id.
std::vector<Linear> LinearForms(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_LINEAR_H_
