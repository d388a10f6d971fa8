// Kernels side by side: one kernel, of which each has some of the blocks.
#ifndef HLO_GPU_KERNEL_SIDE_BY_SIDE_H_
#define HLO_GPU_KERNEL_SIDE_BY_SIDE_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// One array of one of the kernels.
struct ArrayOf {
  size_t kernel;
  int array;
};

struct SideBySide {
  Kernel kernel;
  std::vector<ArrayOf> arrays;  // Of `kernel`, by number: the one that it stands for.
};

// Blocks of equally many threads, and no clusters. Which of the kernels a block runs it finds by halving, from its
// number alone: all its threads find the same. Inputs for which `place` gives the same number, 0 or more, are one.
SideBySide PutSideBySide(std::string name, std::span<const Kernel* const> kernels,
                         const std::function<int(ArrayOf)>& place);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_SIDE_BY_SIDE_H_
