// Rules of algsimp that move slices, pads, reshapes, transposes, reverses, bitcasts and copies through each other.
#include <algorithm>
#include <numeric>

#include "ir/dimensions.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

const std::vector<SliceDim>& SliceDims(const Instruction& slice) { return slice.attrs<SliceAttrs>().slice.dims; }

Instruction* SliceOf(Instruction& inst, Instruction& x, const SliceRanges& ranges) {
  std::vector<int64_t> sizes;
  for (const SliceDim& d : ranges.dims) sizes.push_back((d.limit - d.start + d.stride - 1) / d.stride);
  return Step(inst, Opcode::kSlice, x.shape().WithDims(sizes), {&x}, SliceAttrs{ranges});
}

Result<Instruction*> BroadcastToTranspose(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  if (!IsStatic(inst) || x.shape().rank() != inst.shape().rank() ||
      x.shape().NumElements() != inst.shape().NumElements() || std::ranges::is_sorted(inst.dimensions()))
    return nullptr;
  std::vector<int64_t> order(x.shape().rank());
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (x.shape().dim(d) != inst.shape().dim(inst.dimensions()[d])) return nullptr;
    order[inst.dimensions()[d]] = d;
  }
  return Replace(inst, Opcode::kTranspose, {&x}, DimensionsAttrs{order});
}

Result<Instruction*> SliceOfBroadcast(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  if (!broadcast.Is(Opcode::kBroadcast) || broadcast.dimensions().empty() || !IsStatic(broadcast)) return nullptr;
  SliceRanges ranges;
  for (const int64_t d : broadcast.dimensions()) ranges.dims.push_back(SliceDims(inst)[d]);
  Instruction* part = SliceOf(inst, broadcast.operand(0), ranges);
  return Replace(inst, Opcode::kBroadcast, {part}, broadcast.attributes());
}

// Removes strides of dimensions with one element, so that equal slices look equal.
Result<Instruction*> SliceWithoutStride(Instruction& inst, const PassContext&) {
  SliceRanges ranges = inst.attrs<SliceAttrs>().slice;
  bool changed = false;
  for (size_t d = 0; d < ranges.dims.size(); ++d) {
    SliceDim& dim = ranges.dims[d];
    if (inst.shape().dim(d) != 1 || (dim.stride == 1 && dim.limit == dim.start + 1)) continue;
    dim = {dim.start, dim.start + 1, 1};
    changed = true;
  }
  return changed ? Replace(inst, Opcode::kSlice, {&inst.operand(0)}, SliceAttrs{ranges}) : nullptr;
}

// The slice must consist of whole rows of the reshape's operand.
Result<Instruction*> SliceOfReshape(Instruction& inst, const PassContext&) {
  Instruction& reshape = inst.operand(0);
  if (!reshape.Is(Opcode::kReshape) || !IsStatic(reshape) || inst.shape().rank() == 0) return nullptr;
  Instruction& x = reshape.operand(0);
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const SliceDim& dim = SliceDims(inst)[d];
    if (dim.start != 0 || dim.stride != 1 || (d > 0 && dim.limit != reshape.shape().dim(d))) return nullptr;
  }
  if (x.shape().rank() == 0 || inst.shape().NumElements() == 0) return nullptr;
  const int64_t row = x.shape().NumElements() / x.shape().dim(0), rows = inst.shape().NumElements() / row;
  if (rows * row != inst.shape().NumElements()) return nullptr;
  SliceRanges ranges;
  for (int64_t d = 0; d < x.shape().rank(); ++d) ranges.dims.push_back({0, d == 0 ? rows : x.shape().dim(d), 1});
  return Replace(inst, Opcode::kReshape, {SliceOf(inst, x, ranges)});
}

