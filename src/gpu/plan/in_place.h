// Decides whether a result may share an operand's memory, so that its kernel writes only changed elements. Emitters
// check KernelPlan::in_place with these functions.
#ifndef HLO_GPU_PLAN_IN_PLACE_H_
#define HLO_GPU_PLAN_IN_PLACE_H_

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// The leaf that `root`, a dynamic-update-slice or scatter, updates. -1 for other ops, if layout or type differs from
// the result's, and if the update is empty, because then no kernel would write the result.
int UpdatedLeaf(const FusionBody& body, const FusionBody::Root& root);

// Whether a kernel that computes `nodes` may read elements of the leaf that another thread has overwritten. Only reads
// at `own`, which the same thread writes next, are safe.
bool ReadsLeaf(const IterationSpace& space, std::span<const NodeId> nodes, int leaf, IndexExpr own = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_IN_PLACE_H_
