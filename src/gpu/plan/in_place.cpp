#include "gpu/plan/in_place.h"

#include <algorithm>

#include "ir/analysis/dynamic_indices.h"

namespace hlo::gpu {

int UpdatedLeaf(const FusionBody& body, const FusionBody::Root& root) {
  const Instruction& inst = *root.inst;
  const bool is_slice = inst.Is(Opcode::kDynamicUpdateSlice) && HasScalarIndices(inst);
  const bool is_scatter = inst.Is(Opcode::kScatter) && inst.operand_count() == 3;
  if (!is_slice && !is_scatter) return -1;
  const Shape& update = inst.operand(is_slice ? 1 : 2).shape();
  if (update.NumElements() == 0 || update.type() != inst.shape().type()) return -1;
  const int leaf = body.LeafOf(inst.operand(0));
  const bool lies_alike =
      leaf >= 0 && body.leaves()[leaf].shape->layout().minor_to_major == root.shape->layout().minor_to_major;
  return lies_alike ? leaf : -1;
}

bool ReadsLeaf(const IterationSpace& space, std::span<const NodeId> nodes, int leaf, IndexExpr own) {
  return std::ranges::any_of(space.graph.Reachable(nodes), [&](NodeId id) {
    const ElementNode& node = space.graph.node(id);
    return node.kind == ElementNode::Kind::kLoad && node.leaf == leaf && (own.id < 0 || node.offset != own);
  });
}

}  // namespace hlo::gpu
