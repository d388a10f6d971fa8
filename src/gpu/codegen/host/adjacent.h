// A pass of the host lowering: merges consecutive tiles into one loop, because LLVM compiles a short loop as slowly as
// a long one.
#ifndef HLO_GPU_CODEGEN_HOST_ADJACENT_H_
#define HLO_GPU_CODEGEN_HOST_ADJACENT_H_

#include <span>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// The tile `instructions[0]` and, if it has no limit, following tiles that can share its loop. Instructions between
// these tiles can be computed before the loop.
std::vector<const Instruction*> AdjacentTiles(const Kernel& kernel, std::span<const Instruction> instructions);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_ADJACENT_H_
