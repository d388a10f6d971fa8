// Rules of algsimp for dynamic-slice, dynamic-update-slice, gather and scatter.
#include <algorithm>
#include <limits>

#include "ir/analysis/dynamic_indices.h"
#include "ir/dimensions.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

// Empty if an index is not a scalar, or a size is dynamic.
std::vector<Instruction*> IndicesOf(const Instruction& inst) {
  const int64_t first = inst.Is(Opcode::kDynamicSlice) ? 1 : 2;
  if (!HasScalarIndices(inst) || !IsStatic(inst)) return {};
  return {inst.operands().begin() + first, inst.operands().end()};
}

const Shape& PartOf(const Instruction& inst) {
  return inst.Is(Opcode::kDynamicSlice) ? inst.shape() : inst.operand(1).shape();
}

Instruction* IndexConstant(Instruction& inst, PrimitiveType type, int64_t value) {
  return &inst.computation().AddConstant(Literal::Scalar(type, value));
}

Instruction* AddIndices(Instruction& inst, std::vector<Instruction*> operands, const std::vector<Instruction*>& indices,
                        Opcode opcode, Shape shape) {
  operands.insert(operands.end(), indices.begin(), indices.end());
  if (opcode == Opcode::kDynamicUpdateSlice) return Step(inst, opcode, std::move(shape), operands);
  const std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  return Step(inst, opcode, std::move(shape), operands, DynamicSliceAttrs{sizes});
}

int64_t LargestOf(PrimitiveType type) {
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}

// Clamps to [0, from - size], the valid starts of `size` elements out of `from`.
Instruction* Clamped(Instruction& inst, Instruction& index, int64_t from, int64_t size) {
  const PrimitiveType type = index.shape().type();
  Instruction* low = IndexConstant(inst, type, 0);
  Instruction* high = IndexConstant(inst, type, std::min(from - size, LargestOf(type)));
  return Step(inst, Opcode::kClamp, index.shape(), {low, &index, high});
}

// In a dimension that is taken as a whole, the index is clamped to 0.
Result<Instruction*> IndexOfWhole(Instruction& inst, const PassContext&) {
  std::vector<Instruction*> indices = IndicesOf(inst);
  bool changed = false;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (PartOf(inst).dim(d) != inst.operand(0).shape().dim(d) || indices[d]->IsConstantOf(0)) continue;
    indices[d] = IndexConstant(inst, indices[d]->shape().type(), 0);
    changed = true;
  }
  if (!changed) return nullptr;
  std::vector<Instruction*> operands = {&inst.operand(0)};
  if (inst.Is(Opcode::kDynamicUpdateSlice)) operands.push_back(&inst.operand(1));
  operands.insert(operands.end(), indices.begin(), indices.end());
  return Replace(inst, inst.opcode(), operands, inst.attributes());
}

Result<Instruction*> DynamicSliceOfBroadcast(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  const std::vector<Instruction*> indices = IndicesOf(inst);
  if (indices.empty() || !broadcast.Is(Opcode::kBroadcast) || !IsStatic(broadcast)) return nullptr;
  Instruction& x = broadcast.operand(0);
  std::vector<Instruction*> of_x;
  std::vector<int64_t> sizes;
  for (const int64_t d : broadcast.dimensions()) {
    of_x.push_back(indices[d]);
    sizes.push_back(inst.shape().dim(d));
  }
  if (of_x.empty()) return nullptr;  // A.bcast.5 handles this.
  Instruction* part = AddIndices(inst, {&x}, of_x, Opcode::kDynamicSlice, x.shape().WithDims(sizes));
  return Replace(inst, Opcode::kBroadcast, {part}, broadcast.attributes());
}

