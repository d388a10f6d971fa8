// Finds a loop's operands that should be transposed through shared memory.
#ifndef HLO_GPU_PLAN_TRANSPOSE_SPACE_H_
#define HLO_GPU_PLAN_TRANSPOSE_SPACE_H_

#include <vector>

#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// Loads that are strided along the minor variable and contiguous along `across`.
struct Staged {
  size_t across = 0;
  std::vector<NodeId> loads;
};

// Empty if the loads are contiguous along different variables, or only in short runs.
Staged FindStaged(const LoopSpace& space);

// Whether adjacent elements of each output come from different runs of the operands, as RGBRGB from RR GG BB. The minor
// variable must be short. Along the variable before it, some operand is contiguous, and each load is contiguous,
// constant or in the output's order.
bool Interleaves(const LoopSpace& space);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_TRANSPOSE_SPACE_H_
