// Factor rules of ops whose indices are operands: docs/ops.md#gather-and-scatter.
#include "ir/factors/rule_builder.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

int64_t PlaceIn(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) - list.begin();
}

// Dimensions of gather and scatter. An outer array is gather's result or scatter's updates. It has the batch dimensions
// of the indices and the dimensions of a slice.
struct IndexedDims {
  std::span<const int64_t> outer_slice, dropped, indexed, array_batch, indices_batch;
  int64_t vector_dim;
  int64_t array_rank, indices_rank, outer_rank;

  // Returns -1 for a dropped dimension.
  int64_t OuterOfSlice(int64_t dim) const {
    if (Contains(dropped, dim) || Contains(array_batch, dim)) return -1;
    int64_t place = 0;
    for (int64_t i = 0; i < dim; ++i) place += !Contains(dropped, i) && !Contains(array_batch, i);
    return outer_slice[place];
  }
  int64_t OuterOfBatch(int64_t indices_dim) const {
    int64_t place = indices_dim - (vector_dim < indices_dim ? 1 : 0);
    for (int64_t dim = 0; dim < outer_rank; ++dim) {
      if (!Contains(outer_slice, dim) && place-- == 0) return dim;
    }
    return -1;
  }
};

}  // namespace

FactorRule FactorsOfGather(const Instruction& inst) {
  RuleBuilder rule(inst);
  const GatherAttrs& a = inst.attrs<GatherAttrs>();
  const Shape &array = inst.operand(0).shape(), &indices = inst.operand(1).shape();
  const IndexedDims dims{a.offset_dims,
                         a.collapsed_slice_dims,
                         a.start_index_map,
                         a.operand_batching_dims,
                         a.start_indices_batching_dims,
                         a.index_vector_dim,
                         array.rank(),
                         indices.rank(),
                         inst.shape().rank()};
  for (int64_t dim = 0; dim < array.rank(); ++dim) {
    const int64_t outer = dims.OuterOfSlice(dim), width = a.slice_sizes[dim];
    if (outer >= 0 && width == array.dim(dim)) {
      rule.AddFree(width, {InResult(outer), InOperand(0, dim)});
    } else if (Contains(dims.indexed, dim) && width > 0) {
      const FactorIndex index{1, PlaceIn(dims.indexed, dim), a.index_vector_dim, width};
      rule.Add({.size = array.dim(dim), .kind = FactorKind::kLook, .index = index}, {InOperand(0, dim)});
    }
  }
  for (int64_t dim = 0; dim < indices.rank(); ++dim) {
    if (dim == a.index_vector_dim) continue;
    std::vector<Spot> spots = {InResult(dims.OuterOfBatch(dim)), InOperand(1, dim)};
    const int64_t batch = PlaceIn(dims.indices_batch, dim);
    if (batch < std::ssize(dims.indices_batch)) spots.push_back(InOperand(0, dims.array_batch[batch]));
    rule.AddFree(indices.dim(dim), spots);
  }
  return rule.Finish();
}

// The batch of updates can be cut if their order does not matter: each part scatters into the reducer's identity.
FactorRule FactorsOfScatter(const Instruction& inst) {
  RuleBuilder rule(inst);
  const ScatterAttrs& a = inst.attrs<ScatterAttrs>();
  const int64_t arrays = inst.operand_count() / 2;
  const Shape &array = inst.operand(0).shape(), &indices = inst.operand(arrays).shape();
  const Shape& updates = inst.operand(arrays + 1).shape();
  const IndexedDims dims{a.update_window_dims,
                         a.inserted_window_dims,
                         a.scatter_dims_to_operand_dims,
                         a.input_batching_dims,
                         a.scatter_indices_batching_dims,
                         a.index_vector_dim,
                         array.rank(),
                         indices.rank(),
                         updates.rank()};
  const auto in_arrays = [&](int64_t dim) {
    std::vector<Spot> spots;
    for (int64_t i = 0; i < arrays; ++i) spots.insert(spots.end(), {InResult(dim, i), InOperand(i, dim)});
    return spots;
  };
  const auto add_updates = [&](std::vector<Spot>& spots, int64_t dim) {
    for (int64_t i = 0; i < arrays; ++i) spots.push_back(InOperand(arrays + 1 + i, dim));
  };
  for (int64_t dim = 0; dim < array.rank(); ++dim) {
    std::vector<Spot> spots = in_arrays(dim);
    const int64_t outer = dims.OuterOfSlice(dim), width = outer >= 0 ? updates.dim(outer) : 1;
    if (outer >= 0 && width == array.dim(dim)) {
      add_updates(spots, outer);
      rule.AddFree(width, spots);
    } else if (Contains(dims.indexed, dim) && width == 1) {
      const FactorIndex index{arrays, PlaceIn(dims.indexed, dim), a.index_vector_dim, 1, false};
      rule.Add({.size = array.dim(dim), .kind = FactorKind::kPut, .index = index}, spots);
    }
  }
  const std::optional<Opcode> op = arrays == 1 ? ReducerOp(*a.to_apply) : std::nullopt;
  const bool any_order = op && IdentityOf(*op, array.type());
  for (int64_t dim = 0; dim < indices.rank(); ++dim) {
    if (dim == a.index_vector_dim) continue;
    std::vector<Spot> spots = {InOperand(arrays, dim)};
    add_updates(spots, dims.OuterOfBatch(dim));
    const int64_t batch = PlaceIn(dims.indices_batch, dim);
    if (batch < std::ssize(dims.indices_batch)) {
      const std::vector<Spot> same = in_arrays(dims.array_batch[batch]);
      spots.insert(spots.end(), same.begin(), same.end());
      rule.AddFree(indices.dim(dim), spots);
    } else if (any_order) {
      rule.Add({.size = indices.dim(dim), .kind = FactorKind::kSum, .reducer = op, .used_once = {0}}, spots);
    }
  }
  return rule.Finish(any_order ? "" : "the order of updates matters");
}

FactorRule FactorsOfDynamicSlice(const Instruction& inst) {
  RuleBuilder rule(inst);
  const bool update = inst.Is(Opcode::kDynamicUpdateSlice);
  const Shape& array = inst.operand(0).shape();
  const Shape& slice = update ? inst.operand(1).shape() : inst.shape();
  const int64_t first = update ? 2 : 1;
  const bool vector = inst.operand_count() > first && inst.operand(first).shape().rank() == 1;
  for (int64_t dim = 0; dim < array.rank(); ++dim) {
    const int64_t width = slice.dim(dim);
    std::vector<Spot> spots = {InOperand(0, dim)};
    if (update) spots.push_back(InResult(dim));
    if (width == array.dim(dim)) {
      spots.push_back(update ? InOperand(1, dim) : InResult(dim));
      rule.AddFree(width, spots);
    } else if (width > 0) {
      const FactorIndex index{vector ? first : first + dim, vector ? dim : 0, 0, width};
      rule.Add({.size = array.dim(dim), .kind = update ? FactorKind::kPut : FactorKind::kLook, .index = index}, spots);
    }
  }
  return rule.Finish();
}

}  // namespace hlo