Result<Instruction*> DynamicSliceOfView(Instruction& inst, const PassContext&) {
  Instruction& view = inst.operand(0);
  const std::vector<Instruction*> indices = IndicesOf(inst);
  if (indices.empty() || !IsStatic(view)) return nullptr;
  if (view.Is(Opcode::kTranspose)) {
    Instruction& x = view.operand(0);
    std::vector<Instruction*> of_x(indices.size());
    std::vector<int64_t> sizes(indices.size());
    for (size_t d = 0; d < indices.size(); ++d) {
      of_x[view.dimensions()[d]] = indices[d];
      sizes[view.dimensions()[d]] = inst.shape().dim(d);
    }
    Instruction* part = AddIndices(inst, {&x}, of_x, Opcode::kDynamicSlice, x.shape().WithDims(sizes));
    return Replace(inst, Opcode::kTranspose, {part}, view.attributes());
  }
  if (!view.Is(Opcode::kReshape)) return nullptr;
  Instruction& x = view.operand(0);
  const auto paired = PairDimensions(x.shape(), view.shape());
  if (!paired || x.shape().rank() == 0) return nullptr;
  std::vector<Instruction*> of_x(x.shape().rank(), nullptr);
  std::vector<int64_t> sizes(x.shape().rank(), 1);
  for (int64_t d = 0; d < view.shape().rank(); ++d) {
    const int64_t from = (*paired)[d];
    if (from < 0 && inst.shape().dim(d) != 1) return nullptr;
    if (from < 0) continue;
    of_x[from] = indices[d];
    sizes[from] = inst.shape().dim(d);
  }
  if (std::ranges::find(of_x, nullptr) != of_x.end()) return nullptr;  // The reshape also removes dimensions.
  Instruction* part = AddIndices(inst, {&x}, of_x, Opcode::kDynamicSlice, x.shape().WithDims(sizes));
  return Replace(inst, Opcode::kReshape, {part});
}

// Both indices are clamped before the addition.
Result<Instruction*> DynamicSliceTwice(Instruction& inst, const PassContext&) {
  Instruction& inner = inst.operand(0);
  if (!inner.Is(Opcode::kDynamicSlice)) return nullptr;
  const std::vector<Instruction*> outer_indices = IndicesOf(inst), inner_indices = IndicesOf(inner);
  if (outer_indices.empty() || inner_indices.empty()) return nullptr;
  Instruction& x = inner.operand(0);
  for (size_t d = 0; d < outer_indices.size(); ++d) {
    const PrimitiveType type = outer_indices[d]->shape().type();
    if (type != inner_indices[d]->shape().type() || x.shape().dim(d) > LargestOf(type)) return nullptr;
  }
  std::vector<Instruction*> indices;
  for (size_t d = 0; d < outer_indices.size(); ++d) {
    const int64_t all = x.shape().dim(d), middle = inner.shape().dim(d), size = inst.shape().dim(d);
    if (all == middle || middle == size) {
      indices.push_back(all == middle ? outer_indices[d] : inner_indices[d]);
      continue;
    }
    Instruction* from = Clamped(inst, *inner_indices[d], all, middle);
    Instruction* then = Clamped(inst, *outer_indices[d], middle, size);
    indices.push_back(Step(inst, Opcode::kAdd, from->shape(), {from, then}));
  }
  return AddIndices(inst, {&x}, indices, Opcode::kDynamicSlice, inst.shape());
}

Result<Instruction*> ElementOfIota(Instruction& inst, const PassContext&) {
  if (inst.shape().rank() != 1 || inst.shape().dim(0) != 1) return nullptr;
  const std::vector<Instruction*> indices = IndicesOf(inst);
  Instruction *iota = nullptr, *scale = nullptr;
  if (!m::Multiply(m::Iota(&iota), m::AnyConstant(&scale))(&inst.operand(0))) iota = &inst.operand(0), scale = nullptr;
  if (scale != nullptr && ScalarOf(*scale) == nullptr) return nullptr;
  if (indices.empty() || !iota->Is(Opcode::kIota) || !IsStaticOfOneType(inst.operand(0))) return nullptr;
  const PrimitiveType type = indices[0]->shape().type();
  if ((type != PrimitiveType::kS32 && type != PrimitiveType::kU32) || iota->shape().dim(0) > LargestOf(type) ||
      !(IsInteger(inst.shape().type()) ||
        (IsFloat(inst.shape().type()) && HoldsCount(inst.shape().type(), iota->shape().dim(0)))))
    return nullptr;
  Instruction* number = Clamped(inst, *indices[0], iota->shape().dim(0), 1);
  if (type != inst.shape().type()) number = Step(inst, Opcode::kConvert, Shape::Scalar(inst.shape().type()), {number});
  if (scale != nullptr) number = Step(inst, Opcode::kMultiply, number->shape(), {number, &scale->operand(0)});
  return Replace(inst, Opcode::kReshape, {number});
}