Result<Instruction*> SliceOfFewerParts(Instruction& inst, const PassContext&) {
  Instruction& whole = inst.operand(0);
  if (!whole.Is(Opcode::kConcatenate) || !IsStatic(whole) || !m::OneUse(m::Any())(&whole)) return nullptr;
  const int64_t dim = whole.attrs<OneDimensionAttrs>().dimension.value;
  SliceRanges ranges = inst.attrs<SliceAttrs>().slice;
  SliceDim& cut = ranges.dims[dim];
  if (cut.start >= cut.limit) return nullptr;
  std::vector<Instruction*> parts;
  int64_t begin = 0, skipped = 0, size = 0;
  for (Instruction* part : whole.operands()) {
    const int64_t end = begin + part->shape().dim(dim);
    if (end <= cut.start) skipped += part->shape().dim(dim);
    if (end > cut.start && begin < cut.limit) {
      parts.push_back(part);
      size += part->shape().dim(dim);
    }
    begin = end;
  }
  if (parts.size() < 2 || static_cast<int64_t>(parts.size()) == whole.operand_count()) return nullptr;
  Shape shape = whole.shape();
  shape.SetDim(dim, size);
  cut.start -= skipped;
  cut.limit -= skipped;
  Instruction* fewer = Step(inst, Opcode::kConcatenate, shape, parts, whole.attributes());
  return Replace(inst, Opcode::kSlice, {fewer}, SliceAttrs{ranges});
}

Result<Instruction*> ConcatenateToPad(Instruction& inst, const PassContext&) {
  if (inst.operand_count() != 2 || !IsStaticOfOneType(inst)) return nullptr;
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  for (int i = 0; i < 2; ++i) {
    Instruction &repeated = inst.operand(i), &x = inst.operand(1 - i);
    if (!repeated.Is(Opcode::kBroadcast) || !repeated.operand(0).shape().IsScalar()) continue;
    PaddingConfig padding;
    padding.dims.resize(inst.shape().rank());
    (i == 0 ? padding.dims[dim].low : padding.dims[dim].high) = repeated.shape().dim(dim);
    return Replace(inst, Opcode::kPad, {&x, &repeated.operand(0)}, PadAttrs{padding});
  }
  return nullptr;
}

Result<Instruction*> PadOfNothing(Instruction& inst, const PassContext&) {
  if (!IsStatic(inst) || inst.operand(0).shape().NumElements() != 0 || inst.shape().IsScalar()) return nullptr;
  return Replace(inst, Opcode::kBroadcast, {&inst.operand(1)}, DimensionsAttrs{});
}

Result<Instruction*> PadBetweenNothing(Instruction& inst, const PassContext&) {
  if (!IsStatic(inst)) return nullptr;
  PaddingConfig padding = inst.attrs<PadAttrs>().padding;
  bool changed = false;
  for (size_t d = 0; d < padding.dims.size(); ++d) {
    if (padding.dims[d].interior == 0 || inst.operand(0).shape().dim(d) > 1) continue;
    padding.dims[d].interior = 0;
    changed = true;
  }
  if (!changed) return nullptr;
  return Replace(inst, Opcode::kPad, {&inst.operand(0), &inst.operand(1)}, PadAttrs{padding});
}

Result<Instruction*> PadOfNegative(Instruction& inst, const PassContext&) {
  if (!IsStatic(inst)) return nullptr;
  PaddingConfig padding = inst.attrs<PadAttrs>().padding;
  SliceRanges ranges;
  Shape padded = inst.shape();
  bool cuts = false, pads = false;
  for (size_t d = 0; d < padding.dims.size(); ++d) {
    PaddingDim& dim = padding.dims[d];
    const int64_t from_low = std::max<int64_t>(-dim.low, 0), from_high = std::max<int64_t>(-dim.high, 0);
    cuts |= from_low > 0 || from_high > 0;
    dim.low += from_low;
    dim.high += from_high;
    pads |= !(dim == PaddingDim());
    const int64_t size = inst.shape().dim(d) + from_low + from_high;
    padded.SetDim(d, size);
    ranges.dims.push_back({from_low, size - from_high, 1});
  }
  if (!cuts) return nullptr;
  Instruction* whole = &inst.operand(0);
  if (pads) whole = Step(inst, Opcode::kPad, padded, {whole, &inst.operand(1)}, PadAttrs{padding});
  return Replace(inst, Opcode::kSlice, {whole}, SliceAttrs{ranges});
}

