#include <cmath>

#include "driver/fuzz/grower.h"

namespace hlo {
namespace {

using enum PrimitiveType;

bool GrowFft(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  const bool wide = g.chance.Percent(40);
  const PrimitiveType complex = wide ? kC128 : kC64, real = wide ? kF64 : kF32;
  FftAttrs attrs{.fft_type = g.chance.OneOf({FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft})};
  Dims dims;
  int64_t left = std::min<int64_t>(g.max_elems(), 2048);
  const int64_t batch = g.chance.Below(2), count = g.chance.Between(1, 2);
  int64_t points = 1;
  for (int64_t i = 0; i < batch + count; ++i) {
    const int64_t size = std::max<int64_t>(1, g.AnySize(i < batch ? 4 : std::min<int64_t>(left, 65)));
    left = std::max<int64_t>(1, left / size);
    dims.push_back(size);
    if (i < batch) continue;
    attrs.fft_length.push_back(size);
    points *= size;
  }
  Dims operand_dims = dims;
  if (attrs.fft_type == FftType::kIrfft) operand_dims[batch + count - 1] = dims[batch + count - 1] / 2 + 1;
  Instruction& x = g.Bounded(g.Any(attrs.fft_type == FftType::kRfft ? real : complex, operand_dims), 16);
  Instruction& inst = g.Add(opcode, {&x}, attrs);
  const double size = 2 * g.IntervalOf(x).size() * static_cast<double>(points);
  g.SetInterval(inst, {-size, size});
  g.Keep(inst);
  return true;
}

// Makes a matrix with elements of at most 1 diagonally dominant.
Instruction& Dominant(Grower& g, Instruction& x) {
  const Shape& shape = x.shape();
  const int64_t rank = shape.rank(), n = shape.dim(rank - 1);
  Instruction& rows = g.AddShaped(Opcode::kIota, shape.WithType(kS32).WithDefaultLayout(), {}, IotaAttrs{rank - 2});
  Instruction& columns = g.AddShaped(Opcode::kIota, shape.WithType(kS32).WithDefaultLayout(), {}, IotaAttrs{rank - 1});
  Instruction& diagonal = g.Add(Opcode::kCompare, {&rows, &columns}, CompareAttrs{ComparisonDirection::kEq});
  Instruction& much = g.Splat(shape.type(), shape.dims(), static_cast<double>(n + 1));
  Instruction& sum = g.Add(Opcode::kAdd, {&x, &much});
  Instruction& result = g.Add(Opcode::kSelect, {&diagonal, &sum, &x});
  g.SetInterval(result, {-1, static_cast<double>(n + 2)});
  return result;
}

Instruction& AnyMatrix(Grower& g, PrimitiveType type, Dims* dims) {
  const int64_t n = g.chance.Between(1, 9);
  *dims = {};
  if (g.chance.Percent(40)) dims->push_back(g.chance.Between(1, 3));
  dims->push_back(n);
  dims->push_back(n);
  return g.Bounded(g.Any(type, *dims), 1);
}

bool GrowCholesky(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  const PrimitiveType type = g.chance.OneOf({kF32, kF32, kF64});
  Dims dims;
  Instruction& x = AnyMatrix(g, type, &dims);
  std::vector<int64_t> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  Instruction& turned = g.Add(Opcode::kTranspose, {&x}, DimensionsAttrs{order});
  Instruction& sum = g.Add(Opcode::kAdd, {&x, &turned});
  Instruction& half = g.Add(Opcode::kMultiply, {&sum, &g.Splat(type, dims, 0.5)});
  Instruction& inst = g.Add(opcode, {&Dominant(g, half)}, CholeskyAttrs{.lower = g.chance.Percent(50)});
  g.SetInterval(inst, {-4, 4});
  // Selects one triangle of the result, because the other triangle is undefined.
  const int64_t rank = std::ssize(dims);
  Instruction& rows = g.AddShaped(Opcode::kIota, Shape(kS32, dims), {}, IotaAttrs{rank - 2});
  Instruction& columns = g.AddShaped(Opcode::kIota, Shape(kS32, dims), {}, IotaAttrs{rank - 1});
  const bool lower = inst.attrs<CholeskyAttrs>().lower;
  Instruction& inside = g.Add(Opcode::kCompare, {&rows, &columns},
                              CompareAttrs{lower ? ComparisonDirection::kGe : ComparisonDirection::kLe});
  Instruction& triangle = g.Add(Opcode::kSelect, {&inside, &inst, &g.Splat(type, dims, 0)});
  g.SetInterval(triangle, {-4, 4});
  g.Keep(triangle);
  return true;
}

bool GrowTriangularSolve(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  const PrimitiveType type = g.chance.OneOf({kF32, kF32, kF64});
  Dims dims;
  Instruction& a = Dominant(g, AnyMatrix(g, type, &dims));
  TriangularSolveAttrs attrs{
      .left_side = g.chance.Percent(50),
      .lower = g.chance.Percent(50),
      .unit_diagonal = g.chance.Percent(10),
      .transpose_a = g.chance.OneOf({TransposeKind::kNoTranspose, TransposeKind::kTranspose, TransposeKind::kAdjoint})};
  Dims right = dims;
  right[std::ssize(dims) - (attrs.left_side ? 1 : 2)] = g.chance.Between(1, 6);
  Instruction& b = g.Bounded(g.Any(type, right), 4);
  Instruction& inst = g.Add(opcode, {&a, &b}, attrs);
  // With a diagonal of ones, each of up to 8 steps may double a value of 8.
  g.SetInterval(inst, attrs.unit_diagonal ? Interval{-2048, 2048} : Interval{-8, 8});
  g.Keep(inst);
  return true;
}

bool GrowRngBitGenerator(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  const bool philox = g.chance.Percent(40);
  const RngBitGeneratorAttrs attrs{philox ? RandomAlgorithm::kPhilox : RandomAlgorithm::kThreeFry};
  Instruction& state = g.Any(kU64, {philox ? 3 : 2});
  const PrimitiveType type = g.chance.OneOf({kU32, kU32, kU64, kU8, kS32});
  const Shape bits(type, g.AnyDims(1, 3));
  g.Keep(g.AddShaped(opcode, Shape::Tuple({state.shape().WithDefaultLayout(), bits}), {&state}, attrs));
  return true;
}

bool GrowBatchNorm(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction* x = &g.PickOf([](PrimitiveType type) { return IsFloat(type) && BitWidth(type) >= 16; }, 2);
  if (x->shape().NumElements() == 0) return false;
  const PrimitiveType type = x->shape().type();
  x = &g.Bounded(*x, 2);
  const BatchNormAttrs attrs{.epsilon = 0.125, .feature_index = g.chance.Below(x->shape().rank())};
  const Dims features = {x->shape().dim(attrs.feature_index)};
  Operands operands = {x, &g.Bounded(g.Any(type, features), 2)};
  const auto vector = [&]() -> Instruction& { return g.Bounded(g.Any(type, features), 2); };
  if (opcode != Opcode::kBatchNormGrad) operands.push_back(&vector());
  if (opcode != Opcode::kBatchNormTraining) {
    operands.push_back(&vector());
    operands.push_back(&g.Positive(vector(), 0.25));
  }
  // Operands of grad: x, scale, mean, variance, gradient.
  if (opcode == Opcode::kBatchNormGrad) operands.push_back(&g.Bounded(g.Any(type, x->shape().dims()), 1));
  Instruction& inst = g.Add(opcode, operands, attrs);
  const double elements = static_cast<double>(x->shape().NumElements());
  const double size = opcode == Opcode::kBatchNormGrad ? 64 * elements : 32;
  g.SetInterval(inst, {-size, size});
  g.Keep(inst);
  return true;
}

}  // namespace

std::span<const GrowRow> LinearRows() {
  static constexpr GrowRow kRows[] = {
      {Opcode::kBatchNormTraining, 1, true, GrowBatchNorm},
      {Opcode::kBatchNormInference, 1, true, GrowBatchNorm},
      {Opcode::kBatchNormGrad, 1, true, GrowBatchNorm},
      {Opcode::kFft, 3, false, GrowFft},
      {Opcode::kCholesky, 2, false, GrowCholesky},
      {Opcode::kTriangularSolve, 2, false, GrowTriangularSolve},
      {Opcode::kRngBitGenerator, 2, false, GrowRngBitGenerator},
  };
  return kRows;
}

}  // namespace hlo
