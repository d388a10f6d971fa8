#include <cmath>

#include "driver/fuzz/grower.h"

namespace hlo {
namespace {

using enum PrimitiveType;

// Bounds both operands, so that a sum of `terms` products is at most about 4 times LimitOf.
void BoundBoth(Grower& g, Instruction** a, Instruction** b, int64_t terms) {
  const double limit = Grower::LimitOf((*a)->shape().type());
  const double most = std::max(0.25, std::sqrt(4 * limit / static_cast<double>(std::max<int64_t>(1, terms))));
  *a = &g.Bounded(**a, most);
  *b = &g.Bounded(**b, most);
}

void KeepSum(Grower& g, Instruction& inst, const Instruction& a, const Instruction& b, int64_t terms) {
  const double size =
      2 * g.IntervalOf(a).size() * g.IntervalOf(b).size() * static_cast<double>(std::max<int64_t>(1, terms));
  g.SetInterval(inst, {-size, size});
  g.Keep(inst);
}

PrimitiveType SumType(Grower& g, PrimitiveType type) {
  if ((type == kBF16 || type == kF16 || (IsFloat(type) && BitWidth(type) < 16)) && g.chance.Percent(40)) return kF32;
  if ((type == kS8 || type == kU8) && g.chance.Percent(60)) return type == kS8 ? kS32 : kU32;
  return type;
}

bool GrowDot(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction* lhs = &g.PickOf([](PrimitiveType type) { return type != kPred; }, 1);
  const Shape& shape = lhs->shape();
  const int64_t rank = shape.rank();
  const int64_t contracting = g.chance.Percent(8) ? 0 : g.chance.Percent(80) ? 1 : std::min<int64_t>(2, rank);
  const int64_t batch = g.chance.Percent(35) ? std::min<int64_t>(rank - contracting, g.chance.Between(1, 2)) : 0;
  const std::vector<int64_t> dims = g.chance.Sample(rank, contracting + batch);
  DotAttrs attrs;
  attrs.lhs_contracting.assign(dims.begin(), dims.begin() + contracting);
  attrs.lhs_batch.assign(dims.begin() + contracting, dims.end());
  int64_t terms = 1, elements = 1;
  for (const int64_t d : attrs.lhs_contracting) terms *= shape.dim(d);
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(attrs.lhs_contracting.begin(), attrs.lhs_contracting.end(), d) == attrs.lhs_contracting.end())
      elements *= shape.dim(d);
  }

  const int64_t free = g.chance.Between(0, rank + 1 < 4 ? 2 : 1);
  const int64_t rhs_rank = contracting + batch + free;
  const std::vector<int64_t> places = g.chance.Sample(rhs_rank, rhs_rank);
  Dims rhs_dims(std::vector<int64_t>(rhs_rank, 1));
  int64_t next = 0;
  for (const int64_t d : attrs.lhs_contracting) {
    attrs.rhs_contracting.push_back(places[next]);
    rhs_dims[places[next++]] = shape.dim(d);
  }
  for (const int64_t d : attrs.lhs_batch) {
    attrs.rhs_batch.push_back(places[next]);
    rhs_dims[places[next++]] = shape.dim(d);
  }
  int64_t rhs_elements = 1;
  for (const int64_t size : rhs_dims) rhs_elements *= std::max<int64_t>(1, size);
  for (; next < rhs_rank; ++next) {
    const int64_t size =
        g.AnySize(std::min(g.max_elems() / std::max<int64_t>(1, elements), g.max_elems() / rhs_elements));
    rhs_dims[places[next]] = size;
    elements *= size;
    rhs_elements *= std::max<int64_t>(1, size);
  }
  if (elements > g.max_elems() || !g.Spend(elements * terms)) return false;
  Instruction* rhs = &g.Any(shape.type(), rhs_dims);
  if (IsFloat(shape.type()) || IsComplex(shape.type())) BoundBoth(g, &lhs, &rhs, terms);
  if (g.chance.Percent(15)) {
    const Precision precision = g.chance.OneOf({Precision::kHigh, Precision::kHighest});
    attrs.precision = {precision, precision};
  }
  Instruction& inst = g.Add(opcode, {lhs, rhs}, attrs);
  inst.SetShape(inst.shape().WithType(SumType(g, shape.type())));
  KeepSum(g, inst, *lhs, *rhs, terms);
  return true;
}

// The ragged dimension is a free, contracting or batch dimension of lhs.
bool GrowRaggedDot(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction* lhs = &g.PickOf([](PrimitiveType type) { return type != kPred; }, 2);
  const Shape& shape = lhs->shape();
  const int64_t rank = shape.rank();
  const std::vector<int64_t> dims = g.chance.Sample(rank, g.chance.Percent(40) ? 2 : 1);
  RaggedDotAttrs attrs;
  attrs.lhs_contracting = {dims[0]};
  if (dims.size() > 1) attrs.lhs_batch = {dims[1]};
  const int64_t ragged = g.chance.Below(rank);
  attrs.lhs_ragged = {ragged};
  const bool free = std::ranges::find(dims, ragged) == dims.end();
  const int64_t groups = g.chance.Between(1, 4);
  const int64_t terms = shape.dim(dims[0]);

  Dims rhs_dims;
  attrs.rhs_contracting = {std::ssize(rhs_dims)};
  rhs_dims.push_back(terms);
  if (dims.size() > 1) {
    attrs.rhs_batch = {std::ssize(rhs_dims)};
    rhs_dims.push_back(shape.dim(dims[1]));
  }
  if (free) {
    attrs.rhs_group = {std::ssize(rhs_dims)};
    rhs_dims.push_back(groups);
  }
  const int64_t columns = g.chance.Percent(70) ? g.chance.Between(1, 9) : 0;
  if (columns > 0) rhs_dims.push_back(columns);
  const int64_t elements = shape.NumElements() / std::max<int64_t>(1, terms) * std::max<int64_t>(1, columns) * groups;
  if (elements > g.max_elems() || !g.Spend(elements * terms)) return false;
  Instruction* rhs = &g.Any(shape.type(), rhs_dims);
  Literal sizes(Shape(g.chance.OneOf({kS32, kS64}), {groups}));
  for (int64_t i = 0; i < groups; ++i) sizes.SetInt(i, g.chance.Between(0, 2 * shape.dim(ragged) / groups + 1));
  if (IsFloat(shape.type()) || IsComplex(shape.type())) BoundBoth(g, &lhs, &rhs, terms);
  Instruction& inst = g.Add(opcode, {lhs, rhs, &g.computation().AddConstant(std::move(sizes))}, attrs);
  inst.SetShape(inst.shape().WithType(SumType(g, shape.type())));
  KeepSum(g, inst, *lhs, *rhs, terms);
  return true;
}

