#include "gpu/plan/loop_space.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

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

// Sizes above 1, major to minor in memory, each with its logical dimension.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  std::vector<int64_t> dims;
  for (size_t i = shape.layout().minor_to_major.size(); i-- > 0;) {
    const int64_t d = shape.layout().minor_to_major[i];
    if (shape.dim(d) > 1) dims.push_back(d);
  }
  return dims;
}

// A space over the dimensions of the first root; groups[i] counts how many of them variable i stands for.
Result<std::unique_ptr<LoopSpace>> SpaceOver(const FusionBody& body, const LoopRequest& request,
                                             const std::vector<int>& groups) {
  auto space = std::make_unique<LoopSpace>(body);
  IndexPool& pool = space->pool;
  const Shape& shape = IterationShape(*request.roots[0], request.in_place);
  const std::vector<int64_t> order = MajorToMinor(shape);
  std::vector<IndexExpr> index(shape.rank(), pool.Constant(0));
  size_t next = 0;
  for (const int group : groups) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < group; ++i) sizes.push_back(shape.dim(order[next + i]));
    space->sizes.push_back(Product(sizes));
    space->variables.push_back(pool.Variable(0, space->sizes.back() - 1));
    const std::vector<IndexExpr> parts = pool.Delinearize(space->variables.back(), sizes);
    for (int i = 0; i < group; ++i) index[order[next + i]] = parts[i];
    next += group;
  }
  for (const FusionBody::Root* root : request.roots) {
    TRY(KernelType(*root->inst, root->shape->type()));
    if (!root->shape->layout().tiling->tiles.empty()) {
      FAIL(UnsupportedAt(*root->inst, "U104",
                         Str("no kernels for arrays of shape ", root->shape->ToStringWithLayout())));
    }
    if (request.in_place) {
      const Instruction& inst = *root->inst;
      std::vector<IndexExpr> to;
      for (int64_t d = 0; d < shape.rank(); ++d) {
        to.push_back(
            pool.Add(index[d], TRY(space->graph.Loaded(inst.operand(2 + d), {}, inst.shape().dim(d) - shape.dim(d)))));
      }
      space->outputs.push_back({root, TRY(space->graph.Plan(inst.operand(1), index)),
                                pool.Dot(to, LayoutStrides(*root->shape)), body.LeafOf(inst.operand(0))});
      continue;
    }
    const std::vector<IndexExpr> at = root->shape->dims() == shape.dims()
                                          ? index
                                          : pool.Delinearize(pool.Linearize(index, shape.dims()), root->shape->dims());
    space->outputs.push_back(
        {root, TRY(space->graph.Plan(*root->inst, at, root->result)), pool.Dot(at, LayoutStrides(*root->shape))});
  }
  return space;
}

// Does every expression see the neighbours a, b only as a * size_b + b?
bool MayMerge(const LoopSpace& space, IndexExpr a, IndexExpr b, int64_t size_b) {
  const IndexPool& pool = space.pool;
  const std::function<bool(IndexExpr)> consistent = [&](IndexExpr e) {
    if (!pool.DependsOn(e, a) && !pool.DependsOn(e, b)) return true;
    const IndexPool::Node& node = pool[e];
    if (node.kind == IndexPool::Kind::kVariable) return false;
    if (node.kind != IndexPool::Kind::kSum) return consistent(node.operand);
    int64_t of_a = 0, of_b = 0;
    for (const auto& term : node.terms) {
      if (term.atom == a) of_a = term.coefficient;
      else if (term.atom == b) of_b = term.coefficient;
      else if (!consistent(term.atom)) return false;
    }
    return of_a == of_b * size_b;
  };
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    if (!std::ranges::all_of(space.graph.Expressions(id), consistent)) return false;
  }
  return std::ranges::all_of(space.outputs, [&](const LoopSpace::Output& output) { return consistent(output.offset); });
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

std::vector<NodeId> LoopSpace::Values() const {
  std::vector<NodeId> values;
  for (const Output& output : outputs) values.push_back(output.value);
  // The nodes behind loaded indices of the offsets count too.
  for (const Output& output : outputs) {
    for (const int32_t variable : pool[output.offset].variables) {
      if (graph.IsLoadedIndex(variable)) values.push_back(graph.LoadedIndex(variable));
    }
  }
  return values;
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
  auto space = TRY(SpaceOver(body, request, std::vector<int>(rank, 1)));
  std::vector<int> groups;
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && MayMerge(*space, space->variables[i - 1], space->variables[i], space->sizes[i])) {
      ++groups.back();
    } else {
      groups.push_back(1);
    }
  }
  if (groups.size() == rank) return space;
  return SpaceOver(body, request, groups);
}

}  // namespace hlo::gpu
