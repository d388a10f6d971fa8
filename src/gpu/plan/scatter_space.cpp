#include "gpu/plan/scatter_space.h"

#include <algorithm>

#include "gpu/plan/in_place.h"
#include "ir/dimensions.h"

namespace hlo::gpu {
namespace {

Status PlanUpdates(const FusionBody::Root& root, ScatterSpace& space) {
  const Instruction& inst = *root.inst;
  const auto& attrs = inst.attrs<ScatterAttrs>();
  const Instruction &operand = inst.operand(0), &indices = inst.operand(1), &updates = inst.operand(2);
  IndexPool& pool = space.pool;
  const std::vector<int64_t> strides = LayoutStrides(inst.shape());
  std::vector<int64_t> scatter_sizes, window_sizes;
  for (int64_t d = 0; d < updates.shape().rank(); ++d)
    (Contains(attrs.update_window_dims, d) ? window_sizes : scatter_sizes).push_back(updates.shape().dim(d));
  const auto add = [&](const std::vector<int64_t>& sizes, Role role) {
    const int64_t size = Product(sizes);
    space.variables.push_back({pool.Variable(0, size - 1), size, role});
  };
  add(scatter_sizes, Role::kScanned);
  add(window_sizes, Role::kKept);
  const std::vector<IndexExpr> scatter = pool.Delinearize(space.indices().e, scatter_sizes);
  const std::vector<IndexExpr> window = pool.Delinearize(space.window().e, window_sizes);
  std::vector<IndexExpr> at;
  size_t next_scatter = 0, next_window = 0;
  for (int64_t d = 0; d < updates.shape().rank(); ++d)
    at.push_back(Contains(attrs.update_window_dims, d) ? window[next_window++] : scatter[next_scatter++]);
  const NodeId update = TRY(space.graph.Plan(updates, at));

  IndexExpr offset = pool.Constant(0);
  next_window = 0;
  for (int64_t d = 0; d < operand.shape().rank(); ++d) {
    int64_t extent = 1;
    if (!Contains(attrs.inserted_window_dims, d) && !Contains(attrs.input_batching_dims, d)) {
      extent = window_sizes[next_window];
      offset = pool.Add(offset, pool.Multiply(window[next_window++], strides[d]));
    }
    const auto batching = std::ranges::find(attrs.input_batching_dims, d);
    if (batching != attrs.input_batching_dims.end()) {
      int64_t dim = attrs.scatter_indices_batching_dims[batching - attrs.input_batching_dims.begin()];
      dim -= dim > attrs.index_vector_dim ? 1 : 0;
      offset = pool.Add(offset, pool.Multiply(scatter[dim], strides[d]));
      continue;
    }
    const auto k = std::ranges::find(attrs.scatter_dims_to_operand_dims, d);
    if (k == attrs.scatter_dims_to_operand_dims.end()) continue;
    std::vector<IndexExpr> component = scatter;
    if (attrs.index_vector_dim < indices.shape().rank()) {
      component.insert(component.begin() + attrs.index_vector_dim,
                       pool.Constant(k - attrs.scatter_dims_to_operand_dims.begin()));
    }
    space.starts.push_back({TRY(space.graph.Plan(indices, component)), operand.shape().dim(d) - extent, strides[d]});
    space.windows_overlap |= extent > 1 && operand.shape().dim(d) > extent;
  }
  space.outputs.push_back({&root, update, offset});
  return {};
}

}  // namespace

std::vector<NodeId> ScatterSpace::Needed() const {
  std::vector<NodeId> needed = {outputs[0].value};
  for (const Start& start : starts) needed.push_back(start.index);
  return needed;
}

Result<std::unique_ptr<ScatterSpace>> ScatterSpaceOf(const FusionBody& body) {
  const FusionBody::Root& root = body.roots()[0];
  auto space = std::make_unique<ScatterSpace>(body);
  TRY(PlanUpdates(root, *space));
  const int leaf = UpdatedLeaf(body, root);
  if (leaf >= 0 && !ReadsLeaf(*space, space->Needed(), leaf)) space->outputs[0].in_place_leaf = leaf;
  return space;
}

}  // namespace hlo::gpu
