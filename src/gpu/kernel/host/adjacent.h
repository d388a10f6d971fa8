// A pass of the host lowering: merges consecutive tiles into one loop, because LLVM needs as much time for a short loop
// as for a long one.
#ifndef HLO_GPU_KERNEL_HOST_ADJACENT_H_
#define HLO_GPU_KERNEL_HOST_ADJACENT_H_

#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// The tile `instructions[0]` and the following tiles without a limit that can share its loop. Instructions between them
// can be computed earlier.
std::vector<const Instruction*> AdjacentTiles(const Kernel& kernel, std::span<const Instruction> instructions);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_ADJACENT_H_
