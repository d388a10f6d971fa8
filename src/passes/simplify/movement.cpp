// Rules of algsimp for slices, pads, concatenations, sorts, and updates at constant indices.
#include <algorithm>
#include <limits>

#include "ir/analysis/dynamic_indices.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

const std::vector<SliceDim>& SliceDims(const Instruction& slice) { return slice.attrs<SliceAttrs>().slice.dims; }

Result<Instruction*> SliceOfAll(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kSlice) && !inst.Is(Opcode::kDynamicSlice)) return nullptr;
  return inst.operand(0).shape() == inst.shape() ? &inst.operand(0) : nullptr;
}

Result<Instruction*> SliceTwice(Instruction& inst, const PassContext&) {
  Instruction *inner, *x;
  if (!m::Slice(m::Slice(&inner, m::Any(&x)))(&inst)) return nullptr;
  SliceRanges composed;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const SliceDim &out = SliceDims(inst)[d], &in = SliceDims(*inner)[d];
    composed.dims.push_back(
        {in.start + out.start * in.stride, in.start + (out.limit - 1) * in.stride + 1, in.stride * out.stride});
    if (out.limit <= out.start) return nullptr;
  }
  return Replace(inst, Opcode::kSlice, {x}, SliceAttrs{composed});
}

Result<Instruction*> SliceOfConcatenate(Instruction& inst, const PassContext&) {
  Instruction* whole;
  if (!m::Slice(m::Concatenate(&whole))(&inst) || !IsStatic(inst) || !IsStatic(*whole)) return nullptr;
  const int64_t dim = whole->attrs<OneDimensionAttrs>().dimension.value;
  const SliceDim& cut = SliceDims(inst)[dim];
  int64_t begin = 0;
  for (Instruction* part : whole->operands()) {
    const int64_t end = begin + part->shape().dim(dim);
    if (cut.start >= begin && cut.limit <= end && cut.start < cut.limit) {
      SliceRanges ranges = inst.attrs<SliceAttrs>().slice;
      ranges.dims[dim].start -= begin;
      ranges.dims[dim].limit -= begin;
      return Replace(inst, Opcode::kSlice, {part}, SliceAttrs{ranges});
    }
    begin = end;
  }
  return nullptr;
}

Result<Instruction*> SliceOfPad(Instruction& inst, const PassContext&) {
  Instruction *pad, *x, *value;
  if (!m::Slice(m::Pad(&pad, m::Any(&x), m::Any(&value)))(&inst) || !IsStatic(inst) || !IsStatic(*pad)) return nullptr;
  SliceRanges ranges = inst.attrs<SliceAttrs>().slice;
  bool inside = true, outside = false;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const PaddingDim& padding = pad->attrs<PadAttrs>().padding.dims[d];
    if (padding.interior != 0) return nullptr;
    SliceDim& cut = ranges.dims[d];
    cut.start -= padding.low;
    cut.limit -= padding.low;
    inside &= cut.start >= 0 && cut.limit <= x->shape().dim(d);
    outside |= cut.limit <= 0 || cut.start >= x->shape().dim(d);
  }
  if (outside) return Replace(inst, Opcode::kBroadcast, {value}, DimensionsAttrs{});
  return inside ? Replace(inst, Opcode::kSlice, {x}, SliceAttrs{ranges}) : nullptr;
}

Result<Instruction*> SliceOfReverse(Instruction& inst, const PassContext&) {
  Instruction *reverse, *x;
  if (!m::Slice(m::OneUse(m::Reverse(&reverse, m::Any(&x))))(&inst) || !IsStatic(inst) || !IsStatic(*reverse))
    return nullptr;
  SliceRanges ranges = inst.attrs<SliceAttrs>().slice;
  for (const SliceDim& cut : ranges.dims) {
    if (cut.stride != 1) return nullptr;
  }
  for (const int64_t d : reverse->dimensions()) {
    const SliceDim cut = ranges.dims[d];
    ranges.dims[d] = {x->shape().dim(d) - cut.limit, x->shape().dim(d) - cut.start, 1};
  }
  Instruction* part = Step(inst, Opcode::kSlice, inst.shape(), {x}, SliceAttrs{ranges});
  return Replace(inst, Opcode::kReverse, {part}, DimensionsAttrs{reverse->dimensions()});
}

