// Finds kernels with equal code, so that it is compiled once, and orders kernels by the size of the code.
#ifndef HLO_GPU_KERNEL_DISTINCT_H_
#define HLO_GPU_KERNEL_DISTINCT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// The number of instructions, times the elements of tiles and the unrolled copies of loops.
int64_t CodeSize(const Kernel& kernel);

struct DistinctKernels {
  std::vector<const Kernel*> kernels;  // Without duplicates, the largest first.
  std::vector<KernelHash> hashes;
  std::vector<int64_t> sizes;
  std::vector<size_t> which;  // For each input, its index in `kernels`.
};
// Resets properties that do not affect the code of a lowering (host or NVPTX).
using Forget = void (*)(Kernel& kernel);
DistinctKernels FindDistinct(std::span<const Kernel* const> kernels, Forget forget);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DISTINCT_H_