Result<Instruction*> UpdateOfTakenPart(Instruction& inst, const PassContext&) {
  Instruction &a = inst.operand(0), &part = inst.operand(1);
  if (!part.Is(Opcode::kDynamicUpdateSlice) || !m::OneUse(m::Any())(&part) ||
      !part.operand(0).Is(Opcode::kDynamicSlice) || &part.operand(0).operand(0) != &a)
    return nullptr;
  const std::vector<Instruction*> at = IndicesOf(inst), taken = IndicesOf(part.operand(0)), within = IndicesOf(part);
  if (at.empty() || at != taken || within.empty()) return nullptr;
  for (size_t d = 0; d < at.size(); ++d) {
    const PrimitiveType type = at[d]->shape().type();
    if (type != within[d]->shape().type() || a.shape().dim(d) > LargestOf(type)) return nullptr;
  }
  std::vector<Instruction*> indices;
  for (size_t d = 0; d < at.size(); ++d) {
    const int64_t all = a.shape().dim(d), middle = part.shape().dim(d), size = part.operand(1).shape().dim(d);
    Instruction* from = Clamped(inst, *at[d], all, middle);
    Instruction* then = Clamped(inst, *within[d], middle, size);
    indices.push_back(Step(inst, Opcode::kAdd, from->shape(), {from, then}));
  }
  return AddIndices(inst, {&a, &part.operand(1)}, indices, Opcode::kDynamicUpdateSlice, inst.shape());
}

// x + dynamic-update-slice(0, y, i) adds only y to x. For floats the zero must be -0, or x never -0, because -0 + 0 is
// +0.
Result<Instruction*> AddUpdateOfZero(Instruction& inst, const PassContext&) {
  Instruction *x, *update;
  if (!IsStaticOfOneType(inst) || !m::Add(m::Any(&x), m::OneUse(m::DynamicUpdateSlice(&update)))(&inst)) return nullptr;
  Instruction &zero = update->operand(0), &y = update->operand(1);
  const std::vector<Instruction*> indices = IndicesOf(*update);
  if (indices.empty() || !IsNeutral(zero, Opcode::kAdd) || IsComplex(inst.shape().type())) return nullptr;
  if (NeverNegativeZero(zero) && !NeverNegativeZero(*x)) return nullptr;
  Instruction* part = AddIndices(inst, {x}, indices, Opcode::kDynamicSlice, y.shape());
  Instruction* sum = Step(inst, Opcode::kAdd, y.shape(), {part, &y});
  return AddIndices(inst, {x, sum}, indices, Opcode::kDynamicUpdateSlice, inst.shape());
}

// The two values of the select may be swapped.
Result<Instruction*> SelectOfUpdate(Instruction& inst, const PassContext&) {
  Instruction* p = &inst.operand(0);
  if (p->Is(Opcode::kBroadcast)) p = &p->operand(0);
  if (!p->shape().IsScalar() || !IsStatic(inst)) return nullptr;
  for (int i = 1; i <= 2; ++i) {
    Instruction &x = inst.operand(i), &update = inst.operand(3 - i);
    if (!update.Is(Opcode::kDynamicUpdateSlice) || !m::OneUse(m::Any())(&update) || &update.operand(0) != &x) continue;
    Instruction& v = update.operand(1);
    const std::vector<Instruction*> indices = IndicesOf(update);
    if (indices.empty() || v.shape().type() != x.shape().type()) continue;
    Instruction* part = AddIndices(inst, {&x}, indices, Opcode::kDynamicSlice, v.shape());
    Instruction* chosen = Step(inst, Opcode::kSelect, v.shape(), {p, i == 1 ? part : &v, i == 1 ? &v : part});
    return AddIndices(inst, {&x, chosen}, indices, Opcode::kDynamicUpdateSlice, inst.shape());
  }
  return nullptr;
}

