#include "driver/fuzz/grower.h"

namespace hlo {
namespace {

bool KeepMoved(Grower& g, Instruction& inst, const Instruction& from) {
  const Interval is = g.IntervalOf(from);
  g.SetInterval(inst, {std::min(0.0, is.low), std::max(0.0, is.high)});
  g.Keep(inst);
  return true;
}

bool GrowBroadcast(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType);
  const int64_t rank = x.shape().rank() + g.chance.Between(x.shape().rank() == 0 ? 1 : 0, 2);
  const std::vector<int64_t> places = g.chance.SortedSample(rank, x.shape().rank());
  int64_t left = g.max_elems() / std::max<int64_t>(1, x.shape().NumElements());
  Dims dims(std::vector<int64_t>(rank, -1));
  for (size_t i = 0; i < places.size(); ++i) dims[places[i]] = x.shape().dim(static_cast<int64_t>(i));
  for (int64_t& size : dims) {
    if (size >= 0) continue;
    size = std::max<int64_t>(1, g.AnySize(left));
    left /= size;
  }
  return KeepMoved(g, g.AddShaped(opcode, Shape(x.shape().type(), dims), {&x}, DimensionsAttrs{places}), x);
}

// Random dimensions for a reshape: merges neighbours, splits sizes and adds dimensions of size 1.
Dims Refactored(Grower& g, const Shape& shape) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  for (int64_t steps = g.chance.Between(1, 3); steps > 0; --steps) {
    const int64_t rank = std::ssize(dims);
    const int64_t at = rank > 0 ? g.chance.Below(rank) : 0;
    if (rank > 1 && g.chance.Percent(45)) {
      const int64_t first = g.chance.Below(rank - 1);
      dims[first] *= dims[first + 1];
      dims.erase(dims.begin() + first + 1);
    } else if (rank > 0 && rank < 5 && dims[at] > 3 && g.chance.Percent(60)) {
      for (const int64_t factor : {g.chance.Between(2, 8), int64_t{2}, int64_t{3}}) {
        if (dims[at] % factor != 0) continue;
        dims[at] /= factor;
        dims.insert(dims.begin() + at + g.chance.Below(2), factor);
        break;
      }
    } else if (rank < 5) {
      dims.insert(dims.begin() + g.chance.Below(rank + 1), 1);
    }
  }
  return dims;
}

bool GrowReshape(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType);
  const Dims dims = Refactored(g, x.shape());
  if (opcode == Opcode::kBitcast) return KeepMoved(g, g.AddShaped(opcode, x.shape().WithDims(dims), {&x}), x);
  return KeepMoved(g, g.AddShaped(opcode, x.shape().WithDims(dims), {&x}, ReshapeAttrs()), x);
}

bool GrowTranspose(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 2);
  const int64_t rank = x.shape().rank();
  return KeepMoved(g, g.Add(opcode, {&x}, DimensionsAttrs{g.chance.Sample(rank, rank)}), x);
}

bool GrowReverse(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  const int64_t rank = x.shape().rank();
  return KeepMoved(g, g.Add(opcode, {&x}, DimensionsAttrs{g.chance.SortedSample(rank, g.chance.Between(1, rank))}), x);
}

bool GrowShuffle(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  const int64_t rank = x.shape().rank();
  ShuffleAttrs attrs{.dimensions = g.chance.Sample(rank, g.chance.Between(1, rank)), .shifts = {}};
  for (const int64_t d : attrs.dimensions)
    attrs.shifts.push_back(g.chance.Between(-x.shape().dim(d) - 1, 2 * x.shape().dim(d)));
  return KeepMoved(g, g.Add(opcode, {&x}, attrs), x);
}

