// Places the barriers of a kernel. A barrier precedes a statement that accesses an array which threads of the block
// accessed since the last barrier, if either access is a write. Inside kWarps, the same holds for the threads of a
// warp. Iterations of a loop are not separated if only one statement writes the array. It writes different elements, or
// no thread reads them before they are written.
//
// In a cluster, a block may read a shared array of another block. A barrier of the cluster then separates the read from
// all writes of the array. Another one ends the kernel, because the memory of a block disappears when the block ends.
#ifndef HLO_GPU_KERNEL_BARRIERS_H_
#define HLO_GPU_KERNEL_BARRIERS_H_

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

void PlaceBarriers(Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BARRIERS_H_
