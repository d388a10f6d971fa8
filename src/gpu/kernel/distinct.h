// Finds kernels with equal code, to compile it once, and orders kernels by code size.
#ifndef HLO_GPU_KERNEL_DISTINCT_H_
#define HLO_GPU_KERNEL_DISTINCT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Estimated number of instructions. Bodies of tiles count once for each element of a thread, bodies of loops once for
// each unrolled copy.
int64_t CodeSize(const Kernel& kernel);

struct DistinctKernels {
  std::vector<const Kernel*> kernels;  // Without duplicates, the largest first.
  std::vector<KernelHash> hashes;
  std::vector<int64_t> sizes;
  std::vector<size_t> which;  // Index in `kernels` of each input.
};
// Resets properties that a lowering (host or NVPTX) ignores, so that more kernels are equal.
using Forget = void (*)(Kernel& kernel);
DistinctKernels FindDistinct(std::span<const Kernel* const> kernels, Forget forget);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DISTINCT_H_
