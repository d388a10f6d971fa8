// Appends a small kernel to another one in the same launch.
#ifndef HLO_GPU_KERNEL_TAIL_H_
#define HLO_GPU_KERNEL_TAIL_H_

#include <optional>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct WithTail {
  Kernel kernel;
  bool counts = false;  // The last parameter is a counter of 4 bytes, zero before and after.
};

// Runs `kernel`, and then `tail`, which has one block of one warp. The thread block that ends last runs it and sees all
// writes. The new kernel has the parameters of the kernel, the other parameters of the tail in order, and a counter if
// there are several blocks. `same` maps parameters of the tail to equal parameters of the kernel, or to -1. Returns
// nothing for clusters, groups of arrays in `same`, and tails that use other arrays than parameters or synchronise
// threads.
std::optional<WithTail> AddTail(const Kernel& kernel, const Kernel& tail, const std::vector<int>& same);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_TAIL_H_