// The reshape may only add and remove dimensions of size 1.
Result<Instruction*> ReshapeOfUpdate(Instruction& inst, const PassContext&) {
  Instruction& update = inst.operand(0);
  if (!update.Is(Opcode::kDynamicUpdateSlice) || !m::OneUse(m::Any())(&update) || !IsStatic(inst)) return nullptr;
  const std::vector<Instruction*> indices = IndicesOf(update);
  const auto paired = PairDimensions(update.shape(), inst.shape());
  if (indices.empty() || !paired || inst.shape().IsScalar() || update.operand(1).shape().NumElements() == 0)
    return nullptr;
  std::vector<Instruction*> new_indices;
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const int64_t from = (*paired)[d];
    new_indices.push_back(from < 0 ? IndexConstant(inst, indices[0]->shape().type(), 0) : indices[from]);
    sizes.push_back(from < 0 ? 1 : update.operand(1).shape().dim(from));
  }
  Instruction* x = Replace(inst, Opcode::kReshape, {&update.operand(0)});
  Instruction* u = Step(inst, Opcode::kReshape, inst.shape().WithDims(sizes), {&update.operand(1)});
  return AddIndices(inst, {x, u}, new_indices, Opcode::kDynamicUpdateSlice, inst.shape());
}

// ---- Gathers and scatters -------------------------------------------------------------------------------------------

Result<Instruction*> GatherOfScalar(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  if (!IsStatic(inst) || x.shape().type() != inst.shape().type()) return nullptr;
  if (x.shape().NumElements() == 0) return ConstantLike(inst, 0);
  if (x.shape().rank() != 0) return nullptr;
  return inst.shape().IsScalar() ? &x : Replace(inst, Opcode::kBroadcast, {&x}, DimensionsAttrs{});
}

constexpr int64_t kVerySmallGather = 4;  // XLA's very_small_gather_size.

// Gathers single elements of a vector. Indices are clamped: negative ones select the first element, too large ones the
// last.
Result<Instruction*> GatherOfFew(Instruction& inst, const PassContext&) {
  Instruction &x = inst.operand(0), &indices = inst.operand(1);
  const auto& attrs = inst.attrs<GatherAttrs>();
  if (!IsStatic(inst) || x.shape().rank() != 1 || x.shape().dim(0) == 0 || x.shape().dim(0) > kVerySmallGather)
    return nullptr;
  if (attrs.slice_sizes != std::vector<int64_t>{1} || attrs.start_index_map != std::vector<int64_t>{0} ||
      !attrs.operand_batching_dims.empty() || inst.shape().NumElements() != indices.shape().NumElements() ||
      inst.shape().NumElements() == 0)
    return nullptr;
  const PrimitiveType type = indices.shape().type();
  if (x.shape().type() != inst.shape().type() || LargestOf(type) < kVerySmallGather) return nullptr;
  const Shape index_shape = inst.shape().WithType(type).WithDefaultLayout();
  const bool is_asked = x.shape().dim(0) > 1;
  Instruction* const index = is_asked ? Step(inst, Opcode::kReshape, index_shape, {&indices}) : nullptr;
  const auto element = [&](int64_t i) {
    Instruction* part =
        Step(inst, Opcode::kSlice, x.shape().WithDims({1}), {&x}, SliceAttrs{SliceRanges{{{i, i + 1, 1}}}});
    Instruction* scalar = Step(inst, Opcode::kReshape, Shape::Scalar(x.shape().type()), {part});
    return inst.shape().IsScalar() ? scalar : Replace(inst, Opcode::kBroadcast, {scalar}, DimensionsAttrs{});
  };
  Instruction* result = element(x.shape().dim(0) - 1);
  for (int64_t i = x.shape().dim(0) - 2; i >= 0; --i) {
    Instruction* limit = IndexConstant(inst, type, i + 1);
    if (!index_shape.IsScalar()) limit = Step(inst, Opcode::kBroadcast, index_shape, {limit}, DimensionsAttrs{});
    Instruction* is_below = Step(inst, Opcode::kCompare, index_shape.WithType(PrimitiveType::kPred), {index, limit},
                                 CompareAttrs{.direction = ComparisonDirection::kLt});
    result = Replace(inst, Opcode::kSelect, {is_below, element(i), result});
  }
  return result;
}

