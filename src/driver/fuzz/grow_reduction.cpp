#include <cmath>

#include "base/text.h"
#include "driver/fuzz/grower.h"

namespace hlo {
namespace {

using enum PrimitiveType;

Opcode AnyReducer(Grower& g, PrimitiveType type) {
  if (type == kPred) return g.chance.OneOf({Opcode::kAnd, Opcode::kOr, Opcode::kXor});
  if (IsComplex(type)) return Opcode::kAdd;
  if (IsFloat(type))
    return g.chance.OneOf({Opcode::kAdd, Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum, Opcode::kMultiply});
  return g.chance.OneOf(
      {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum, Opcode::kMultiply, Opcode::kAnd, Opcode::kOr, Opcode::kXor});
}

Instruction& Start(Grower& g, Opcode reducer, PrimitiveType type) {
  if (g.chance.Percent(20)) return g.Bounded(g.Any(type, {}), 1);
  switch (reducer) {
    case Opcode::kMultiply: return g.Scalar(type, 1);
    case Opcode::kMaximum: return g.Scalar(type, IsFloat(type) ? -4 : IsUnsigned(type) ? 0 : -1);
    case Opcode::kAnd: return type == kPred ? g.Scalar(type, 1) : g.Scalar(type, IsUnsigned(type) ? 1 : -1);
    default: return g.Scalar(type, 0);
  }
}

Instruction& Ready(Grower& g, Opcode reducer, Instruction& x, int64_t count, Interval* result) {
  const PrimitiveType type = x.shape().type();
  *result = {-4, 4};
  if (!IsFloat(type) && !IsComplex(type)) return x;
  if (reducer == Opcode::kMultiply) {
    *result = {-1, 1};
    return g.Bounded(x, 1);
  }
  if (reducer == Opcode::kAdd) {
    Instruction& bounded = g.Bounded(x, BitWidth(type) < 16 ? 0.25 : Grower::LimitOf(type) / 8);
    const double size = 1 + g.IntervalOf(bounded).size() * static_cast<double>(count);
    *result = {-size, size};
    // Narrow floats cannot hold the sum of many elements.
    if (size > 16 * Grower::LimitOf(type)) {
      *result = {-Grower::LimitOf(type), Grower::LimitOf(type)};
      return g.Bounded(x, Grower::LimitOf(type) / static_cast<double>(count + 1));
    }
    return bounded;
  }
  const double size = std::max(4.0, g.IntervalOf(x).size());
  *result = {-size, size};
  return x;
}

Computation& ArgMax(Grower& g, PrimitiveType type, ComparisonDirection direction) {
  return g.InComputation("argmax", [&] {
    Instruction& best = g.Parameter(Shape::Scalar(type));
    Instruction& best_at = g.Parameter(Shape::Scalar(kS32));
    Instruction& value = g.Parameter(Shape::Scalar(type));
    Instruction& value_at = g.Parameter(Shape::Scalar(kS32));
    Instruction* better = &g.Add(Opcode::kCompare, {&best, &value}, CompareAttrs{direction});
    // NaN is always better, as in JAX. Otherwise the order of combining would matter.
    if (IsFloat(type)) {
      Instruction& is_nan = g.Add(Opcode::kCompare, {&best, &best}, CompareAttrs{ComparisonDirection::kNe});
      better = &g.Add(Opcode::kOr, {better, &is_nan});
    }
    Instruction& equal = g.Add(Opcode::kCompare, {&best, &value}, CompareAttrs{ComparisonDirection::kEq});
    Instruction& earlier = g.Add(Opcode::kCompare, {&best_at, &value_at}, CompareAttrs{ComparisonDirection::kLt});
    Instruction& keep = g.Add(Opcode::kOr, {better, &g.Add(Opcode::kAnd, {&equal, &earlier})});
    Instruction& result = g.Add(Opcode::kSelect, {better, &best, &value});
    g.computation().SetRoot(g.computation().AddTuple({&result, &g.Add(Opcode::kSelect, {&keep, &best_at, &value_at})}));
  });
}

template <class Attrs>
void KeepFold(Grower& g, Opcode opcode, Instruction& x, int64_t count, Attrs attrs) {
  const PrimitiveType type = x.shape().type();
  const Opcode reducer = AnyReducer(g, type);
  Interval interval;
  Instruction& ready = Ready(g, reducer, x, count, &interval);
  attrs.to_apply = &g.ScalarBinary(reducer, type);
  Instruction& inst = g.Add(opcode, {&ready, &Start(g, reducer, type)}, std::move(attrs));
  g.SetInterval(inst, interval);
  g.Keep(inst);
}

bool GrowReduce(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& picked = g.PickOf(IsArrayType, 1);
  const int64_t rank = picked.shape().rank();
  ReduceAttrs attrs{.dimensions = g.chance.SortedSample(rank, g.chance.Between(1, rank))};
  const PrimitiveType type = picked.shape().type();
  if (g.chance.Percent(15) && !IsComplex(type) && type != kPred) {
    const bool least = g.chance.Percent(30);
    attrs.to_apply = &ArgMax(g, type, least ? ComparisonDirection::kLt : ComparisonDirection::kGt);
    Instruction& places = g.AddShaped(Opcode::kIota, picked.shape().WithType(kS32).WithDefaultLayout(), {},
                                      IotaAttrs{attrs.dimensions[0]});
    const double worst = IsUnsigned(type) ? 0 : -4;
    const double bound = std::max(4.0, g.IntervalOf(picked).size());
    Instruction& inst = g.Add(opcode, {&picked, &places, &g.Scalar(type, worst), &g.Scalar(kS32, 0)}, attrs);
    g.SetInterval(inst, {-bound, bound});
    g.Keep(inst);
    return true;
  }
  int64_t count = 1;
  for (const int64_t d : attrs.dimensions) count *= picked.shape().dim(d);
  KeepFold(g, opcode, picked, count, std::move(attrs));
  return true;
}

Window AnyWindow(Grower& g, const Shape& shape, bool plain, int64_t* count) {
  Window window;
  *count = 1;
  for (const int64_t size : shape.dims()) {
    WindowDim dim;
    if (size > 0 && g.chance.Percent(70)) {
      dim.size = g.chance.Between(1, std::min<int64_t>(size, 4));
      dim.stride = g.chance.Between(1, 3);
      if (g.chance.Percent(40)) {
        dim.pad_low = g.chance.Between(0, dim.size - 1);
        dim.pad_high = g.chance.Between(0, dim.size - 1);
      }
      if (!plain && g.chance.Percent(20)) dim.base_dilation = g.chance.Between(1, 3);
      if (!plain && g.chance.Percent(20)) dim.window_dilation = g.chance.Between(1, 3);
      const int64_t extent = (dim.size - 1) * dim.window_dilation + 1;
      const int64_t base = (size - 1) * dim.base_dilation + 1 + dim.pad_low + dim.pad_high;
      if (extent > base) dim = {};
    }
    *count *= dim.size;
    window.dims.push_back(dim);
  }
  return window;
}

int64_t Outputs(const Shape& shape, const Window& window) {
  int64_t outputs = 1;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const WindowDim& dim = window.dims[i];
    const int64_t base = (std::max<int64_t>(shape.dim(i), 1) - 1) * dim.base_dilation + 1 + dim.pad_low + dim.pad_high;
    outputs *= (base - (dim.size - 1) * dim.window_dilation - 1) / dim.stride + 1;
  }
  return outputs;
}

bool GrowReduceWindow(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& picked = g.PickOf(IsArrayType, 1);
  ReduceWindowAttrs attrs;
  int64_t count = 1;
  const int64_t last = picked.shape().dim(picked.shape().rank() - 1);
  if (g.chance.Percent(15) && last > 1 && last < 300) {
    for (int64_t i = 0; i + 1 < picked.shape().rank(); ++i) attrs.window.dims.emplace_back();
    attrs.window.dims.push_back({.size = last, .pad_low = last - 1});
    count = last;
  } else {
    attrs.window = AnyWindow(g, picked.shape(), false, &count);
  }
  const int64_t outputs = Outputs(picked.shape(), attrs.window);
  if (outputs > g.max_elems() || !g.Spend(outputs * count)) return false;
  KeepFold(g, opcode, picked, count, std::move(attrs));
  return true;
}

bool GrowSelectAndScatter(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf([](PrimitiveType type) { return IsFloat(type) || type == kS32; }, 1);
  const PrimitiveType type = x.shape().type();
  SelectAndScatterAttrs attrs;
  int64_t count = 1;
  attrs.window = AnyWindow(g, x.shape(), true, &count);
  const int64_t outputs = Outputs(x.shape(), attrs.window);
  if (x.shape().NumElements() == 0 || !g.Spend(outputs * count)) return false;
  Dims dims;
  for (int64_t i = 0; i < x.shape().rank(); ++i) {
    Shape one(type, {x.shape().dim(i)});
    Window alone{{attrs.window.dims[i]}};
    dims.push_back(Outputs(one, alone));
  }
  Instruction& source = g.Bounded(g.Any(type, dims), BitWidth(type) < 16 ? 0.25 : 2);
  attrs.select = &g.InComputation("select", [&] {
    Instruction& a = g.Parameter(Shape::Scalar(type));
    Instruction& b = g.Parameter(Shape::Scalar(type));
    g.computation().SetRoot(g.Add(Opcode::kCompare, {&a, &b}, CompareAttrs{ComparisonDirection::kGe}));
  });
  attrs.scatter = &g.ScalarBinary(Opcode::kAdd, type);
  Instruction& inst = g.Add(opcode, {&x, &source, &g.Scalar(type, 0)}, attrs);
  const double size = g.IntervalOf(source).size() * static_cast<double>(count);
  g.SetInterval(inst, {-size, size});
  g.Keep(inst);
  return true;
}

// The result of a step includes its own element, or only earlier ones.
bool GrowScan(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& picked = g.PickOf(IsArrayType, 1);
  const PrimitiveType type = picked.shape().type();
  ScanAttrs attrs{.dimension = {g.chance.Below(picked.shape().rank())}, .num_carries = 1};
  if (!g.Spend(picked.shape().NumElements())) return false;
  Dims dims = picked.shape().dims();
  const int64_t steps = dims[attrs.dimension.value];
  dims.erase(dims.begin() + attrs.dimension.value);
  attrs.is_reverse = g.chance.Percent(30);
  const bool inclusive = g.chance.Percent(70);
  const Opcode reducer = AnyReducer(g, type);
  Interval interval;
  Instruction& x = Ready(g, reducer, picked, steps, &interval);
  Instruction& start = g.Bounded(g.Any(type, dims), 1);
  attrs.to_apply = &g.InComputation("step", [&] {
    Instruction& element = g.Parameter(Shape(type, dims));
    Instruction& carry = g.Parameter(Shape(type, dims));
    Instruction& next = g.Add(reducer, {&carry, &element});
    g.computation().SetRoot(g.computation().AddTuple({inclusive ? &next : &carry, &next}));
  });
  Instruction& inst = g.Add(opcode, {&x, &start}, attrs);
  g.SetInterval(inst, interval);
  g.Keep(inst);
  return true;
}

bool GrowSort(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& keys = g.PickOf([](PrimitiveType type) { return !IsComplex(type) && type != kPred; }, 1);
  const Dims& dims = keys.shape().dims();
  Operands operands = {&keys};
  for (int64_t more = g.chance.Below(3); more > 0; --more) operands.push_back(&g.Any(g.AnyType(), dims));
  SortAttrs attrs{.dimension = {g.chance.Below(keys.shape().rank())}, .is_stable = g.chance.Percent(60)};
  const ComparisonDirection direction = g.chance.Percent(60) ? ComparisonDirection::kLt : ComparisonDirection::kGt;
  const bool total = IsFloat(keys.shape().type()) && g.chance.Percent(50);
  attrs.to_apply = &g.InComputation("before", [&] {
    for (const Instruction* operand : operands) {
      for (int side = 0; side < 2; ++side) g.Parameter(Shape::Scalar(operand->shape().type()));
    }
    const CompareAttrs compare{direction, total ? ComparisonType::kTotalOrder : ComparisonType::kDefault};
    Instruction& before =
        g.Add(Opcode::kCompare, {&g.computation().parameter(0), &g.computation().parameter(1)}, compare);
    g.computation().SetRoot(before);
  });
  double size = 4;
  for (const Instruction* operand : operands) size = std::max(size, g.IntervalOf(*operand).size());
  Instruction& inst = g.Add(opcode, operands, attrs);
  g.SetInterval(inst, {-size, size});
  g.Keep(inst);
  return true;
}

bool GrowTopK(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf([](PrimitiveType type) { return !IsComplex(type) && type != kPred; }, 1);
  const Interval is = g.IntervalOf(x);
  const TopKAttrs attrs{.k = g.chance.Between(1, std::max<int64_t>(1, std::min<int64_t>(8, x.shape().dims().back()))),
                        .largest = g.chance.Percent(70)};
  if (attrs.k > x.shape().dims().back()) return false;
  Instruction& inst = g.Add(opcode, {&x}, attrs);
  g.SetInterval(inst, is);
  g.Keep(inst);
  return true;
}

}  // namespace

std::span<const GrowRow> ReductionRows() {
  static constexpr GrowRow kRows[] = {
      {Opcode::kReduce, 10, true, GrowReduce},
      {Opcode::kReduceWindow, 3, true, GrowReduceWindow},
      {Opcode::kSelectAndScatter, 1, true, GrowSelectAndScatter},
      {Opcode::kScan, 2, false, GrowScan},
      {Opcode::kSort, 6, false, GrowSort},
      {Opcode::kTopK, 3, false, GrowTopK},
  };
  return kRows;
}

}  // namespace hlo
