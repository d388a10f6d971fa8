// What a kernel that goes element by element iterates over.
#ifndef HLO_GPU_PLAN_LOOP_SPACE_H_
#define HLO_GPU_PLAN_LOOP_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// The outputs of one kernel. Variables are in the memory order of the first root, and kept.
struct LoopSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  std::vector<NodeId> Needed() const { return Values(); }
  std::vector<IndexExpr> Offsets() const;
};
using LoopSpaces = std::vector<std::unique_ptr<LoopSpace>>;

// Roots of as many elements, or one dynamic-update-slice of which only the update is written.
struct LoopRequest {
  std::vector<const FusionBody::Root*> roots;
  bool in_place = false;
  const Instruction* given = nullptr;  // Computed by the emitter before, if any.
};

// `flat`: all dimensions as one.
Result<std::unique_ptr<LoopSpace>> LoopSpaceOf(const FusionBody& body, const LoopRequest& request, bool flat);

std::vector<const FusionBody::Root*> AllRoots(const FusionBody& body);

// A space for each kernel that it takes to write all `roots`: those with the same number of elements share one. A
// dynamic-update-slice is written in place where that may be (in_place.h).
Result<LoopSpaces> LoopSpacesOf(const FusionBody& body, const std::vector<const FusionBody::Root*>& roots);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LOOP_SPACE_H_
