// Whether a result may lie where an operand lies, so that its kernel writes only what changes. It is decided here
// alone: a planner writes it into the plan (KernelPlan::in_place), an emitter asks whether a plan may say so, and
// whoever else wants to know (buffers, reports) reads the plan or what came of it.
#ifndef HLO_GPU_PLAN_IN_PLACE_H_
#define HLO_GPU_PLAN_IN_PLACE_H_

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// The leaf that a dynamic-update-slice or a scatter at `root` updates, where it lies as the result does and something
// is updated at all: of an empty update nothing would be written. -1: none.
int UpdatedLeaf(const FusionBody& body, const FusionBody::Root& root);

// Does a kernel over `space`, which needs `nodes`, read of the leaf what another thread may have overwritten: anything
// but the element that the same thread is about to write, at `own`? (No index: anything at all.)
bool ReadsLeaf(const IterationSpace& space, std::span<const NodeId> nodes, int leaf, IndexExpr own = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_IN_PLACE_H_