Result<Instruction*> ConcatenateOfOne(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kConcatenate)) return nullptr;
  const OneDimension dim = inst.attrs<OneDimensionAttrs>().dimension;
  std::vector<Instruction*> parts;
  for (Instruction* operand : inst.operands()) {
    if (operand->shape().dim(dim.value) != 0) parts.push_back(operand);
  }
  if (parts.size() == 1 && parts.front()->shape() == inst.shape()) return parts.front();
  if (static_cast<int64_t>(parts.size()) == inst.operand_count() || parts.empty()) return nullptr;
  return Replace(inst, Opcode::kConcatenate, parts, OneDimensionAttrs{dim});
}

Result<Instruction*> ConcatenateTwice(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kConcatenate)) return nullptr;
  const OneDimension dim = inst.attrs<OneDimensionAttrs>().dimension;
  std::vector<Instruction*> parts;
  bool changed = false;
  for (Instruction* operand : inst.operands()) {
    const bool nested = operand->Is(Opcode::kConcatenate) && operand->attrs<OneDimensionAttrs>().dimension == dim &&
                        operand->UseCount() == 1;
    changed |= nested;
    if (nested) {
      parts.insert(parts.end(), operand->operands().begin(), operand->operands().end());
    } else {
      parts.push_back(operand);
    }
  }
  return changed ? Replace(inst, Opcode::kConcatenate, parts, OneDimensionAttrs{dim}) : nullptr;
}

Result<Instruction*> ConcatenateSlices(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kConcatenate) || !IsStatic(inst)) return nullptr;
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  std::vector<Instruction*> parts;
  for (Instruction* operand : inst.operands()) {
    Instruction* last = parts.empty() ? nullptr : parts.back();
    const bool slices = last != nullptr && last->Is(Opcode::kSlice) && operand->Is(Opcode::kSlice) &&
                        &last->operand(0) == &operand->operand(0);
    bool adjacent = slices;
    for (int64_t d = 0; slices && d < inst.shape().rank(); ++d) {
      const SliceDim &a = SliceDims(*last)[d], &b = SliceDims(*operand)[d];
      adjacent &= a.stride == 1 && b.stride == 1 && (d == dim ? a.limit == b.start : a == b);
    }
    if (!adjacent) {
      parts.push_back(operand);
      continue;
    }
    SliceRanges ranges = last->attrs<SliceAttrs>().slice;
    ranges.dims[dim].limit = SliceDims(*operand)[dim].limit;
    Shape shape = last->shape();
    shape.SetDim(dim, ranges.dims[dim].limit - ranges.dims[dim].start);
    parts.back() = Step(inst, Opcode::kSlice, shape, {&last->operand(0)}, SliceAttrs{ranges});
  }
  if (static_cast<int64_t>(parts.size()) == inst.operand_count()) return nullptr;
  if (parts.size() == 1) return parts.front();
  return Replace(inst, Opcode::kConcatenate, parts, inst.attributes());
}

// Not for dynamic sizes, which could be 0.
Result<Instruction*> ConcatenateOfSame(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kConcatenate)) return nullptr;
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  Instruction& x = inst.operand(0);
  if (x.shape().dim(dim) != 1 || x.shape().HasDynamicDims()) return nullptr;
  for (const Instruction* operand : inst.operands()) {
    if (operand != &x) return nullptr;
  }
  std::vector<int64_t> sizes, dims;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (d == dim) continue;
    sizes.push_back(inst.shape().dim(d));
    dims.push_back(d);
  }
  Instruction* once = Step(inst, Opcode::kReshape, inst.shape().WithDims(sizes), {&x});
  return Replace(inst, Opcode::kBroadcast, {once}, DimensionsAttrs{dims});
}

Result<Instruction*> PadByNothing(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kPad) || inst.operand(0).shape() != inst.shape()) return nullptr;
  for (const PaddingDim& d : inst.attrs<PadAttrs>().padding.dims) {
    if (d.low != 0 || d.high != 0) return nullptr;
  }
  return &inst.operand(0);
}