bool GrowConvolution(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  PrimitiveType type = g.AnyType();
  if (!IsFloat(type) && !(g.wide() && type != kPred)) type = kF32;
  const int64_t spatial = g.chance.OneOf<int64_t>({1, 2, 2, 2, 3, 0});
  ConvolutionAttrs attrs;
  const int64_t grouping = g.chance.Below(4);  // 0, 1: none. 2: features. 3: batch.
  const int64_t groups = grouping < 2 ? 1 : g.chance.Between(2, 4);
  if (grouping == 2) attrs.feature_group_count = groups;
  if (grouping == 3) attrs.batch_group_count = groups;
  const int64_t kernel_features = g.chance.Between(1, 5);
  const int64_t features = kernel_features * attrs.feature_group_count;
  const int64_t out_features = groups * g.chance.Between(1, 5);
  const int64_t batch = attrs.batch_group_count * g.chance.Between(1, 3);

  DimLabels& labels = attrs.dim_labels;
  const auto place = [&](int64_t* first, int64_t* second, std::vector<int64_t>* rest) {
    const std::vector<int64_t> order = g.chance.Sample(spatial + 2, spatial + 2);
    *first = order[0];
    *second = order[1];
    rest->assign(order.begin() + 2, order.end());
  };
  place(&labels.lhs_batch, &labels.lhs_feature, &labels.lhs_spatial);
  place(&labels.rhs_input_feature, &labels.rhs_output_feature, &labels.rhs_spatial);
  place(&labels.out_batch, &labels.out_feature, &labels.out_spatial);
  Dims lhs_dims(std::vector<int64_t>(spatial + 2, 1)), rhs_dims = lhs_dims;
  lhs_dims[labels.lhs_batch] = batch;
  lhs_dims[labels.lhs_feature] = features;
  rhs_dims[labels.rhs_input_feature] = kernel_features;
  rhs_dims[labels.rhs_output_feature] = out_features;
  int64_t terms = kernel_features, outputs = batch * out_features;
  int64_t lhs_elements = batch * features;
  for (int64_t i = 0; i < spatial; ++i) {
    WindowDim dim;
    dim.size = g.chance.Between(1, 4);
    const int64_t size = g.chance.Between(1, spatial == 1 ? 40 : 9);
    if (g.chance.Percent(40)) dim.stride = g.chance.Between(1, 3);
    if (g.chance.Percent(20)) dim.base_dilation = g.chance.Between(1, 3);
    if (g.chance.Percent(20)) dim.window_dilation = g.chance.Between(1, 3);
    if (g.chance.Percent(50)) {
      dim.pad_low = g.chance.Between(g.chance.Percent(10) ? -1 : 0, 2);
      dim.pad_high = g.chance.Between(g.chance.Percent(10) ? -1 : 0, 2);
    }
    dim.reversed = g.chance.Percent(15);
    const int64_t base = (size - 1) * dim.base_dilation + 1;
    if (base + dim.pad_low + dim.pad_high < 0) dim.pad_low = dim.pad_high = 0;
    const int64_t room = base + dim.pad_low + dim.pad_high - ((dim.size - 1) * dim.window_dilation + 1);
    if (room < 0 && !g.chance.Percent(5)) dim = {};
    lhs_dims[labels.lhs_spatial[i]] = size;
    rhs_dims[labels.rhs_spatial[i]] = dim.size;
    terms *= dim.size;
    outputs *= std::max<int64_t>(1, room + 1);
    lhs_elements *= size;
    attrs.window.dims.push_back(dim);
  }
  if (outputs > g.max_elems() || lhs_elements > g.max_elems() || !g.Spend(outputs * terms)) return false;
  Instruction* lhs = &g.Any(type, lhs_dims);
  Instruction* rhs = &g.Any(type, rhs_dims);
  if (IsFloat(type) || IsComplex(type)) BoundBoth(g, &lhs, &rhs, terms);
  Instruction& inst = g.Add(opcode, {lhs, rhs}, attrs);
  inst.SetShape(inst.shape().WithType(SumType(g, type)));
  KeepSum(g, inst, *lhs, *rhs, terms);
  return true;
}

}  // namespace

std::span<const GrowRow> ContractionRows() {
  static constexpr GrowRow kRows[] = {
      {Opcode::kDot, 8, true, GrowDot},
      {Opcode::kRaggedDot, 2, false, GrowRaggedDot},
      {Opcode::kConvolution, 4, true, GrowConvolution},
  };
  return kRows;
}

}  // namespace hlo
