#include "gpu/plan/scatter_space.h"

#include <algorithm>

namespace hlo::gpu {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t d) { return std::ranges::find(list, d) != list.end(); }

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

Status PlanUpdates(const Instruction& inst, ScatterSpace& space) {
  const auto& attrs = inst.attrs<ScatterAttrs>();
  const Instruction &operand = inst.operand(0), &indices = inst.operand(1), &updates = inst.operand(2);
  const std::vector<int64_t> strides = LayoutStrides(inst.shape());
  for (int64_t d = 0; d < updates.shape().rank(); ++d) {
    (Contains(attrs.update_window_dims, d) ? space.window_sizes : space.scatter_sizes)
        .push_back(updates.shape().dim(d));
  }
  space.scatter = space.pool.Variable(0, Product(space.scatter_sizes) - 1);
  space.window = space.pool.Variable(0, Product(space.window_sizes) - 1);
  const std::vector<IndexExpr> scatter = space.pool.Delinearize(space.scatter, space.scatter_sizes);
  const std::vector<IndexExpr> window = space.pool.Delinearize(space.window, space.window_sizes);
  std::vector<IndexExpr> at;
  size_t next_scatter = 0, next_window = 0;
  for (int64_t d = 0; d < updates.shape().rank(); ++d) {
    at.push_back(Contains(attrs.update_window_dims, d) ? window[next_window++] : scatter[next_scatter++]);
  }
  space.update = TRY(space.graph.Plan(updates, at));

  space.window_offset = space.pool.Constant(0);
  next_window = 0;
  for (int64_t d = 0; d < operand.shape().rank(); ++d) {
    int64_t extent = 1;
    if (!Contains(attrs.inserted_window_dims, d) && !Contains(attrs.input_batching_dims, d)) {
      extent = space.window_sizes[next_window];
      space.window_offset = space.pool.Add(space.window_offset, space.pool.Multiply(window[next_window++], strides[d]));
    }
    const auto batching = std::ranges::find(attrs.input_batching_dims, d);
    if (batching != attrs.input_batching_dims.end()) {
      int64_t dim = attrs.scatter_indices_batching_dims[batching - attrs.input_batching_dims.begin()];
      dim -= dim > attrs.index_vector_dim ? 1 : 0;
      space.window_offset = space.pool.Add(space.window_offset, space.pool.Multiply(scatter[dim], strides[d]));
      continue;
    }
    const auto k = std::ranges::find(attrs.scatter_dims_to_operand_dims, d);
    if (k == attrs.scatter_dims_to_operand_dims.end()) continue;
    std::vector<IndexExpr> component = scatter;
    if (attrs.index_vector_dim < indices.shape().rank()) {
      component.insert(component.begin() + attrs.index_vector_dim,
                       space.pool.Constant(k - attrs.scatter_dims_to_operand_dims.begin()));
    }
    space.starts.push_back({TRY(space.graph.Plan(indices, component)), operand.shape().dim(d) - extent, strides[d]});
    space.windows_overlap |= extent > 1 && operand.shape().dim(d) > extent;
  }
  return {};
}

}  // namespace

std::vector<NodeId> ScatterSpace::Needed() const {
  std::vector<NodeId> needed = {update};
  for (const Start& start : starts) needed.push_back(start.index);
  return needed;
}

Result<std::unique_ptr<ScatterSpace>> ScatterSpaceOf(const FusionBody& body) {
  const FusionBody::Root& root = body.roots()[0];
  auto space = std::make_unique<ScatterSpace>(body);
  TRY(PlanUpdates(*root.inst, *space));
  // In place when the operand is a leaf in the result's layout that the updates do not read.
  int leaf = body.LeafOf(root.inst->operand(0));
  if (leaf >= 0 && body.leaves()[leaf].shape->layout().minor_to_major != root.shape->layout().minor_to_major) leaf = -1;
  for (const NodeId id : space->graph.Reachable(space->Needed())) {
    const ElementNode& node = space->graph.node(id);
    if (node.kind == ElementNode::Kind::kLoad && node.leaf == leaf) leaf = -1;
  }
  space->in_place_leaf = leaf;
  return space;
}

}  // namespace hlo::gpu
