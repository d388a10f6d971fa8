// The iteration space of a scatter kernel.
#ifndef HLO_GPU_PLAN_SCATTER_SPACE_H_
#define HLO_GPU_PLAN_SCATTER_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// The indices in order, and the window elements that each updates. The only output is the update, with its offset from
// the window's start, which the emitter computes from `starts`.
struct ScatterSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Variable& indices() const { return variables[0]; }
  const Variable& window() const { return variables[1]; }

  bool windows_overlap = false;
  struct Start {  // A dimension whose start is an index.
    NodeId index;
    int64_t most;  // Largest start with the window inside the operand.
    int64_t stride;
  };
  std::vector<Start> starts;

  std::vector<NodeId> Needed() const;
};

// `body`'s root must be a scatter with one operand and nonempty updates.
Result<std::unique_ptr<ScatterSpace>> ScatterSpaceOf(const FusionBody& body);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCATTER_SPACE_H_
