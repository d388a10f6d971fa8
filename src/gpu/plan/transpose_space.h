// Which operands of a loop are read across their memory order, so that they should go through tiles of shared memory.
#ifndef HLO_GPU_PLAN_TRANSPOSE_SPACE_H_
#define HLO_GPU_PLAN_TRANSPOSE_SPACE_H_

#include <vector>

#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// The loads that go with stride along the minor variable and without along another one, the same for all of them.
struct Staged {
  size_t across = 0;  // Into LoopSpace::variables.
  std::vector<NodeId> loads;
};

// No loads when there are none, or not in a way that two dimensions describe.
Staged FindStaged(const LoopSpace& space);

// Do a few neighbours of every output come from as many runs of the operands? As RGBRGB from RR GG BB: the minor
// variable is short, and along the one before it an operand that goes with stride along the minor one goes without.
// Every load is such a one, the same along one of the two, or of the output's own order.
bool Interleaves(const LoopSpace& space);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_TRANSPOSE_SPACE_H_
