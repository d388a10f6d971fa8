// What a scatter kernel iterates over.
#ifndef HLO_GPU_PLAN_SCATTER_SPACE_H_
#define HLO_GPU_PLAN_SCATTER_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/elemental.h"

namespace hlo::gpu {

struct ScatterSpace {
  explicit ScatterSpace(const FusionBody& body) : graph(body, pool) {}
  ScatterSpace(const ScatterSpace&) = delete;

  IndexPool pool;
  ElementGraph graph;
  std::vector<int64_t> scatter_sizes, window_sizes;
  IndexExpr scatter, window;  // Linear, row-major.
  NodeId update = -1;
  IndexExpr window_offset;  // In the output, from where the window starts.
  bool windows_overlap = false;
  struct Start {  // A dimension whose start is loaded.
    NodeId index;
    int64_t most;  // Above it the window would leave the operand.
    int64_t stride;
  };
  std::vector<Start> starts;
  int in_place_leaf = -1;  // The leaf that the scatter updates, where nothing else of the fusion reads it.

  std::vector<NodeId> Needed() const;
};

// Of a body whose root is a scatter of one operand, with updates.
Result<std::unique_ptr<ScatterSpace>> ScatterSpaceOf(const FusionBody& body);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCATTER_SPACE_H_