Result<Instruction*> PadOfBroadcast(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  if (!IsStatic(inst) || !m::OneUse(m::Broadcast())(&broadcast) || broadcast.dimensions().empty()) return nullptr;
  const std::vector<PaddingDim>& by = inst.attrs<PadAttrs>().padding.dims;
  PaddingConfig padding;
  std::vector<int64_t> sizes;
  for (const int64_t d : broadcast.dimensions()) {
    padding.dims.push_back(by[d]);
    sizes.push_back(inst.shape().dim(d));
  }
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (!(by[d] == PaddingDim()) && !Contains(broadcast.dimensions(), d)) return nullptr;
  }
  Instruction* padded = Step(inst, Opcode::kPad, broadcast.operand(0).shape().WithDims(sizes),
                             {&broadcast.operand(0), &inst.operand(1)}, PadAttrs{padding});
  return Replace(inst, Opcode::kBroadcast, {padded}, broadcast.attributes());
}

Result<Instruction*> ReverseOfBinary(Instruction& inst, const PassContext&) {
  Instruction& op = inst.operand(0);
  if (!m::OneUse(m::Any())(&op) || !op.Is(kElementwise) || op.operand_count() != 2 || op.Is(Opcode::kCompare) ||
      !IsStatic(op))
    return nullptr;
  for (int i = 0; i < 2; ++i) {
    Instruction &x = op.operand(i), &repeated = op.operand(1 - i);
    if (!repeated.Is(Opcode::kBroadcast) || !repeated.operand(0).shape().IsScalar() ||
        (x.Is(Opcode::kBroadcast) && x.operand(0).shape().IsScalar()) || x.shape().IsScalar())
      continue;
    Instruction* reversed = Step(inst, Opcode::kReverse, x.shape(), {&x}, inst.attributes());
    return Replace(inst, op.opcode(), {i == 0 ? reversed : &repeated, i == 0 ? &repeated : reversed}, op.attributes());
  }
  return nullptr;
}

Result<Instruction*> ReverseOfReshape(Instruction& inst, const PassContext&) {
  Instruction& reshape = inst.operand(0);
  if (!m::OneUse(m::Reshape())(&reshape) || !IsStatic(reshape)) return nullptr;
  Instruction& x = reshape.operand(0);
  const auto paired = PairDimensions(x.shape(), reshape.shape());
  if (!paired || reshape.shape().rank() <= x.shape().rank()) return nullptr;
  std::vector<int64_t> dims;
  for (const int64_t d : inst.dimensions()) {
    if (reshape.shape().dim(d) != 1) dims.push_back((*paired)[d]);
  }
  std::ranges::sort(dims);
  Instruction* reversed = Step(inst, Opcode::kReverse, x.shape(), {&x}, DimensionsAttrs{dims});
  return Replace(inst, Opcode::kReshape, {reversed});
}

// If the reshape splits the iota's dimension, the result is a sum of iotas times their strides.
Result<Instruction*> ReshapeOfIota(Instruction& inst, const PassContext&) {
  Instruction& iota = inst.operand(0);
  if (!iota.Is(Opcode::kIota) || !IsStatic(inst) || inst.shape().NumElements() == 0) return nullptr;
  const int64_t dim = iota.attrs<IotaAttrs>().iota_dimension;
  const auto before = [](const Shape& shape, int64_t d) {
    return Product(std::span<const int64_t>(shape.dims().begin(), shape.dims().begin() + d));
  };
  int64_t first = 0;
  while (first < inst.shape().rank() && before(inst.shape(), first) < before(iota.shape(), dim)) ++first;
  if (before(inst.shape(), first) != before(iota.shape(), dim)) return nullptr;
  std::vector<int64_t> dims;  // Parts of the iota's dimension, without size 1.
  int64_t size = 1;
  for (int64_t d = first; d < inst.shape().rank() && size < iota.shape().dim(dim); ++d) {
    size *= inst.shape().dim(d);
    if (inst.shape().dim(d) != 1) dims.push_back(d);
  }
  if (size != iota.shape().dim(dim) || dims.empty()) return nullptr;
  if (dims.size() == 1) return Replace(inst, Opcode::kIota, {}, IotaAttrs{dims[0]});
  if (!IsInteger(inst.shape().type())) return nullptr;  // Products and sums of floats may round.
  Instruction* sum = nullptr;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    Instruction* part = Replace(inst, Opcode::kIota, {}, IotaAttrs{dims[i]});
    if (stride != 1) {
      Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), stride));
      part = Replace(inst, Opcode::kMultiply, {part, Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{})});
    }
    sum = sum == nullptr ? part : Replace(inst, Opcode::kAdd, {part, sum});
    stride *= inst.shape().dim(dims[i]);
  }
  return sum;
}

