// One kernel behind another, in one launch.
#ifndef HLO_GPU_KERNEL_TAIL_H_
#define HLO_GPU_KERNEL_TAIL_H_

#include <optional>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct WithTail {
  Kernel kernel;
  bool counts = false;  // Its last parameter is a counter of 4 bytes, zero before and after.
};

// `kernel`, and then `tail`, of one block of one warp, by one thread block of it: the one that ends last, which sees
// what the others wrote. Parameters: those of the kernel, those of the tail that are not one of them, in their order,
// and the counter, where there are several blocks. `same`: by parameter of the tail, that of the kernel which is the
// same array, or -1. Nothing where this cannot be: kernels in clusters, groups of arrays among what is the same, a tail
// that has more than parameters, or lets threads meet.
std::optional<WithTail> AddTail(const Kernel& kernel, const Kernel& tail, const std::vector<int>& same);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_TAIL_H_