// Converts as the interpreter converts indices.
std::optional<int64_t> ConstantIndex(const Instruction& index) {
  if (!index.Is(Opcode::kConstant) || !index.shape().IsScalar() || !IsInteger(index.shape().type()))
    return std::nullopt;
  return IndexAt(index.literal(), 0);
}

// Indices are clamped so that the whole slice is within x.
Result<Instruction*> SliceAtConstant(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kDynamicSlice) || !HasScalarIndices(inst)) return nullptr;
  const Shape& from = inst.operand(0).shape();
  SliceRanges ranges;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const auto index = ConstantIndex(inst.operand(1 + d));
    const int64_t most = from.dim(d) - inst.shape().dim(d);
    if (!index && most != 0) return nullptr;
    const int64_t start = most == 0 ? 0 : std::clamp<int64_t>(*index, 0, most);
    ranges.dims.push_back({start, start + inst.shape().dim(d), 1});
  }
  return Replace(inst, Opcode::kSlice, {&inst.operand(0)}, SliceAttrs{ranges});
}

Result<Instruction*> UpdateOfAll(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kDynamicUpdateSlice) || !IsStatic(inst)) return nullptr;
  if (inst.operand(1).shape() == inst.shape()) return &inst.operand(1);
  if (inst.operand(1).shape().NumElements() == 0) return &inst.operand(0);
  return nullptr;
}

Result<Instruction*> UpdateOfSplat(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kDynamicUpdateSlice) || !HasScalarIndices(inst) || !IsStatic(inst)) return nullptr;
  Instruction &base = inst.operand(0), &update = inst.operand(1);
  if (!base.Is(Opcode::kBroadcast) || !base.operand(0).shape().IsScalar()) return nullptr;
  PaddingConfig padding;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const int64_t most = inst.shape().dim(d) - update.shape().dim(d);
    const auto index = ConstantIndex(inst.operand(2 + d));
    if (!index && most != 0) return nullptr;
    const int64_t low = most == 0 ? 0 : std::clamp<int64_t>(*index, 0, most);
    padding.dims.push_back({low, most - low, 0});
  }
  return Replace(inst, Opcode::kPad, {&update, &base.operand(0)}, PadAttrs{padding});
}

// The window must be inside x: a scatter skips a window that is partly outside, an update clamps its indices.
Result<Instruction*> ScatterOfOneWindow(Instruction& inst, const PassContext&) {
  Instruction *x, *indices, *update;
  if (!m::Scatter(m::Any(&x), m::Any(&indices), m::Any(&update))(&inst)) return nullptr;
  const auto& attrs = inst.attrs<ScatterAttrs>();
  const Instruction& combined = attrs.to_apply->root();
  if (!combined.Is(Opcode::kParameter) || combined.parameter_number() != 1) return nullptr;
  if (!attrs.input_batching_dims.empty() || !attrs.scatter_indices_batching_dims.empty()) return nullptr;
  // A single index vector, possibly without coordinates.
  for (int64_t d = 0; d < indices->shape().rank(); ++d) {
    if (d != attrs.index_vector_dim && indices->shape().dim(d) != 1) return nullptr;
  }
  const int64_t coordinates = static_cast<int64_t>(attrs.scatter_dims_to_operand_dims.size());
  std::vector<int64_t> start(x->shape().rank(), 0);
  for (int64_t i = 0; i < coordinates; ++i) {
    std::optional<int64_t> value;
    if (indices->Is(Opcode::kConstant)) value = IndexAt(indices->literal(), i);
    if (indices->Is(Opcode::kBroadcast)) value = ConstantIndex(indices->operand(0));
    if (!value) return nullptr;
    start[attrs.scatter_dims_to_operand_dims[i]] = *value;
  }
  std::vector<int64_t> window;
  size_t next = 0;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    const bool inserted = std::find(attrs.inserted_window_dims.begin(), attrs.inserted_window_dims.end(), d) !=
                          attrs.inserted_window_dims.end();
    window.push_back(inserted ? 1 : update->shape().dim(attrs.update_window_dims[next++]));
    if (start[d] < 0 || start[d] > x->shape().dim(d) - window[d]) return nullptr;
  }
  if (!std::is_sorted(attrs.update_window_dims.begin(), attrs.update_window_dims.end())) return nullptr;
  const Shape window_shape = x->shape().WithDims(window);
  if (!SameDims(window_shape, update->shape())) update = Step(inst, Opcode::kReshape, window_shape, {update});
  std::vector<Instruction*> operands = {x, update};
  const bool is_far = std::ranges::any_of(start, [](int64_t s) { return s > std::numeric_limits<int32_t>::max(); });
  const PrimitiveType type = is_far ? PrimitiveType::kS64 : PrimitiveType::kS32;
  for (const int64_t s : start) operands.push_back(&inst.computation().AddConstant(Literal::Scalar(type, s)));
  return Replace(inst, Opcode::kDynamicUpdateSlice, operands);
}