// Reshapes may only add and remove dimensions of size 1.
Result<Instruction*> ChainToItself(Instruction& inst, const PassContext&) {
  constexpr int kLongest = 8;
  if (!IsStatic(inst)) return nullptr;
  // The dimensions of `at`, as numbers of dimensions of `inst`, without those of size 1.
  std::vector<int64_t> order;
  for (const int64_t size : inst.shape().dims()) {
    if (size != 1) order.push_back(static_cast<int64_t>(order.size()));
  }
  Instruction* at = &inst;
  for (int step = 0; step < kLongest; ++step) {
    if (at->Is(Opcode::kTranspose)) {
      std::vector<std::pair<int64_t, int64_t>> places;  // Dimension of the operand and its number in `order`.
      size_t next = 0;
      for (const int64_t d : at->dimensions()) {
        if (at->operand(0).shape().dim(d) != 1) places.emplace_back(d, order[next++]);
      }
      std::ranges::sort(places);
      for (size_t i = 0; i < places.size(); ++i) order[i] = places[i].second;
    } else if (!at->Is(Opcode::kReshape) || !PairDimensions(at->operand(0).shape(), at->shape())) {
      return nullptr;
    }
    at = &at->operand(0);
    if (step > 0 && at->shape() == inst.shape() && std::ranges::is_sorted(order)) return at;
  }
  return nullptr;
}

// reshape(transpose(x)) => transpose(reshape(x)), if x is a reshape and the outer reshape merges only neighbours in x.
Result<Instruction*> HoistTranspose(Instruction& inst, const PassContext&) {
  Instruction& transpose = inst.operand(0);
  if (!m::OneUse(m::Transpose())(&transpose) || !IsStatic(transpose) || !transpose.operand(0).Is(Opcode::kReshape) ||
      inst.shape().NumElements() == 0)
    return nullptr;
  Instruction& x = transpose.operand(0);
  // Neighbours in x that become one dimension.
  struct Run {
    int64_t first, count, size;
  };
  std::vector<Run> runs;
  int64_t d = 0;
  for (const int64_t size : inst.shape().dims()) {
    Run run{d < x.shape().rank() ? transpose.dimensions()[d] : 0, 0, 1};
    while (d < x.shape().rank() && run.size < size) {
      if (transpose.dimensions()[d] != run.first + run.count) return nullptr;
      run.size *= transpose.shape().dim(d++);
      ++run.count;
    }
    if (run.size != size || run.count == 0) return nullptr;
    runs.push_back(run);
  }
  if (d != x.shape().rank()) return nullptr;
  std::vector<int64_t> by_place(runs.size()), order(runs.size()), sizes;
  std::iota(by_place.begin(), by_place.end(), 0);
  std::ranges::sort(by_place, {}, [&](int64_t i) { return runs[i].first; });
  for (size_t i = 0; i < by_place.size(); ++i) {
    order[by_place[i]] = static_cast<int64_t>(i);
    sizes.push_back(runs[by_place[i]].size);
  }
  Instruction* merged = Step(inst, Opcode::kReshape, x.shape().WithDims(sizes), {&x});
  return Replace(inst, Opcode::kTranspose, {merged}, DimensionsAttrs{order});
}

