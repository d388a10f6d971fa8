#include "gpu/plan/loop_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;

// May the root write into the leaf that it updates, as far as that is seen from it alone? Of an empty update nothing
// would be written at all.
bool IsInPlaceRoot(const FusionBody& body, const FusionBody::Root& root) {
  const Instruction& inst = *root.inst;
  if (!inst.Is(Opcode::kDynamicUpdateSlice) || inst.operand_count() != 2 + inst.shape().rank()) return false;
  if (inst.operand(1).shape().NumElements() == 0) return false;
  const int leaf = body.LeafOf(inst.operand(0));
  return leaf >= 0 && body.leaves()[leaf].shape->layout().minor_to_major == inst.shape().layout().minor_to_major;
}

const Shape& IterationShape(const FusionBody::Root& root, bool in_place) {
  return in_place ? root.inst->operand(1).shape() : *root.shape;
}

// A space over the dimensions of the first root; groups[i] counts how many of them variable i stands for.
Result<std::unique_ptr<LoopSpace>> SpaceOver(const FusionBody& body, const LoopRequest& request,
                                             const std::vector<int>& groups) {
  auto space = std::make_unique<LoopSpace>(body);
  IndexPool& pool = space->pool;
  const Shape& shape = IterationShape(*request.roots[0], request.in_place);
  const std::vector<IndexExpr> index = AddVariables(*space, shape, groups, [](int64_t) { return Role::kKept; });
  for (const FusionBody::Root* root : request.roots) {
    TRY(KernelType(*root->inst, root->shape->type()));
    if (!root->shape->layout().tiling->tiles.empty()) {
      FAIL(UnsupportedAt(*root->inst, "U104",
                         Str("no kernels for arrays of shape ", root->shape->ToStringWithLayout())));
    }
    if (!request.in_place) {
      space->outputs.push_back(TRY(OutputAt(*space, *root, index, shape.dims())));
      continue;
    }
    const Instruction& inst = *root->inst;
    std::vector<IndexExpr> to;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      to.push_back(
          pool.Add(index[d], TRY(space->graph.Loaded(inst.operand(2 + d), {}, inst.shape().dim(d) - shape.dim(d)))));
    }
    const NodeId update = TRY(space->graph.Plan(inst.operand(1), index));
    space->outputs.push_back({root, update, pool.Dot(to, LayoutStrides(*root->shape)), body.LeafOf(inst.operand(0))});
  }
  return space;
}

// The leaf of an in-place root must be read nowhere else.
bool ReadsOnlyInPlace(const LoopSpaces& spaces, const LoopSpace& owner) {
  const int leaf = owner.outputs[0].in_place_leaf;
  for (const auto& space : spaces) {
    for (const NodeId id : space->graph.Reachable(space->Values())) {
      const ElementNode& node = space->graph.node(id);
      if (node.kind != Kind::kLoad || node.leaf != leaf) continue;
      if (space.get() != &owner || node.offset != owner.outputs[0].offset) return false;
    }
    if (space.get() != &owner && space->outputs[0].in_place_leaf == leaf) return false;
  }
  return true;
}

}  // namespace

std::vector<IndexExpr> LoopSpace::Offsets() const {
  std::vector<IndexExpr> offsets;
  for (const Output& output : outputs) offsets.push_back(output.offset);
  return offsets;
}

std::vector<const FusionBody::Root*> AllRoots(const FusionBody& body) {
  std::vector<const FusionBody::Root*> roots;
  for (const FusionBody::Root& root : body.roots()) roots.push_back(&root);
  return roots;
}

Result<LoopSpaces> LoopSpacesOf(const FusionBody& body, const std::vector<const FusionBody::Root*>& roots) {
  std::vector<bool> in_place;
  for (const FusionBody::Root* root : roots) in_place.push_back(IsInPlaceRoot(body, *root));
  for (;;) {
    std::vector<LoopRequest> requests;
    for (size_t i = 0; i < roots.size(); ++i) {
      const int64_t elements = IterationShape(*roots[i], in_place[i]).NumElements();
      if (elements == 0) continue;
      const auto same = std::ranges::find_if(requests, [&](const LoopRequest& request) {
        return !request.in_place && !in_place[i] && request.roots[0]->shape->NumElements() == elements;
      });
      if (same == requests.end()) {
        requests.push_back({{roots[i]}, in_place[i]});
      } else {
        same->roots.push_back(roots[i]);
      }
    }
    LoopSpaces spaces;
    for (const LoopRequest& request : requests) spaces.push_back(TRY(LoopSpaceOf(body, request, /*flat=*/false)));
    bool changed = false;
    for (const auto& space : spaces) {
      if (space->outputs[0].in_place_leaf < 0 || ReadsOnlyInPlace(spaces, *space)) continue;
      const size_t i = std::ranges::find(roots, space->outputs[0].root) - roots.begin();
      in_place[i] = false;
      changed = true;
    }
    if (!changed) return spaces;
  }
}

Result<std::unique_ptr<LoopSpace>> LoopSpaceOf(const FusionBody& body, const LoopRequest& request, bool flat) {
  const size_t rank = MajorToMinor(IterationShape(*request.roots[0], request.in_place)).size();
  if (flat) return SpaceOver(body, request, {static_cast<int>(rank)});
  return Merged<LoopSpace>(rank, [&](const std::vector<int>& groups) { return SpaceOver(body, request, groups); });
}

}  // namespace hlo::gpu
