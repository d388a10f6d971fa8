#include "ir/factors/local_op.h"

#include <algorithm>

#include "ir/factors/rule_builder.h"
#include "ir/module.h"

namespace hlo {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool HasFactor(const DimFactors& dim, const FactorPart& part) {
  return std::find(dim.begin(), dim.end(), part.factor) != dim.end();
}

int64_t LocalSize(int64_t size, const FactorRule& rule, const FactorPart& part) {
  return size / rule.factors[part.factor].size * part.range.size;
}

// An op, its cut, and the local op so far.
struct Cut {
  const Instruction& inst;
  const FactorRule& rule;
  const FactorPart& part;
  LocalOp& local;

  const Factor& factor() const { return rule.factors[part.factor]; }
  bool CutsResult(int64_t dim) const { return HasFactor(rule.result[0][dim], part); }
  bool CutsOperand(int64_t operand, int64_t dim) const { return HasFactor(rule.operands[operand][0][dim], part); }
  // A reversed window's kernel is stored from its last position to its first.
  LocalWindow WindowOf(const FactorWindow& read) const {
    IndexRange positions = part.range;
    const bool from_end = factor().kind == FactorKind::kSum && read.window.reversed;
    if (from_end) positions.first = factor().size - positions.first - positions.size;
    if (part.has_padding_rows) return UnclampedWindowOf(read.window, positions);
    return LocalWindowOf(read.window, inst.operand(read.operand).shape().dim(read.dim), positions);
  }
};

// Overloads exist for attributes that depend on sizes. Other attributes stay.
template <class Attrs>
void Localize(const Cut&, Attrs&) {}

void Localize(const Cut& cut, ReshapeAttrs& a) { a.inferred_dimension = -1; }

void Localize(const Cut& cut, IotaAttrs& a) {
  if (cut.CutsResult(a.iota_dimension)) cut.local.offset = cut.part.range.first;
}

// Elements whose index along `dim` is in the range.
Literal RowsOf(const Literal& whole, int64_t dim, IndexRange range, const Shape& shape) {
  Literal rows(shape);
  int64_t outer = 1;
  for (int64_t i = 0; i < dim; ++i) outer *= shape.dim(i);
  const int64_t run = rows.byte_size() / outer, whole_run = whole.byte_size() / outer;
  const int64_t start = run / range.size * range.first;
  for (int64_t i = 0; i < outer; ++i)
    std::copy_n(whole.raw() + i * whole_run + start, run, rows.mutable_raw() + i * run);
  return rows;
}

void Localize(const Cut& cut, ConstantAttrs& a) {
  const Shape& shape = cut.local.shape;
  int64_t dim = 0;
  while (!cut.CutsResult(dim)) ++dim;
  const bool known = cut.inst.literal().IsKnown();
  a.literal = known ? RowsOf(cut.inst.literal(), dim, cut.part.range, shape) : Literal::Elided(shape);
}

void Localize(const Cut& cut, SliceAttrs& a) {
  for (int64_t dim = 0; dim < std::ssize(a.slice.dims); ++dim) {
    if (!cut.CutsResult(dim)) continue;
    const bool windowed = !cut.factor().windows.empty();
    a.slice.dims[dim].start = 0;
    a.slice.dims[dim].limit = windowed ? cut.WindowOf(cut.factor().windows[0]).rows.size : cut.part.range.size;
  }
}

void Localize(const Cut& cut, PadAttrs& a) {
  for (const FactorWindow& read : cut.factor().windows) {
    const WindowDim window = cut.WindowOf(read).window;
    a.padding.dims[read.dim] = {window.pad_low, window.pad_high, window.base_dilation - 1};
  }
}

// A cut dimension is not shifted: rows are already in the order of the result, or the shift is a multiple of the size.
void Localize(const Cut& cut, ShuffleAttrs& a) {
  for (size_t i = 0; i < a.dimensions.size(); ++i) {
    if (cut.CutsResult(a.dimensions[i])) a.shifts[i] = 0;
  }
}

// Slices with all elements of a cut dimension get all elements of the part.
void LocalizeSlice(const Cut& cut, std::vector<int64_t>& sizes) {
  for (int64_t dim = 0; dim < std::ssize(sizes); ++dim) {
    const int64_t size = cut.inst.operand(0).shape().dim(dim);
    if (cut.CutsOperand(0, dim) && sizes[dim] == size) sizes[dim] = LocalSize(size, cut.rule, cut.part);
  }
}
void Localize(const Cut& cut, GatherAttrs& a) { LocalizeSlice(cut, a.slice_sizes); }
void Localize(const Cut& cut, DynamicSliceAttrs& a) { LocalizeSlice(cut, a.sizes); }

// A part may have less than k elements.
void Localize(const Cut& cut, TopKAttrs& a) {
  if (cut.factor().kind != FactorKind::kSum) return;
  a.k = std::min(a.k, cut.part.range.size);
  for (Shape& leaf : cut.local.shape.mutable_elements()) leaf.SetDim(leaf.rank() - 1, a.k);
  cut.local.offset = cut.part.range.first;
  cut.local.offset_leaf = 1;
}

void Localize(const Cut& cut, ReduceWindowAttrs& a) {
  for (const FactorWindow& read : cut.factor().windows) a.window.dims[read.dim] = cut.WindowOf(read).window;
}

// Rows of the operand contain the windows of all sources.
void Localize(const Cut& cut, SelectAndScatterAttrs& a) {
  if (cut.factor().windows.empty()) return;
  const int64_t dim = cut.factor().windows[0].dim;
  const IndexRange rows = cut.WindowOf(cut.factor().windows[0]).rows;
  const IndexRange sources = cut.WindowOf(cut.factor().windows[1]).rows;
  WindowDim& window = a.window.dims[dim];
  if (sources.size == 0) {
    window.pad_low = 0;
    window.pad_high = -rows.size;
  } else {
    window.pad_low += rows.first - sources.first * window.stride;
    window.pad_high = (sources.size - 1) * window.stride + window.size - window.pad_low - rows.size;
  }
  cut.local.shape.SetDim(dim, rows.size);
  cut.local.kept = {cut.part.range.first - rows.first, cut.part.range.size};
}

void Localize(const Cut& cut, ConvolutionAttrs& a) {
  const DimLabels& d = a.dim_labels;
  for (const FactorWindow& read : cut.factor().windows) {
    const auto i = std::ranges::find(d.lhs_spatial, read.dim) - d.lhs_spatial.begin();
    const WindowDim local = cut.WindowOf(read).window;
    a.window.dims[i].pad_low = local.pad_low;
    a.window.dims[i].pad_high = local.pad_high;
    if (cut.factor().kind == FactorKind::kSum) a.window.dims[i].size = cut.part.range.size;
  }
  // Features consist of groups, then of features in a group. A factor that also cuts the batch or the input features is
  // the groups.
  const bool of_features = cut.CutsResult(d.out_feature) && cut.CutsOperand(0, d.lhs_feature);
  const bool of_batch = cut.CutsResult(d.out_feature) && cut.CutsOperand(0, d.lhs_batch);
  if (of_features) a.feature_group_count = cut.part.range.size;
  if (of_batch) a.batch_group_count = cut.part.range.size;
}

void Localize(const Cut& cut, CustomCallAttrs& a) {
  if (!a.operand_layouts) return;
  for (size_t i = 0; i < a.operand_layouts->shapes.size(); ++i) {
    Shape& shape = a.operand_layouts->shapes[i];
    shape = LocalShape(shape, cut.rule.operands[i], cut.rule, cut.part);
  }
}

// The values of a step lack the scanned dimension.
void Localize(const Cut& cut, ScanAttrs& a) {
  if (cut.factor().kind != FactorKind::kFree) return;
  const int64_t along = a.dimension.value;
  int64_t dim = 0;
  while (!cut.CutsOperand(0, dim)) ++dim;
  if (dim > along) --dim;
  Computation& step = cut.inst.module().CloneComputation(*a.to_apply, a.to_apply->name());
  const auto shrink = [&](Shape shape) {
    if (shape.IsArray()) shape.SetDim(dim, cut.part.range.size);
    for (size_t i = 0; shape.IsTuple() && i < shape.elements().size(); ++i)
      shape.mutable_elements()[i].SetDim(dim, cut.part.range.size);
    return shape;
  };
  for (Instruction* inst : step.Instructions()) inst->SetShape(shrink(inst->shape()));
  a.to_apply = &step;
}

}  // namespace