// Space-to-depth: a dimension of x is split into at most five chunks, which are concatenated along another dimension.
Result<Instruction*> ChunksToConcatenate(Instruction& inst, const PassContext&) {
  constexpr int64_t kMostChunks = 5;
  Instruction *split, *x, *transpose;
  if (!IsStatic(inst) ||
      !m::Reshape(m::OneUse(m::Transpose(&transpose, m::OneUse(m::Reshape(&split, m::Any(&x))))))(&inst))
    return nullptr;
  const int64_t rank = x->shape().rank();
  if (split->shape().rank() != rank + 1 || inst.shape().rank() != rank) return nullptr;
  // `split` has x's dimension `from` as two dimensions: (chunks, rest).
  int64_t from = 0;
  while (from < rank && split->shape().dim(from) == x->shape().dim(from)) ++from;
  if (from == rank) return nullptr;
  const int64_t chunks = split->shape().dim(from);
  if (chunks < 2 || chunks > kMostChunks || chunks * split->shape().dim(from + 1) != x->shape().dim(from))
    return nullptr;
  for (int64_t d = from + 1; d < rank; ++d) {
    if (split->shape().dim(d + 1) != x->shape().dim(d)) return nullptr;
  }
  // The transpose must only move chunks in front of another dimension, with which the reshape must merge them.
  std::vector<int64_t> others;
  int64_t into = -1;
  for (size_t i = 0; i < transpose->dimensions().size(); ++i) {
    if (transpose->dimensions()[i] == from) into = static_cast<int64_t>(i);
    else others.push_back(transpose->dimensions()[i]);
  }
  if (!std::ranges::is_sorted(others) || into == rank) return nullptr;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = split->shape().dim(others[d]);
    if (inst.shape().dim(d) != (d == into ? size * chunks : size)) return nullptr;
  }
  std::vector<Instruction*> parts;
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t size = x->shape().dim(from) / chunks;
    SliceRanges ranges;
    for (int64_t d = 0; d < rank; ++d) ranges.dims.push_back({0, x->shape().dim(d), 1});
    ranges.dims[from] = {i * size, (i + 1) * size, 1};
    parts.push_back(SliceOf(inst, *x, ranges));
  }
  return Replace(inst, Opcode::kConcatenate, parts, OneDimensionAttrs{{into}});
}

// After layout assignment computed values must be row-major (ir/verifier), so row-major instructions must stay so.
bool MayGetLayoutOf(const Shape& shape, const Shape& before) {
  return shape.HasDefaultLayout() || !before.HasDefaultLayout();
}

// The operand and the result of the unary instruction must have one type.
Result<Instruction*> BitcastOfUnary(Instruction& inst, const PassContext&) {
  Instruction& f = inst.operand(0);
  if (!m::OneUse(m::Any())(&f) || !f.Is(kElementwise) || f.operand_count() != 1 || f.Is(Opcode::kCopy) ||
      !m::OneUse(m::Bitcast())(&f.operand(0)))
    return nullptr;
  Instruction &bitcast = f.operand(0), &x = bitcast.operand(0);
  const PrimitiveType type = inst.shape().type();
  if (f.shape().type() != type || bitcast.shape() != f.shape() || x.shape().type() != type || !IsStatic(bitcast) ||
      !IsStatic(inst) || !MayGetLayoutOf(x.shape(), f.shape()))
    return nullptr;
  return Replace(inst, Opcode::kBitcast, {Step(inst, f.opcode(), x.shape(), {&x}, f.attributes())});
}

