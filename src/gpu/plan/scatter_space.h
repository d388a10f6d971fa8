// What a scatter kernel iterates over.
#ifndef HLO_GPU_PLAN_SCATTER_SPACE_H_
#define HLO_GPU_PLAN_SCATTER_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// Indices, in their order, and the elements of the window that each of them moves. The one output is the update, at its
// place in the window; where that starts is loaded.
struct ScatterSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Variable& indices() const { return variables[0]; }
  const Variable& window() const { return variables[1]; }

  bool windows_overlap = false;
  struct Start {  // A dimension whose start is loaded.
    NodeId index;
    int64_t most;  // Above it the window would leave the operand.
    int64_t stride;
  };
  std::vector<Start> starts;

  std::vector<NodeId> Needed() const;
};

// Of a body whose root is a scatter of one operand, with updates.
Result<std::unique_ptr<ScatterSpace>> ScatterSpaceOf(const FusionBody& body);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCATTER_SPACE_H_
