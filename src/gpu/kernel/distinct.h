// Finds kernels with equal code, which is compiled once, and estimates the size of code, so that threads compile the
// largest kernels first.
#ifndef HLO_GPU_KERNEL_DISTINCT_H_
#define HLO_GPU_KERNEL_DISTINCT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// In instructions. A tile counts once for each element of a thread, and a loop once for each unrolled copy.
int64_t CodeSize(const Kernel& kernel);

struct DistinctKernels {
  std::vector<const Kernel*> kernels;  // Without duplicates, the largest first.
  std::vector<KernelHash> hashes;      // Indexed like `kernels`.
  std::vector<int64_t> sizes;          // The code sizes, indexed like `kernels`.
  std::vector<size_t> which;           // For each input, its index in `kernels`.
};
// Sets all properties that do not affect the code of a lowering to a fixed value.
using Forget = void (*)(Kernel& kernel);
// Kernels with the same plan and body are equal, whatever their names. The number of blocks at launch distinguishes a
// loop over 512 elements in whole tiles from one over 16384.
DistinctKernels FindDistinct(std::span<const Kernel* const> kernels, Forget forget);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DISTINCT_H_
