// Where barriers must stand. A barrier is placed before a statement that touches an array which the threads of the
// block (of the warp, inside kWarps) touched since the last one, when either of the two writes. Rounds of a loop in
// which one statement only writes are not kept apart: it writes different elements, or nobody reads what it writes
// first.
//
// In a cluster, where a block reads another one's shared array: a barrier of the cluster stands between that and what
// writes the array, whichever comes first, and at the end of the kernel, since a block's memory goes when it leaves.
#ifndef HLO_GPU_KERNEL_BARRIERS_H_
#define HLO_GPU_KERNEL_BARRIERS_H_

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

void PlaceBarriers(Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BARRIERS_H_