Result<Instruction*> CopyTwice(Instruction& inst, const PassContext&) {
  Instruction& inner = inst.operand(0);
  if (!m::OneUse(m::Copy())(&inner) || !inst.shape().IsArray()) return nullptr;
  const auto is_plain = [](const Shape& shape) {
    const Layout& layout = shape.layout();
    return Shape(shape.type(), shape.dims()).WithDefaultLayout().layout().tiling == layout.tiling;
  };
  // Tiles or memory spaces may need a copy.
  if (!is_plain(inst.shape()) || !is_plain(inner.shape()) || !is_plain(inner.operand(0).shape())) return nullptr;
  return Replace(inst, Opcode::kCopy, {&inner.operand(0)});
}
// The reshape can produce the copy's layout itself.
Result<Instruction*> CopyOfReshape(Instruction& inst, const PassContext&) {
  Instruction& reshape = inst.operand(0);
  if (!m::OneUse(m::Reshape())(&reshape) || !inst.shape().IsArray() || inst.shape().HasDynamicDims() ||
      !MayGetLayoutOf(inst.shape(), reshape.shape()))
    return nullptr;
  return Replace(inst, Opcode::kReshape, {&reshape.operand(0)});
}

// ---- Where layouts are given (is_layout_sensitive) -----------------------------------------------------------------

// Dimensions in memory order, outermost first, without size 1. nullopt for tiled layouts and dynamic dimensions.
std::optional<std::vector<int64_t>> InMemory(const Shape& shape) {
  if (shape.HasDynamicDims() || !(shape.layout().tiling == DefaultLayout(shape.rank()).tiling)) return std::nullopt;
  std::vector<int64_t> dims;
  for (size_t i = shape.layout().minor_to_major.size(); i-- > 0;) {
    const int64_t d = shape.layout().minor_to_major[i];
    if (shape.dim(d) != 1) dims.push_back(d);
  }
  return dims;
}

Result<Instruction*> ReshapeToBitcast(Instruction& inst, const PassContext&) {
  const Shape& from = inst.operand(0).shape();
  if (!InMemory(from) || !InMemory(inst.shape())) return nullptr;
  if (from.HasDefaultLayout() && inst.shape().HasDefaultLayout()) return nullptr;  // Recast() would make a reshape.
  if (!PairDimensions(from, inst.shape())) return nullptr;
  const auto numbered = [](const Shape& shape) {
    std::vector<int64_t> number(shape.rank(), -1), numbers;
    int64_t next = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) number[d] = shape.dim(d) == 1 ? -1 : next++;
    const std::vector<int64_t> in_memory = *InMemory(shape);
    for (const int64_t d : in_memory) numbers.push_back(number[d]);
    return numbers;
  };
  return numbered(from) == numbered(inst.shape()) ? Recast(inst, inst.shape(), &inst.operand(0)) : nullptr;
}

// Dimensions larger than 1 must keep their order in memory.
Result<Instruction*> TransposeToBitcast(Instruction& inst, const PassContext&) {
  const auto from = InMemory(inst.operand(0).shape()), to = InMemory(inst.shape());
  if (!from || !to) return nullptr;
  std::vector<int64_t> as_operand;
  for (const int64_t d : *to) as_operand.push_back(inst.dimensions()[d]);
  return as_operand == *from ? Recast(inst, inst.shape(), &inst.operand(0)) : nullptr;
}

// In memory, only dimensions of size 1 may move.
Result<Instruction*> CopyToBitcast(Instruction& inst, const PassContext&) {
  if (!inst.shape().IsArray()) return nullptr;
  const auto from = InMemory(inst.operand(0).shape()), to = InMemory(inst.shape());
  return from && from == to ? Recast(inst, inst.shape(), &inst.operand(0)) : nullptr;
}

// `to` gets the memory order of `x`. `paired` is PairDimensions(x, to).
Shape SameMemory(const Shape& x, const Shape& to, const std::vector<int64_t>& paired) {
  Layout layout;
  for (const int64_t d : x.layout().minor_to_major) {
    const auto found = std::ranges::find(paired, d);
    if (found != paired.end()) layout.minor_to_major.push_back(found - paired.begin());
  }
  for (int64_t d = 0; d < to.rank(); ++d) {
    if (paired[d] < 0) layout.minor_to_major.push_back(d);
  }
  return Shape(to.type(), to.dims(), layout);
}

