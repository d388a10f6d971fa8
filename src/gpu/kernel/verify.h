// The invariants of kernels. Build() checks them. A violation is a bug of the emitter, and the error describes it.
//
// 1. Each instruction has the number of operands in its op's row.
// 2. Threads synchronise only in uniform code: the threads of a block (kMeets) at block level, and the threads of a
//    warp (kWarpMeets) at warp level, never in a phase or tile.
// 3. Products have a sum, a left and a right fragment of one shape. Matrix loads fill fragments.
// 4. Barriers of clusters are in code that all blocks of a cluster execute: the conditions and bounds around them
//    depend only on constants, arguments of the kernel and the number of the cluster.
// 5. Clusters: ranks, barriers and loads from other blocks are only in kernels with clusters, and only for shared
//    arrays. No statement both writes such an array and reads the array of another block.
// 6. Groups of arrays are accessed by member, and other arrays without.
// 7. A kWhile is at block level in a kernel without clusters. All threads compute its condition alike, and its first
//    region yields one pred.
#ifndef HLO_GPU_KERNEL_VERIFY_H_
#define HLO_GPU_KERNEL_VERIFY_H_

#include "base/result.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

Status Verify(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_VERIFY_H_
