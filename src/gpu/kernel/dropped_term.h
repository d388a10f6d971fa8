#ifndef HLO_GPU_KERNEL_DROPPED_TERM_H_
#define HLO_GPU_KERNEL_DROPPED_TERM_H_

#include "gpu/kernel/kernel.h"
#include "gpu/kernel/steering.h"

namespace hlo::kernel {

// A mutation (mutation.h): a sum misses one of its terms.
bool DroppedTerm(Kernel& kernel, const Steering& steering);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DROPPED_TERM_H_
