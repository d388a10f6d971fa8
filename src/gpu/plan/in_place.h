// Decides whether a result may share the memory of an operand, so that its kernel writes only the changed elements.
// Only planners decide it and write it into the plan (KernelPlan::in_place). Emitters check the plan with these
// functions, and buffers and reports read the plan.
#ifndef HLO_GPU_PLAN_IN_PLACE_H_
#define HLO_GPU_PLAN_IN_PLACE_H_

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// The leaf that a dynamic-update-slice or scatter at `root` updates. -1 if there is none or its layout differs from the
// result's. Also -1 if the update is empty, because then no kernel would write the result.
int UpdatedLeaf(const FusionBody& body, const FusionBody::Root& root);

// Whether a kernel over `space` that computes `nodes` may read elements of the leaf that another thread has
// overwritten. The only safe read is the element at `own`, which the same thread writes next. Without `own`, any read
// counts.
bool ReadsLeaf(const IterationSpace& space, std::span<const NodeId> nodes, int leaf, IndexExpr own = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_IN_PLACE_H_
