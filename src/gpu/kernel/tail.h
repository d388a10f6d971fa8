// Appends a small kernel to another in the same launch.
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

// The new kernel runs `kernel`, and then `tail` in the block that ends last, which sees all writes. `tail` must have
// one block of one warp. `same` maps parameters of the tail to equal parameters of the kernel, or to -1. Parameters of
// the new kernel: the kernel's, the tail's that map to -1, and a counter if there are several blocks. Returns nullopt
// for clusters, and for tails with groups, slots, variables, tiles, warps, synchronised threads, or arrays other than
// parameters.
std::optional<WithTail> AddTail(const Kernel& kernel, const Kernel& tail, const std::vector<int>& same);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_TAIL_H_
