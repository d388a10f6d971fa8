// The invariants of kernels, which Build() checks.
//
// 1. Each instruction has its op's number of operands.
// 2. Threads synchronise only in uniform code: kMeets at block level, kWarpMeets at warp level.
// 3. Products have a sum, a left and a right fragment of one shape. Matrix loads fill fragments.
// 4. Barriers of clusters are in code that all blocks of a cluster execute: the conditions and bounds around them
//    depend only on constants, inputs and the number of the cluster.
// 5. Ranks, barriers of clusters and loads from other blocks need clusters, and the loads need a shared array. No
//    statement both writes an array and reads this array of another block.
// 6. Groups of arrays are accessed by member, and other arrays are not.
// 7. A kWhile is at block level in a kernel without clusters. Its first region yields one value.
#ifndef HLO_GPU_KERNEL_VERIFY_H_
#define HLO_GPU_KERNEL_VERIFY_H_

#include "base/result.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

Status Verify(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_VERIFY_H_