Result<Instruction*> SortOfOne(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kSort)) return nullptr;
  if (inst.operand(0).shape().dim(inst.attrs<SortAttrs>().dimension.value) > 1) return nullptr;
  if (inst.operand_count() == 1) return &inst.operand(0);
  return Replace(inst, Opcode::kTuple, {inst.operands().begin(), inst.operands().end()});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.slice.1a", Opcode::kSlice,              SliceOfAll,         Preserves::kExact, "slice(x) => x, when it takes all elements"},
    {"A.ds.1",     Opcode::kDynamicSlice,       SliceOfAll,         Preserves::kExact, "dynamic-slice(x) => x, when it takes all elements"},
    {"A.slice.1b", Opcode::kSlice,              SliceTwice,         Preserves::kExact, "slice(slice(x)) => slice(x)"},
    {"A.slice.5a", Opcode::kSlice,              SliceOfConcatenate, Preserves::kExact, "slice(concatenate(x, y)) => slice(x), when the slice is inside x"},
    {"A.slice.2",  Opcode::kSlice,              SliceOfPad,         Preserves::kExact, "slice(pad(x, c)) => slice(x) or broadcast(c), when the slice is inside x or inside the padding"},
    {"A.slice.4",  Opcode::kSlice,              SliceOfReverse,     Preserves::kExact, "slice(reverse(x)) => reverse(slice(x))"},
    {"A.cat.1",    Opcode::kConcatenate,        ConcatenateOfOne,   Preserves::kExact, "concatenate(x) => x; empty operands are removed"},
    {"A.cat.2",    Opcode::kConcatenate,        ConcatenateTwice,   Preserves::kExact, "concatenate(concatenate(x, y), z) => concatenate(x, y, z)"},
    {"A.cat.3",    Opcode::kConcatenate,        ConcatenateSlices,  Preserves::kExact, "concatenate(x[a:b], x[b:c]) => x[a:c]"},
    {"A.cat.5",    Opcode::kConcatenate,        ConcatenateOfSame,  Preserves::kExact, "concatenate(x, x, ..., x) => broadcast(reshape(x)), along a dimension of size 1"},
    {"A.pad.1a",   Opcode::kPad,                PadByNothing,       Preserves::kExact, "pad(x) => x, when nothing is padded"},
    {"A.ds.5",     Opcode::kDynamicSlice,       SliceAtConstant,    Preserves::kExact, "dynamic-slice(x, constants) => slice(x)"},
    {"A.dus.1a",   Opcode::kDynamicUpdateSlice, UpdateOfAll,        Preserves::kExact, "dynamic-update-slice(x, u) => u, when u is as large as x; => x, when u is empty"},
    {"A.dus.2",    Opcode::kDynamicUpdateSlice, UpdateOfSplat,      Preserves::kExact, "dynamic-update-slice(broadcast(c), u, constants) => pad(u, c)"},
    {"A.scat.2",   Opcode::kScatter,            ScatterOfOneWindow, Preserves::kExact, "scatter of one window at constants, overwriting => dynamic-update-slice"},
    {"A.sort.1",   Opcode::kSort,               SortOfOne,          Preserves::kExact, "sort(x) => x, along a dimension of size 1"},
};
// clang-format on

}  // namespace

std::span<const Rule> MovementRules() { return kRules; }

}  // namespace hlo
