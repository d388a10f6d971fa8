// Widths that planners of several kinds choose alike.
#ifndef HLO_GPU_PLAN_LAUNCH_SHAPE_H_
#define HLO_GPU_PLAN_LAUNCH_SHAPE_H_

#include <span>
#include <vector>

#include "gpu/plan/elemental.h"

namespace hlo::gpu {

// 16 bytes of the widest type that `nodes` load or that goes out.
int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots);

// Threads for `work` items: a multiple of 32, at most `most`.
int ThreadsFor(int64_t work, int most = 256);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LAUNCH_SHAPE_H_