bool GrowSlice(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  SliceRanges ranges;
  for (const int64_t size : x.shape().dims()) {
    SliceDim dim{0, size, 1};
    if (g.chance.Percent(70)) {
      dim.start = g.chance.Between(0, size);
      dim.limit = g.chance.Between(dim.start, size);
      if (dim.start == dim.limit && !g.chance.Percent(5)) dim = {0, size, 1};
    }
    if (g.chance.Percent(30)) dim.stride = g.chance.Between(2, 4);
    ranges.dims.push_back(dim);
  }
  return KeepMoved(g, g.Add(opcode, {&x}, SliceAttrs{ranges}), x);
}

bool GrowPad(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  PaddingConfig padding;
  int64_t elements = 1;
  for (const int64_t size : x.shape().dims()) {
    PaddingDim dim;
    if (g.chance.Percent(60)) dim = {g.chance.Between(-2, 3), g.chance.Between(-2, 3), 0};
    if (g.chance.Percent(25)) dim.interior = g.chance.Between(1, 2);
    const int64_t inner = size + std::max<int64_t>(0, size - 1) * dim.interior;
    if (inner + dim.low + dim.high < 0) dim = {};
    elements *= (dim == PaddingDim() ? size : inner + dim.low + dim.high);
    padding.dims.push_back(dim);
  }
  if (elements > g.max_elems()) return false;
  Instruction& value = g.Any(x.shape().type(), {});
  const Interval a = g.IntervalOf(x), b = g.IntervalOf(value);
  Instruction& inst = g.Add(opcode, {&x, &value}, PadAttrs{padding});
  g.SetInterval(inst, {std::min(a.low, b.low), std::max(a.high, b.high)});
  g.Keep(inst);
  return true;
}

bool GrowConcatenate(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf(IsArrayType, 1);
  const OneDimensionAttrs attrs{{g.chance.Below(x.shape().rank())}};
  const int64_t dimension = attrs.dimension.value;
  Operands operands = {&x};
  int64_t elements = x.shape().NumElements();
  Interval is = g.IntervalOf(x);
  for (int64_t more = g.chance.Between(0, 3); more > 0; --more) {
    Instruction* part = g.Pick([&](const Shape& shape) {
      if (shape.type() != x.shape().type() || shape.rank() != x.shape().rank()) return false;
      for (int64_t i = 0; i < shape.rank(); ++i) {
        if (i != dimension && shape.dim(i) != x.shape().dim(i)) return false;
      }
      return true;
    });
    if (part == nullptr || g.chance.Percent(30)) {
      Dims dims = x.shape().dims();
      dims[dimension] = g.chance.Between(1, 5);
      part = &g.Any(x.shape().type(), dims);
    }
    elements += part->shape().NumElements();
    if (elements > g.max_elems()) break;
    operands.push_back(part);
    is = {std::min(is.low, g.IntervalOf(*part).low), std::max(is.high, g.IntervalOf(*part).high)};
  }
  Instruction& inst = g.Add(opcode, operands, attrs);
  g.SetInterval(inst, is);
  g.Keep(inst);
  return true;
}

bool GrowConstant(Grower& g, Opcode) {
  const PrimitiveType type = g.AnyType();
  g.Keep(g.Constant(type, g.AnyDims(0, 3)));
  return true;
}

}  // namespace

std::span<const GrowRow> MovementRows() {
  static constexpr GrowRow kRows[] = {
      {Opcode::kBroadcast, 6, true, GrowBroadcast},
      {Opcode::kReshape, 5, true, GrowReshape},
      {Opcode::kBitcast, 1, true, GrowReshape},
      {Opcode::kTranspose, 5, true, GrowTranspose},
      {Opcode::kReverse, 2, true, GrowReverse},
      {Opcode::kShuffle, 1, true, GrowShuffle},
      {Opcode::kSlice, 4, true, GrowSlice},
      {Opcode::kPad, 4, true, GrowPad},
      {Opcode::kConcatenate, 4, true, GrowConcatenate},
      {Opcode::kConstant, 2, true, GrowConstant},
      {Opcode::kIota, 1, true, GrowConstant},
  };
  return kRows;
}

}  // namespace hlo