Result<Instruction*> GatherOfPad(Instruction& inst, const PassContext&) {
  Instruction& pad = inst.operand(0);
  if (!pad.Is(Opcode::kPad) || !IsStatic(inst) || !IsStatic(pad)) return nullptr;
  auto attrs = inst.attrs<GatherAttrs>();
  Instruction& x = pad.operand(0);
  Shape smaller = inst.shape();
  PaddingConfig padding;
  padding.dims.resize(inst.shape().rank());
  size_t next = 0;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const bool collapsed = Contains(attrs.collapsed_slice_dims, d) || Contains(attrs.operand_batching_dims, d);
    const int64_t result_dim = collapsed ? -1 : attrs.offset_dims[next++];
    const PaddingDim& by = pad.attrs<PadAttrs>().padding.dims[d];
    if (by == PaddingDim()) continue;
    if (collapsed || Contains(attrs.start_index_map, d) || attrs.slice_sizes[d] != pad.shape().dim(d)) return nullptr;
    attrs.slice_sizes[d] = x.shape().dim(d);
    smaller.SetDim(result_dim, x.shape().dim(d));
    padding.dims[result_dim] = by;
  }
  Instruction* gather = Step(inst, Opcode::kGather, smaller, {&x, &inst.operand(1)}, attrs);
  return Replace(inst, Opcode::kPad, {gather, &pad.operand(1)}, PadAttrs{padding});
}

// A single update without indices must have the shape of operand 0.
Result<Instruction*> ScatterOfNoneOrAll(Instruction& inst, const PassContext&) {
  if (inst.operand_count() != 3 || !IsStatic(inst)) return nullptr;
  Instruction &x = inst.operand(0), &update = inst.operand(2);
  const auto& attrs = inst.attrs<ScatterAttrs>();
  if (x.shape() != inst.shape()) return nullptr;
  if (update.shape().NumElements() == 0) return &x;
  if (!attrs.scatter_dims_to_operand_dims.empty() || !attrs.inserted_window_dims.empty() ||
      !attrs.input_batching_dims.empty() || update.shape() != x.shape())
    return nullptr;
  if (!std::ranges::is_sorted(attrs.update_window_dims)) return nullptr;
  const auto op = ReducerOp(*attrs.to_apply);
  if (!op || attrs.to_apply->root().shape().type() != x.shape().type()) return nullptr;
  return Replace(inst, *op, {&x, &update});
}

bool AddsUp(const Instruction& scatter) {
  return scatter.Is(Opcode::kScatter) && scatter.operand_count() == 3 && IsStatic(scatter) &&
         ReducerOp(*scatter.attrs<ScatterAttrs>().to_apply) == Opcode::kAdd;
}

template <bool kRounds>
Result<Instruction*> AddToScatter(Instruction& inst, const PassContext&) {
  Instruction *x, *scatter;
  if (!IsStaticOfOneType(inst) || OrderMatters(Opcode::kAdd, inst.shape().type()) != kRounds) return nullptr;
  if (!m::Add(m::Any(&x), m::OneUse(m::Scatter(&scatter)))(&inst) || !AddsUp(*scatter)) return nullptr;
  Instruction* sum = Replace(inst, Opcode::kAdd, {x, &scatter->operand(0)});
  return Replace(inst, Opcode::kScatter, {sum, &scatter->operand(1), &scatter->operand(2)}, scatter->attributes());
}

