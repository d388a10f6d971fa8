// The loop emitter: one thread computes a few neighbouring elements of every output.
#ifndef HLO_GPU_EMITTERS_LOOP_H_
#define HLO_GPU_EMITTERS_LOOP_H_

#include <functional>
#include <memory>
#include <vector>

#include "gpu/emitters/elemental.h"
#include "gpu/emitters/emitter.h"
#include "gpu/emitters/frame.h"

namespace hlo::gpu {

// The outputs of one kernel over one space of indices, whose neighbouring dimensions are merged where no access tells
// them apart.
struct LoopPlan {
  explicit LoopPlan(const FusionBody& body) : graph(body, pool) {}
  LoopPlan(const LoopPlan&) = delete;

  struct Output {
    const FusionBody::Root* root;
    NodeId value;
    IndexExpr offset;        // In elements of the root's buffer.
    int in_place_leaf = -1;  // The rest of the root comes from this leaf.
  };

  IndexPool pool;
  ElementGraph graph;
  std::vector<IndexExpr> variables;  // Major to minor, in the memory order of the first root.
  std::vector<int64_t> sizes;
  std::vector<Output> outputs;

  std::vector<NodeId> Values() const;
};

// One plan for each group of roots with the same number of elements. `flat`: all dimensions as one.
Result<std::vector<std::unique_ptr<LoopPlan>>> PlanLoops(const FusionBody& body,
                                                         const std::vector<const FusionBody::Root*>& roots);
Result<std::unique_ptr<LoopPlan>> Flattened(const FusionBody& body, const LoopPlan& plan);

// Emits the outputs over a tile: choices that are the same for the whole tile become branches around it.
// `lane` varies in the tile, over [begin, begin + step) of its size; the other variables are bound. `in_tile` may bind
// more.
void EmitTile(LoopPlan& plan, KernelFrame& frame, const std::vector<kernel::Array>& arrays, int width, IndexExpr lane,
              kernel::Value begin, int64_t step, const std::function<void(kernel::Value)>& in_tile = nullptr);

Result<KernelPlan> EmitLoop(const FusionBody& body, std::unique_ptr<LoopPlan> plan, const EmitterOptions& options,
                            std::string_view suffix);

// Arrays for the outputs of a plan, marked sharable where that is right.
std::vector<kernel::Array> MakeOutputs(LoopPlan& plan, KernelFrame& frame);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_LOOP_H_