std::optional<FactorPart> PartOf(const FactorRule& rule, int64_t factor, int64_t parts, int64_t part) {
  const int64_t size = rule.factors[factor].size, most = CeilDiv(size, parts), first = part * most;
  if (first >= size) return std::nullopt;
  return FactorPart{factor, {first, std::min(most, size - first)}};
}

namespace {

// Positions [low, high) of a part's windows. With a dilation of d, element e is at e * d.
struct Span {
  Span(const WindowDim& window, IndexRange positions) {
    const int64_t a = positions.first * window.stride, b = (positions.first + positions.size - 1) * window.stride;
    low = std::min(a, b) - window.pad_low;
    high = std::max(a, b) - window.pad_low + (window.size - 1) * window.window_dilation + 1;
    first = CeilDiv(low, window.base_dilation);
    end = FloorDiv(high - 1, window.base_dilation) + 1;
  }
  int64_t low, high;
  int64_t first, end;  // Elements in the span.
};

LocalWindow WithPadding(const WindowDim& window, const Span& span) {
  LocalWindow local{{span.first, span.end - span.first}, window};
  if (span.first == span.end) {
    local.window.pad_low = span.high - span.low;
    local.window.pad_high = 0;
  } else {
    local.window.pad_low = span.first * window.base_dilation - span.low;
    local.window.pad_high = span.high - 1 - (span.end - 1) * window.base_dilation;
  }
  return local;
}

}  // namespace