// The reshape must only add and remove dimensions of size 1.
Result<Instruction*> ReshapeOfCopy(Instruction& inst, const PassContext&) {
  Instruction& copy = inst.operand(0);
  if (!m::OneUse(m::Copy())(&copy)) return nullptr;
  Instruction& x = copy.operand(0);
  if (!InMemory(x.shape()) || !InMemory(inst.shape()) || x.shape().layout() == copy.shape().layout()) return nullptr;
  const auto paired = PairDimensions(x.shape(), inst.shape());
  if (!paired) return nullptr;
  Instruction* view = Recast(inst, SameMemory(x.shape(), inst.shape(), *paired), &x);
  return Replace(inst, Opcode::kCopy, {view});
}

// The dimension of `from` for each dimension of `to`. nullopt if a bitcast does more than permute dimensions and
// layout.
std::optional<std::vector<int64_t>> Renaming(const Shape& from, const Shape& to) {
  const auto &a = from.layout().minor_to_major, &b = to.layout().minor_to_major;
  if (!InMemory(from) || !InMemory(to) || from.rank() != to.rank() || from.type() != to.type()) return std::nullopt;
  std::vector<int64_t> renamed(to.rank());
  for (int64_t i = 0; i < to.rank(); ++i) {
    if (from.dim(a[i]) != to.dim(b[i])) return std::nullopt;
    renamed[b[i]] = a[i];
  }
  return renamed;
}

// The bitcast must only permute dimensions and layout.
Result<Instruction*> CopyOfBitcastOfCopy(Instruction& inst, const PassContext&) {
  Instruction *bitcast, *copy;
  if (!m::Copy(m::OneUse(m::Bitcast(&bitcast, m::OneUse(m::Copy(&copy)))))(&inst)) return nullptr;
  Instruction& x = copy->operand(0);
  const auto renamed = Renaming(copy->shape(), bitcast->shape());
  if (!renamed || !InMemory(x.shape()) || !InMemory(inst.shape())) return nullptr;
  Layout layout;
  for (const int64_t d : x.shape().layout().minor_to_major)
    layout.minor_to_major.push_back(std::ranges::find(*renamed, d) - renamed->begin());
  Instruction* view = Recast(inst, Shape(x.shape().type(), bitcast->shape().dims(), layout), &x);
  return Replace(inst, Opcode::kCopy, {view});
}

