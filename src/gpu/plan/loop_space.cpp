#include "gpu/plan/loop_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/plan/in_place.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

const Shape& IterationShape(const FusionBody::Root& root, bool in_place) {
  return in_place ? root.inst->operand(1).shape() : *root.shape;
}

Result<std::unique_ptr<LoopSpace>> SpaceOver(const FusionBody& body, const LoopRequest& request,
                                             const std::vector<int>& groups) {
  auto space = std::make_unique<LoopSpace>(body);
  if (request.given != nullptr) space->graph.SetGiven(*request.given);
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
    space->outputs.push_back({root, update, pool.Dot(to, LayoutStrides(*root->shape)), UpdatedLeaf(body, *root)});
  }
  return space;
}

// Whether `owner` alone updates its leaf, which is read only where the same thread then writes.
bool ReadsOnlyInPlace(const LoopSpaces& spaces, const LoopSpace& owner) {
  const LoopSpace::Output& output = owner.outputs[0];
  return std::ranges::none_of(spaces, [&](const auto& space) {
    if (space.get() == &owner) return ReadsLeaf(owner, owner.Values(), output.in_place_leaf, output.offset);
    return space->outputs[0].in_place_leaf == output.in_place_leaf ||
           ReadsLeaf(*space, space->Values(), output.in_place_leaf);
  });
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
  for (const FusionBody::Root* root : roots)
    in_place.push_back(root->inst->Is(Opcode::kDynamicUpdateSlice) && UpdatedLeaf(body, *root) >= 0);
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
