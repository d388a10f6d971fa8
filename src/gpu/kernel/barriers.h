// Places the barriers of a kernel. A barrier separates two statements that access the same shared or kInOut array if
// one of them writes. Inside kWarps, the barrier is one of the warp. Repeated writes by one statement, as in a loop,
// need no barrier: they write different elements, or elements that no thread reads in between.
//
// A barrier of the cluster separates reads of another block's shared array (kLoadCluster) from writes of it. If such
// reads follow the kernel's last barrier of the cluster, the kernel ends with another one, because a block's shared
// memory is freed when the block ends.
#ifndef HLO_GPU_KERNEL_BARRIERS_H_
#define HLO_GPU_KERNEL_BARRIERS_H_

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

void PlaceBarriers(Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BARRIERS_H_
