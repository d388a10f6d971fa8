// The iteration space of an elementwise kernel.
#ifndef HLO_GPU_PLAN_LOOP_SPACE_H_
#define HLO_GPU_PLAN_LOOP_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// A loop's variables are all kept. With `flat` there is only one.
struct LoopSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  std::vector<NodeId> Needed() const { return Values(); }
  std::vector<IndexExpr> Offsets() const;
};
using LoopSpaces = std::vector<std::unique_ptr<LoopSpace>>;

// Roots with equally many elements, or one dynamic-update-slice that is written in place.
struct LoopRequest {
  std::vector<const FusionBody::Root*> roots;
  bool in_place = false;
  const Instruction* given = nullptr;  // An instruction that the emitter computes itself, or null.
};

Result<std::unique_ptr<LoopSpace>> LoopSpaceOf(const FusionBody& body, const LoopRequest& request, bool flat);

std::vector<const FusionBody::Root*> AllRoots(const FusionBody& body);

// Roots with equally many elements share a kernel. A dynamic-update-slice is written in place if possible (in_place.h).
Result<LoopSpaces> LoopSpacesOf(const FusionBody& body, const std::vector<const FusionBody::Root*>& roots);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LOOP_SPACE_H_
