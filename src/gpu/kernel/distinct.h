// Kernels that become the same code, which is compiled once; and how much code that is, so that threads which compile
// several kernels begin with the largest.
#ifndef HLO_GPU_KERNEL_DISTINCT_H_
#define HLO_GPU_KERNEL_DISTINCT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// In instructions of the kernel, those of a tile once for each element that a thread has of it, those of an unrolled
// loop once for each copy.
int64_t CodeSize(const Kernel& kernel);

struct DistinctKernels {
  std::vector<const Kernel*> kernels;  // Each once, the largest first.
  std::vector<KernelHash> hashes;      // Of those.
  std::vector<int64_t> sizes;          // Of those.
  std::vector<size_t> which;           // For each that was given, its place in `kernels`.
};
// Gives everything that does not show in the code of a lowering the same value in all kernels.
using Forget = void (*)(Kernel& kernel);
// Kernels that have the same plan and body are one, whatever their names: a loop over 512 elements that come in whole
// tiles is one over 16384, by the number of blocks at launch.
DistinctKernels FindDistinct(std::span<const Kernel* const> kernels, Forget forget);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DISTINCT_H_
