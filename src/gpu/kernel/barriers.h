// Places the barriers of a kernel. A barrier precedes a statement that accesses an array which threads of the block
// accessed since the last barrier, if either access is a write. Inside kWarps, barriers of the warp do the same for its
// threads. Repeated writes by one statement, as in a loop, need no barrier: they write different elements, or elements
// that no thread reads in between.
//
// A barrier of the cluster separates reads of another block's shared array from writes of it. A kernel with such reads
// since its last barrier of the cluster ends with one more, because the memory of a block disappears with the block.
#ifndef HLO_GPU_KERNEL_BARRIERS_H_
#define HLO_GPU_KERNEL_BARRIERS_H_

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

void PlaceBarriers(Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BARRIERS_H_