// The bitcast may only permute dimensions and layout, and must keep the broadcast operand's dimensions in order.
Result<Instruction*> BitcastOfBroadcast(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  if (!broadcast.Is(Opcode::kBroadcast) || !MayGetLayoutOf(inst.shape(), broadcast.shape())) return nullptr;
  const auto renamed = Renaming(broadcast.shape(), inst.shape());
  if (!renamed) return nullptr;
  std::vector<int64_t> dims;
  for (const int64_t d : broadcast.dimensions()) dims.push_back(std::ranges::find(*renamed, d) - renamed->begin());
  if (!std::ranges::is_sorted(dims)) return nullptr;
  return Replace(inst, Opcode::kBroadcast, {&broadcast.operand(0)}, DimensionsAttrs{dims});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.bcast.2",  Opcode::kBroadcast,                       BroadcastToTranspose, Preserves::kExact, "broadcast(x) => transpose(x), when it only reorders dimensions"},
    {"A.slice.1c", Opcode::kSlice,                           SliceOfBroadcast,     Preserves::kExact, "slice(broadcast(x)) => broadcast(slice(x))"},
    {"A.slice.1d", Opcode::kSlice,                           SliceWithoutStride,   Preserves::kExact, "slice(x) with a stride => slice(x) without it, in dimensions of one element"},
    {"A.slice.3",  Opcode::kSlice,                           SliceOfReshape,       Preserves::kExact, "slice(reshape(x)) => reshape(slice(x)), of the first rows"},
    {"A.slice.5b", Opcode::kSlice,                           SliceOfFewerParts,    Preserves::kExact, "slice(concatenate(x, y, z)) => slice(concatenate(x, y)), when the slice does not reach z"},
    {"A.cat.4",    Opcode::kConcatenate,                     ConcatenateToPad,     Preserves::kExact, "concatenate(broadcast(c), x) => pad(x, c); concatenate(x, broadcast(c)) too"},
    {"A.pad.1b",   Opcode::kPad,                             PadOfNothing,         Preserves::kExact, "pad(x, c) => broadcast(c), when x is empty"},
    {"A.pad.1c",   Opcode::kPad,                             PadBetweenNothing,    Preserves::kExact, "pad(x) with interior padding => pad(x) without it, in dimensions of size 1"},
    {"A.pad.2",    Opcode::kPad,                             PadOfNegative,        Preserves::kExact, "pad(x) with negative padding => slice(pad(x))"},
    {"A.pad.3",    Opcode::kPad,                             PadOfBroadcast,       Preserves::kExact, "pad(broadcast(x)) => broadcast(pad(x)), in x's dimensions"},
    {"A.rev.2a",   Opcode::kReverse,                         ReverseOfBinary,      Preserves::kExact, "reverse(f(x, broadcast(c))) => f(reverse(x), broadcast(c)), for a scalar c"},
    {"A.rev.2b",   Opcode::kReverse,                         ReverseOfReshape,     Preserves::kExact, "reverse(reshape(x)) => reshape(reverse(x)), when the reshape only adds dimensions of size 1"},
    {"A.resh.3",   Opcode::kReshape,                         ReshapeOfIota,        Preserves::kExact, "reshape(iota) => iota, or a sum of multiples of iotas"},
    {"A.resh.6",   {Opcode::kReshape, Opcode::kTranspose},   ChainToItself,        Preserves::kExact, "transposes and reshapes of x that restore the shape and order of x => x"},
    {"A.resh.7",   Opcode::kReshape,                         HoistTranspose,       Preserves::kExact, "reshape(transpose(x)) => transpose(reshape(x)), when it merges only dimensions that were adjacent before"},
    {"A.trans.5",  Opcode::kReshape,                         ChunksToConcatenate,  Preserves::kExact, "reshape(transpose(reshape(x))) => concatenate(slices of x), of at most five chunks"},
    {"A.bitc.2",   Opcode::kBitcast,                         BitcastOfUnary,       Preserves::kExact, "bitcast(f(bitcast(x))) => bitcast(f(x)), for elementwise f"},
    {"A.copy.1b",  Opcode::kCopy,                            CopyTwice,            Preserves::kExact, "copy(copy(x)) => copy(x)"},
    {"A.copy.2",   Opcode::kCopy,                            CopyOfReshape,        Preserves::kExact, "copy(reshape(x)) => reshape(x)"},
    {"A.resh.8",   Opcode::kReshape,                         ReshapeOfCopy,        Preserves::kExact, "reshape(copy(x)) => copy(bitcast(x)), of dimensions of size 1"},
    {"A.resh.5",   Opcode::kReshape,                         ReshapeToBitcast,     Preserves::kExact, "reshape(x) => bitcast(x), when nothing moves in memory and a layout is not row-major"},
    {"A.trans.4",  Opcode::kTranspose,                       TransposeToBitcast,   Preserves::kExact, "transpose(x) => bitcast(x), when nothing moves in memory"},
    {"A.copy.1c",  Opcode::kCopy,                            CopyToBitcast,        Preserves::kExact, "copy(x) => bitcast(x), when nothing moves in memory"},
    {"A.copy.3",   Opcode::kCopy,                            CopyOfBitcastOfCopy,  Preserves::kExact, "copy(bitcast(copy(x))) => copy(bitcast(x))"},
    {"A.bitc.3",   Opcode::kBitcast,                         BitcastOfBroadcast,   Preserves::kExact, "bitcast(broadcast(x)) => broadcast(x), when it is a transpose"},
};
// clang-format on

}  // namespace

std::span<const Rule> ViewRules() { return kRules; }

}  // namespace hlo
