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

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_TRANSPOSE_SPACE_H_
