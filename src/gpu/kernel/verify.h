// What every kernel keeps. Build() checks it; the error says what is wrong, and is a bug of the emitter.
//
// 1. Operands: as many as the op's row says.
// 2. Threads meet in uniform code only: what lets those of the block meet (kMeets) stands at block level, what lets
//    those of a warp meet (kWarpMeets) at warp level, nothing of it in a phase or tile.
// 3. Products take fragments of one shape, a sum, a left and a right one; loads of matrices fill fragments.
// 4. Barriers of clusters stand where all blocks of a cluster come: conditions and bounds around them are the same for
//    all, which constants, arguments of the kernel and the number of the cluster are, and the block's own are not.
// 5. Clusters: ranks, barriers and loads from other blocks only in kernels that have them, of shared arrays only, and
// no
//    statement both writes such an array and reads that of another block.
// 6. Groups of arrays are reached by member, other arrays without.
// 7. A kWhile, whose condition threads compute alike, stands at block level, in kernels without clusters, and its first
//    region yields one pred.
#ifndef HLO_GPU_KERNEL_VERIFY_H_
#define HLO_GPU_KERNEL_VERIFY_H_

#include "base/result.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

Status Verify(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_VERIFY_H_