// The updates of both scatters together must be smaller than the result.
template <bool kRounds>
Result<Instruction*> AddScatters(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!IsStaticOfOneType(inst) || OrderMatters(Opcode::kAdd, inst.shape().type()) != kRounds) return nullptr;
  if (!m::Add(m::OneUse(m::Scatter(&a)), m::OneUse(m::Scatter(&b)))(&inst) || !AddsUp(*a) || !AddsUp(*b))
    return nullptr;
  const auto &attrs = a->attrs<ScatterAttrs>(), &other = b->attrs<ScatterAttrs>();
  if (attrs.update_window_dims != other.update_window_dims ||
      attrs.inserted_window_dims != other.inserted_window_dims ||
      attrs.scatter_dims_to_operand_dims != other.scatter_dims_to_operand_dims ||
      attrs.index_vector_dim != other.index_vector_dim)
    return nullptr;
  const auto is_free = [](const ScatterAttrs& of) {
    return !of.unique_indices && !of.indices_are_sorted && of.input_batching_dims.empty();
  };
  if (!is_free(attrs) || !is_free(other)) return nullptr;
  // The first dimension of `indices` that is not the index vector, and the updates' corresponding dimension.
  const int64_t dim = attrs.index_vector_dim == 0 ? 1 : 0;
  int64_t update_dim = 0;
  while (Contains(attrs.update_window_dims, update_dim)) ++update_dim;
  const Shape &i = a->operand(1).shape(), &j = b->operand(1).shape();
  if (i.rank() != j.rank() || dim >= i.rank() || i.type() != j.type()) return nullptr;
  Shape indices = i, updates = a->operand(2).shape();
  indices.SetDim(dim, i.dim(dim) + j.dim(dim));
  if (a->operand(2).shape().type() != b->operand(2).shape().type()) return nullptr;
  for (int64_t d = 0; d < i.rank(); ++d) {
    if (d != dim && i.dim(d) != j.dim(d)) return nullptr;
  }
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (d != update_dim && updates.dim(d) != b->operand(2).shape().dim(d)) return nullptr;
  }
  updates.SetDim(update_dim, updates.dim(update_dim) + b->operand(2).shape().dim(update_dim));
  if (updates.NumElements() >= inst.shape().NumElements()) return nullptr;
  Instruction* sum = Replace(inst, Opcode::kAdd, {&a->operand(0), &b->operand(0)});
  Instruction* both =
      Step(inst, Opcode::kConcatenate, indices, {&a->operand(1), &b->operand(1)}, OneDimensionAttrs{{dim}});
  Instruction* values =
      Step(inst, Opcode::kConcatenate, updates, {&a->operand(2), &b->operand(2)}, OneDimensionAttrs{{update_dim}});
  return Replace(inst, Opcode::kScatter, {sum, both, values}, attrs);
}

