// Combines kernels into one kernel, in which each of them has blocks of its own.
#ifndef HLO_GPU_KERNEL_SIDE_BY_SIDE_H_
#define HLO_GPU_KERNEL_SIDE_BY_SIDE_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct ArrayOf {
  size_t kernel;
  int array;
};

struct SideBySide {
  Kernel kernel;
  std::vector<ArrayOf> arrays;  // The origin of each array of `kernel`.
};

// Requires equal thread counts and no clusters. A block finds its kernel by binary search. Inputs for which `place`
// returns the same nonnegative number become one parameter.
SideBySide PutSideBySide(std::string name, std::span<const Kernel* const> kernels,
                         const std::function<int(ArrayOf)>& place);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_SIDE_BY_SIDE_H_
