// Tiles that follow each other and become one loop, a pass of the host lowering. A tiled product has one for each row
// that a thread has, three times: LLVM takes as long for a short loop as for a long one.
#ifndef HLO_GPU_KERNEL_HOST_ADJACENT_H_
#define HLO_GPU_KERNEL_HOST_ADJACENT_H_

#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// The first of `instructions` is a tile: it and those after it that may share its loop. What stands between them can be
// computed before. Tiles with a limit stay alone.
std::vector<const Instruction*> AdjacentTiles(const Kernel& kernel, std::span<const Instruction> instructions);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_ADJACENT_H_
