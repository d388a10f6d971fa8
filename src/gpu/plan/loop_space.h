// What a kernel that goes element by element iterates over.
#ifndef HLO_GPU_PLAN_LOOP_SPACE_H_
#define HLO_GPU_PLAN_LOOP_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/elemental.h"

namespace hlo::gpu {

// The outputs of one kernel over one space of indices, whose neighbouring dimensions are merged where no access tells
// them apart.
struct LoopSpace {
  explicit LoopSpace(const FusionBody& body) : graph(body, pool) {}
  LoopSpace(const LoopSpace&) = delete;

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
using LoopSpaces = std::vector<std::unique_ptr<LoopSpace>>;

// Roots of as many elements, or one dynamic-update-slice of which only the update is written.
struct LoopRequest {
  std::vector<const FusionBody::Root*> roots;
  bool in_place = false;
};

// `flat`: all dimensions as one.
Result<std::unique_ptr<LoopSpace>> LoopSpaceOf(const FusionBody& body, const LoopRequest& request, bool flat);

std::vector<const FusionBody::Root*> AllRoots(const FusionBody& body);

// A space for each kernel that it takes to write all `roots`: those with the same number of elements share one. A
// dynamic-update-slice is written in place where nothing else reads the leaf that it updates, but for elements that the
// same thread is about to write; nowhere else is that decided.
Result<LoopSpaces> LoopSpacesOf(const FusionBody& body, const std::vector<const FusionBody::Root*>& roots);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LOOP_SPACE_H_