LocalWindow LocalWindowOf(const WindowDim& window, int64_t elements, IndexRange positions) {
  Span span(window, positions);
  span.first = std::clamp<int64_t>(span.first, 0, elements);
  span.end = std::clamp<int64_t>(span.end, span.first, elements);
  return WithPadding(window, span);
}

LocalWindow UnclampedWindowOf(const WindowDim& window, IndexRange positions) {
  return WithPadding(window, Span(window, positions));
}

Shape LocalShape(const Shape& whole, const std::vector<LeafFactors>& leaves, const FactorRule& rule,
                 const FactorPart& part) {
  size_t next = 0;
  const auto cut = [&](auto&& cut, const Shape& shape) -> Shape {
    Shape local = shape;
    if (shape.IsTuple()) {
      for (Shape& element : local.mutable_elements()) element = cut(cut, element);
      return local;
    }
    const LeafFactors& leaf = leaves[next++];
    for (int64_t dim = 0; dim < shape.rank(); ++dim) {
      if (HasFactor(leaf[dim], part)) local.SetDim(dim, LocalSize(shape.dim(dim), rule, part));
    }
    return local;
  };
  return cut(cut, whole);
}

LocalOp LocalOpOf(const Instruction& inst, const FactorRule& rule, const FactorPart& part) {
  return LocalOpOf(inst, rule, {&part, 1});
}

LocalOp LocalOpOf(const Instruction& inst, const FactorRule& rule, std::span<const FactorPart> parts) {
  LocalOp local{.shape = inst.shape(), .attributes = inst.attributes()};
  for (const FactorPart& part : parts) {
    CHECK(rule.factors[part.factor].kind != FactorKind::kWhole, "cutting a whole factor of ", inst.name());
    local.shape = LocalShape(local.shape, rule.result, rule, part);
    const Cut cut{inst, rule, part, local};
    for (const FactorWindow& read : cut.factor().windows)
      local.rows.push_back({read.operand, read.dim, cut.WindowOf(read).rows});
    Visit(local.attributes, [&](auto& attrs) { Localize(cut, attrs); });
  }
  return local;
}

}  // namespace hlo