Result<Instruction*> TransposeOfScatter(Instruction& inst, const PassContext&) {
  Instruction& scatter = inst.operand(0);
  if (!scatter.Is(Opcode::kScatter) || !m::OneUse(m::Any())(&scatter) || scatter.operand_count() != 3 ||
      !IsStatic(scatter))
    return nullptr;
  auto attrs = scatter.attrs<ScatterAttrs>();
  if (!attrs.input_batching_dims.empty() || !std::ranges::is_sorted(attrs.update_window_dims)) return nullptr;
  const std::vector<int64_t>& order = inst.dimensions();
  const int64_t rank = inst.shape().rank();
  std::vector<int64_t> position(rank), window_of(rank, -1);
  for (int64_t d = 0; d < rank; ++d) position[order[d]] = d;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Contains(attrs.inserted_window_dims, d)) window_of[d] = attrs.update_window_dims[next++];
  }
  // Only window dimensions of the updates are permuted.
  const Shape& updates = scatter.operand(2).shape();
  std::vector<int64_t> permutation(updates.rank()), sizes;
  for (int64_t d = 0; d < updates.rank(); ++d) permutation[d] = d;
  next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (window_of[order[d]] >= 0) permutation[attrs.update_window_dims[next++]] = window_of[order[d]];
  }
  for (const int64_t d : permutation) sizes.push_back(updates.dim(d));
  for (int64_t& d : attrs.inserted_window_dims) d = position[d];
  std::ranges::sort(attrs.inserted_window_dims);
  for (int64_t& d : attrs.scatter_dims_to_operand_dims) d = position[d];
  Instruction* x = Replace(inst, Opcode::kTranspose, {&scatter.operand(0)}, inst.attributes());
  Instruction* u =
      Step(inst, Opcode::kTranspose, updates.WithDims(sizes), {&scatter.operand(2)}, DimensionsAttrs{permutation});
  return Replace(inst, Opcode::kScatter, {x, &scatter.operand(1), u}, attrs);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.ds.2",    Opcode::kDynamicSlice,       IndexOfWhole,            Preserves::kExact,        "dynamic-slice(x, i) => dynamic-slice(x, 0), in dimensions that are taken whole"},
    {"A.dus.1b",  Opcode::kDynamicUpdateSlice, IndexOfWhole,            Preserves::kExact,        "dynamic-update-slice(x, u, i) => dynamic-update-slice(x, u, 0), in dimensions that are replaced whole"},
    {"A.ds.3",    Opcode::kDynamicSlice,       DynamicSliceOfBroadcast, Preserves::kExact,        "dynamic-slice(broadcast(x)) => broadcast(dynamic-slice(x))"},
    {"A.ds.4",    Opcode::kDynamicSlice,       DynamicSliceOfView,      Preserves::kExact,        "dynamic-slice(transpose(x)) => transpose(dynamic-slice(x)); of a reshape that adds dimensions of size 1 too"},
    {"A.ds.6",    Opcode::kDynamicSlice,       DynamicSliceTwice,       Preserves::kExact,        "dynamic-slice(dynamic-slice(x, i), j) => dynamic-slice(x, i + j)"},
    {"A.ds.7",    Opcode::kDynamicSlice,       ElementOfIota,           Preserves::kExact,        "dynamic-slice(iota, i) => i, one element; of iota * c too"},
    {"A.dus.3",   Opcode::kDynamicUpdateSlice, UpdateOfTakenPart,       Preserves::kExact,        "dynamic-update-slice(a, dynamic-update-slice(dynamic-slice(a, i), c, j), i) => dynamic-update-slice(a, c, i + j)"},
    {"A.add.6",   Opcode::kAdd,                AddUpdateOfZero,         Preserves::kExact,        "x + dynamic-update-slice(0, y, i) => dynamic-update-slice(x, dynamic-slice(x, i) + y, i)"},
    {"A.sel.4",   Opcode::kSelect,             SelectOfUpdate,          Preserves::kExact,        "select(p, x, dynamic-update-slice(x, v, i)) => dynamic-update-slice(x, select(p, dynamic-slice(x, i), v), i), for one p"},
    {"A.resh.4",  Opcode::kReshape,            ReshapeOfUpdate,         Preserves::kExact,        "reshape(dynamic-update-slice(x, u, i)) => dynamic-update-slice(reshape(x), reshape(u), i), of dimensions of size 1"},
    {"A.gath.1",  Opcode::kGather,             GatherOfScalar,          Preserves::kExact,        "gather(scalar) => broadcast(scalar); gather of an empty array => 0"},
    {"A.gath.2",  Opcode::kGather,             GatherOfFew,             Preserves::kExact,        "gather(x, i) => select(i < 1, x[0], select(i < 2, x[1], ...)), of at most four elements"},
    {"A.gath.3",  Opcode::kGather,             GatherOfPad,             Preserves::kExact,        "gather(pad(x)) => pad(gather(x)), in dimensions that are taken whole"},
    {"A.scat.1",  Opcode::kScatter,            ScatterOfNoneOrAll,      Preserves::kExact,        "scatter(x) => x, without updates; => op(x, update), for one update as large as x"},
    {"A.add.8a",  Opcode::kAdd,                AddScatters<false>,      Preserves::kExact,        "scatter-add(x, i, u) + scatter-add(y, j, v) => scatter-add(x + y, [i, j], [u, v]), for integers"},
    {"A.add.8b",  Opcode::kAdd,                AddScatters<true>,       Preserves::kReassociates, "scatter-add(x, i, u) + scatter-add(y, j, v) => scatter-add(x + y, [i, j], [u, v])"},
    {"A.add.9a",  Opcode::kAdd,                AddToScatter<false>,     Preserves::kExact,        "x + scatter-add(y, i, u) => scatter-add(x + y, i, u), for integers"},
    {"A.add.9b",  Opcode::kAdd,                AddToScatter<true>,      Preserves::kReassociates, "x + scatter-add(y, i, u) => scatter-add(x + y, i, u)"},
    {"A.trans.7", Opcode::kTranspose,          TransposeOfScatter,      Preserves::kExact,        "transpose(scatter(x, i, u)) => scatter(transpose(x), i, transpose(u))"},
};
// clang-format on

}  // namespace

std::span<const Rule> UpdateRules() { return kRules; }

}  // namespace hlo
