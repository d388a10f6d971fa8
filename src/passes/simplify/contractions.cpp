// Rules of algsimp for dots. Most reorder float sums, and need algsimp{rounding=true}.
#include <algorithm>
#include <numeric>

#include "ir/analysis/dynamic_indices.h"
#include "ir/dimensions.h"
#include "ir/module.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

std::vector<int64_t> LhsFree(const Instruction& dot) {
  const auto& a = dot.attrs<DotAttrs>();
  return FreeDimensions(dot.operand(0).shape().rank(), a.lhs_batch, a.lhs_contracting);
}
std::vector<int64_t> RhsFree(const Instruction& dot) {
  const auto& a = dot.attrs<DotAttrs>();
  return FreeDimensions(dot.operand(1).shape().rank(), a.rhs_batch, a.rhs_contracting);
}

bool IsPlainDot(const Instruction& inst) {
  if (!inst.Is(Opcode::kDot) || inst.operand_count() != 2 || !IsStatic(inst)) return false;
  return inst.attrs<DotAttrs>().sparsity.empty() && inst.attrs<DotAttrs>().block_scaling.empty();
}
// Whether `inst` is a product [m, k] x [k, n].
bool IsMatrixProduct(const Instruction& inst) {
  if (!IsPlainDot(inst) || !IsStaticOfOneType(inst)) return false;
  const auto& a = inst.attrs<DotAttrs>();
  return inst.shape().rank() == 2 && a.lhs_batch.empty() && inst.operand(0).shape().rank() == 2 &&
         a.lhs_contracting == std::vector<int64_t>{1} && a.rhs_contracting == std::vector<int64_t>{0};
}

DotAttrs Swapped(DotAttrs attrs) {
  std::swap(attrs.lhs_batch, attrs.rhs_batch);
  std::swap(attrs.lhs_contracting, attrs.rhs_contracting);
  if (attrs.precision.size() == 2) std::swap(attrs.precision[0], attrs.precision[1]);
  return attrs;
}

std::vector<int64_t> Iota(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// The permutation from dot(b, a) to dot(a, b). `lhs` and `rhs` count free dimensions of a and b.
std::vector<int64_t> SwappedOrder(int64_t batch, int64_t lhs, int64_t rhs) {
  std::vector<int64_t> order = Iota(batch + lhs + rhs);
  std::rotate(order.begin() + batch, order.begin() + batch + rhs, order.end());
  return order;
}

bool IsGiven(const Instruction& x) { return x.Is(Opcode::kParameter) || x.Is(Opcode::kGetTupleElement); }

// transpose-folding has the inverse, A.trans.2. Complex products round differently when swapped.
Result<Instruction*> ParameterToTheRight(Instruction& inst, const PassContext&) {
  if (!IsPlainDot(inst) || !IsGiven(inst.operand(0)) || IsGiven(inst.operand(1)) || IsComplex(inst.shape().type()))
    return nullptr;
  const int64_t batch = inst.attrs<DotAttrs>().lhs_batch.size(), lhs = LhsFree(inst).size(), rhs = RhsFree(inst).size();
  const std::vector<int64_t> order = SwappedOrder(batch, lhs, rhs);
  std::vector<int64_t> sizes(order.size());
  for (size_t i = 0; i < order.size(); ++i) sizes[order[i]] = inst.shape().dim(i);
  Instruction* dot = Step(inst, Opcode::kDot, inst.shape().WithDims(sizes), {&inst.operand(1), &inst.operand(0)},
                          Swapped(inst.attrs<DotAttrs>()));
  return Replace(inst, Opcode::kTranspose, {dot}, DimensionsAttrs{order});
}

// Broadcasts x to `shape`: dimension i becomes dimension places[i]. Null if the places do not ascend.
Instruction* BroadcastTo(Instruction& inst, const Shape& shape, Instruction& x, const std::vector<int64_t>& places) {
  if (!std::ranges::is_sorted(places)) return nullptr;
  if (SameDims(x.shape(), shape)) return &x;
  return Step(inst, Opcode::kBroadcast, shape.WithType(x.shape().type()), {&x}, DimensionsAttrs{places});
}

Result<Instruction*> DotToMultiply(Instruction& inst, const PassContext&) {
  const auto& attrs = inst.attrs<DotAttrs>();
  if (!IsPlainDot(inst) || !IsStaticOfOneType(inst) || !attrs.lhs_contracting.empty()) return nullptr;
  const std::vector<int64_t> lhs_free = LhsFree(inst), rhs_free = RhsFree(inst);
  std::vector<int64_t> lhs(inst.operand(0).shape().rank()), rhs(inst.operand(1).shape().rank());
  int64_t at = 0;
  for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) lhs[attrs.lhs_batch[i]] = rhs[attrs.rhs_batch[i]] = at++;
  for (const int64_t d : lhs_free) lhs[d] = at++;
  for (const int64_t d : rhs_free) rhs[d] = at++;
  if (!std::ranges::is_sorted(lhs) || !std::ranges::is_sorted(rhs)) return nullptr;
  Instruction* a = BroadcastTo(inst, inst.shape(), inst.operand(0), lhs);
  Instruction* b = BroadcastTo(inst, inst.shape(), inst.operand(1), rhs);
  return Replace(inst, Opcode::kMultiply, {a, b});
}

Computation* Adder(Module& module, PrimitiveType type) {
  Computation& adder = module.AddComputation("add");
  const Shape scalar = Shape::Scalar(type);
  Instruction &a = adder.AddParameter(0, scalar), &b = adder.AddParameter(1, scalar);
  adder.SetRoot(adder.Add(Opcode::kAdd, scalar, {&a, &b}));
  return &adder;
}

// Matches dot(a, v) and dot(v, a).
Result<Instruction*> DotToReduce(Instruction& inst, const PassContext&) {
  const auto& attrs = inst.attrs<DotAttrs>();
  const PrimitiveType type = inst.shape().type();
  if (!IsPlainDot(inst) || !IsStaticOfOneType(inst) || attrs.lhs_contracting.empty() || BitWidth(type) < 32)
    return nullptr;
  const bool rhs_is_vector = RhsFree(inst).empty();
  if (!rhs_is_vector && !LhsFree(inst).empty()) return nullptr;
  Instruction &a = inst.operand(rhs_is_vector ? 0 : 1), &v = inst.operand(rhs_is_vector ? 1 : 0);
  const DotAttrs of = rhs_is_vector ? attrs : Swapped(attrs);  // With `a` on the left.
  std::vector<int64_t> places(v.shape().rank());
  for (size_t i = 0; i < of.lhs_batch.size(); ++i) places[of.rhs_batch[i]] = of.lhs_batch[i];
  for (size_t i = 0; i < of.lhs_contracting.size(); ++i) places[of.rhs_contracting[i]] = of.lhs_contracting[i];
  std::vector<int64_t> kept = of.lhs_batch;
  const std::vector<int64_t> free = FreeDimensions(a.shape().rank(), of.lhs_batch, of.lhs_contracting);
  kept.insert(kept.end(), free.begin(), free.end());
  if (!std::ranges::is_sorted(places) || !std::ranges::is_sorted(kept)) return nullptr;
  Instruction* product = Step(inst, Opcode::kMultiply, a.shape(), {&a, BroadcastTo(inst, a.shape(), v, places)});
  Instruction& zero = inst.computation().AddConstant(Literal::Scalar(type, 0.0));
  std::vector<int64_t> dims = of.lhs_contracting;
  std::ranges::sort(dims);
  return Replace(inst, Opcode::kReduce, {product, &zero}, ReduceAttrs{dims, Adder(inst.module(), type)});
}

Instruction* SliceOfDim(Instruction& inst, Instruction& x, int64_t dim, int64_t start, int64_t limit) {
  SliceRanges ranges;
  for (int64_t d = 0; d < x.shape().rank(); ++d)
    ranges.dims.push_back(d == dim ? SliceDim{start, limit, 1} : SliceDim{0, x.shape().dim(d), 1});
  Shape shape = x.shape().WithDims({x.shape().dims().begin(), x.shape().dims().end()});
  shape.SetDim(dim, limit - start);
  return Step(inst, Opcode::kSlice, shape, {&x}, SliceAttrs{ranges});
}

// The constant operand of the dot may be on either side.
Result<Instruction*> DotOfConcatenate(Instruction& inst, const PassContext&) {
  constexpr int64_t kMostParts = 8;
  const auto& attrs = inst.attrs<DotAttrs>();
  if (!IsPlainDot(inst) || !IsStaticOfOneType(inst) || inst.shape().rank() != 2 || !attrs.lhs_batch.empty() ||
      attrs.lhs_contracting.size() != 1)
    return nullptr;
  for (int i = 0; i < 2; ++i) {
    Instruction &whole = inst.operand(i), &c = inst.operand(1 - i);
    const int64_t dim = (i == 0 ? attrs.lhs_contracting : attrs.rhs_contracting)[0];
    const int64_t other = (i == 0 ? attrs.rhs_contracting : attrs.lhs_contracting)[0];
    if (!whole.Is(Opcode::kConcatenate) || !c.Is(Opcode::kConstant) || whole.operand_count() > kMostParts ||
        whole.operand_count() < 2 || whole.attrs<OneDimensionAttrs>().dimension.value != dim)
      continue;
    Instruction* sum = nullptr;
    int64_t start = 0;
    for (Instruction* part : whole.operands()) {
      const int64_t limit = start + part->shape().dim(dim);
      Instruction* rows = SliceOfDim(inst, c, other, start, limit);
      Instruction* dot = Replace(inst, Opcode::kDot, {i == 0 ? part : rows, i == 0 ? rows : part}, attrs);
      sum = sum == nullptr ? dot : Replace(inst, Opcode::kAdd, {sum, dot});
      start = limit;
    }
    return sum;
  }
  return nullptr;
}

// The slice must be along free dimensions of the dot, and may be either operand.
Result<Instruction*> DotOfDynamicSlice(Instruction& inst, const PassContext&) {
  if (!IsPlainDot(inst)) return nullptr;
  const auto& attrs = inst.attrs<DotAttrs>();
  for (int side = 0; side < 2; ++side) {
    Instruction &part = inst.operand(side), &other = inst.operand(1 - side);
    if (!part.Is(Opcode::kDynamicSlice) || !part.operand(0).Is(Opcode::kConstant) || !other.Is(Opcode::kConstant) ||
        !HasScalarIndices(part) || part.shape().rank() == 0)
      continue;
    Instruction& whole = part.operand(0);
    const std::vector<int64_t> free = side == 0 ? LhsFree(inst) : RhsFree(inst);
    const int64_t first = attrs.lhs_batch.size() + (side == 0 ? 0 : LhsFree(inst).size());
    Instruction& zero = inst.computation().AddConstant(Literal::Scalar(part.operand(1).shape().type(), int64_t{0}));
    Shape shape = inst.shape();
    std::vector<Instruction*> indices(inst.shape().rank(), &zero);
    bool fits = true;
    for (int64_t d = 0; d < whole.shape().rank(); ++d) {
      const auto found = std::ranges::find(free, d);
      fits &= found != free.end() || whole.shape().dim(d) == part.shape().dim(d);
      if (found == free.end()) continue;
      const int64_t to = first + (found - free.begin());
      shape.SetDim(to, whole.shape().dim(d));
      indices[to] = &part.operand(1 + d);
    }
    if (!fits) continue;
    Instruction* dot =
        Step(inst, Opcode::kDot, shape, {side == 0 ? &whole : &other, side == 0 ? &other : &whole}, attrs);
    indices.insert(indices.begin(), dot);
    const std::vector<int64_t> sizes(inst.shape().dims().begin(), inst.shape().dims().end());
    return Replace(inst, Opcode::kDynamicSlice, indices, DynamicSliceAttrs{sizes});
  }
  return nullptr;
}

// The transpose must only permute dimensions that the reshape merges into the contracting one.
Result<Instruction*> DotOfSquished(Instruction& inst, const PassContext&) {
  Instruction *reshape, *transpose, *x, *c;
  if (!IsPlainDot(inst) || !m::Dot(m::Reshape(&reshape, m::Transpose(&transpose, m::Any(&x))), m::Constant(&c))(&inst))
    return nullptr;
  const auto& attrs = inst.attrs<DotAttrs>();
  const int64_t kept = reshape->shape().rank() - 1, merged = x->shape().rank() - kept;
  if (attrs.lhs_contracting != std::vector<int64_t>{kept} || attrs.rhs_contracting.size() != 1 || merged < 2)
    return nullptr;
  for (int64_t d = 0; d < kept; ++d) {
    if (transpose->dimensions()[d] != d || transpose->shape().dim(d) != reshape->shape().dim(d)) return nullptr;
  }
  // Split the contracting dimension of c, transpose its parts, and merge them again.
  const int64_t dim = attrs.rhs_contracting[0];
  std::vector<int64_t> apart, in_order, order;
  for (int64_t d = 0; d < c->shape().rank(); ++d) {
    if (d != dim) {
      apart.push_back(c->shape().dim(d));
      in_order.push_back(c->shape().dim(d));
      order.push_back(d < dim ? d : d + merged - 1);
      continue;
    }
    for (int64_t i = 0; i < merged; ++i) {
      apart.push_back(transpose->shape().dim(kept + i));
      in_order.push_back(x->shape().dim(kept + i));
      const auto found = std::ranges::find(transpose->dimensions(), kept + i);
      order.push_back(dim + (found - transpose->dimensions().begin()) - kept);
    }
  }
  Instruction* taken = Step(inst, Opcode::kReshape, c->shape().WithDims(apart), {c});
  Instruction* turned = Step(inst, Opcode::kTranspose, c->shape().WithDims(in_order), {taken}, DimensionsAttrs{order});
  Instruction* again = Step(inst, Opcode::kReshape, c->shape(), {turned});
  Instruction* squished = Step(inst, Opcode::kReshape, reshape->shape(), {x});
  return Replace(inst, Opcode::kDot, {squished, again}, attrs);
}

// `numbers` maps old to new dimensions, and removed ones to -1.
std::vector<int64_t> Renumbered(const std::vector<int64_t>& dims, const std::vector<int64_t>& numbers) {
  std::vector<int64_t> stay;
  for (const int64_t d : dims) {
    if (numbers[d] >= 0) stay.push_back(numbers[d]);
  }
  return stay;
}

// At least one contracting dimension remains.
Result<Instruction*> DotOfOnes(Instruction& inst, const PassContext&) {
  if (!IsPlainDot(inst)) return nullptr;
  DotAttrs attrs = inst.attrs<DotAttrs>();
  const Shape* shapes[] = {&inst.operand(0).shape(), &inst.operand(1).shape()};
  std::vector<bool> goes[] = {std::vector<bool>(shapes[0]->rank()), std::vector<bool>(shapes[1]->rank())};
  bool changed = false;
  for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) {
    if (shapes[0]->dim(attrs.lhs_batch[i]) != 1) continue;
    goes[0][attrs.lhs_batch[i]] = goes[1][attrs.rhs_batch[i]] = changed = true;
  }
  size_t left = attrs.lhs_contracting.size();
  for (size_t i = 0; i < attrs.lhs_contracting.size() && left > 1; ++i) {
    if (shapes[0]->dim(attrs.lhs_contracting[i]) != 1) continue;
    goes[0][attrs.lhs_contracting[i]] = goes[1][attrs.rhs_contracting[i]] = changed = true;
    --left;
  }
  if (!changed) return nullptr;
  Instruction* operands[2];
  std::vector<int64_t> numbers[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < shapes[side]->rank(); ++d) {
      numbers[side].push_back(goes[side][d] ? -1 : static_cast<int64_t>(sizes.size()));
      if (!goes[side][d]) sizes.push_back(shapes[side]->dim(d));
    }
    operands[side] = Step(inst, Opcode::kReshape, shapes[side]->WithDims(sizes), {&inst.operand(side)});
  }
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (d >= std::ssize(attrs.lhs_batch) || shapes[0]->dim(attrs.lhs_batch[d]) != 1)
      sizes.push_back(inst.shape().dim(d));
  }
  attrs.lhs_batch = Renumbered(attrs.lhs_batch, numbers[0]);
  attrs.rhs_batch = Renumbered(attrs.rhs_batch, numbers[1]);
  attrs.lhs_contracting = Renumbered(attrs.lhs_contracting, numbers[0]);
  attrs.rhs_contracting = Renumbered(attrs.rhs_contracting, numbers[1]);
  const Shape shape = inst.shape().WithDims(sizes);
  Instruction* dot = Step(inst, Opcode::kDot, shape, {operands[0], operands[1]}, attrs);
  return SameDims(shape, inst.shape()) ? dot : Replace(inst, Opcode::kReshape, {dot});
}

// Both transposes must be the same permutation of the batch alone.
Result<Instruction*> DotOfTransposedBatch(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!IsPlainDot(inst) || !m::Dot(m::OneUse(m::Transpose(&a)), m::OneUse(m::Transpose(&b)))(&inst)) return nullptr;
  const auto& attrs = inst.attrs<DotAttrs>();
  const int64_t batch = attrs.lhs_batch.size();
  if (attrs.lhs_batch != Iota(batch) || attrs.rhs_batch != Iota(batch)) return nullptr;
  const auto moves_batch_only = [&](const Instruction& transpose) {
    for (int64_t d = batch; d < transpose.shape().rank(); ++d) {
      if (transpose.dimensions()[d] != d) return false;
    }
    return true;
  };
  if (!moves_batch_only(*a) || !moves_batch_only(*b) ||
      !std::equal(a->dimensions().begin(), a->dimensions().begin() + batch, b->dimensions().begin()))
    return nullptr;
  std::vector<int64_t> order = Iota(inst.shape().rank()), sizes(inst.shape().dims().begin(), inst.shape().dims().end());
  std::copy_n(a->dimensions().begin(), batch, order.begin());
  for (int64_t d = 0; d < batch; ++d) sizes[order[d]] = inst.shape().dim(d);
  Instruction* dot = Step(inst, Opcode::kDot, inst.shape().WithDims(sizes), {&a->operand(0), &b->operand(0)}, attrs);
  return Replace(inst, Opcode::kTranspose, {dot}, DimensionsAttrs{order});
}

// The rewrite must at least halve the multiplications.
Result<Instruction*> DotTwice(Instruction& inst, const PassContext&) {
  if (!IsMatrixProduct(inst)) return nullptr;
  constexpr double kRatio = 2;
  const auto cost = [](const Shape& a, const Shape& b) {
    return static_cast<double>(a.NumElements()) * static_cast<double>(b.dim(1));
  };
  for (int side = 0; side < 2; ++side) {
    Instruction& inner = inst.operand(side);
    if (!m::OneUse(m::Any())(&inner) || !IsMatrixProduct(inner)) continue;
    Instruction& a = side == 0 ? inner.operand(0) : inst.operand(0);
    Instruction& b = side == 0 ? inner.operand(1) : inner.operand(0);
    Instruction& c = side == 0 ? inst.operand(1) : inner.operand(1);
    const Shape ab = inst.shape().WithDims({a.shape().dim(0), b.shape().dim(1)});
    const Shape bc = inst.shape().WithDims({b.shape().dim(0), c.shape().dim(1)});
    const double left = cost(a.shape(), b.shape()) + cost(ab, c.shape());
    const double right = cost(b.shape(), c.shape()) + cost(a.shape(), bc);
    if (side == 0 && left >= kRatio * right)
      return Replace(inst, Opcode::kDot, {&a, Step(inst, Opcode::kDot, bc, {&b, &c}, inner.attributes())},
                     inst.attributes());
    if (side == 1 && right >= kRatio * left)
      return Replace(inst, Opcode::kDot, {Step(inst, Opcode::kDot, ab, {&a, &b}, inner.attributes()), &c},
                     inst.attributes());
  }
  return nullptr;
}

Result<Instruction*> SliceOfDot(Instruction& inst, const PassContext&) {
  Instruction& dot = inst.operand(0);
  if (!m::OneUse(m::Any())(&dot) || !IsPlainDot(dot)) return nullptr;
  const auto& attrs = dot.attrs<DotAttrs>();
  std::vector<int64_t> of_lhs = attrs.lhs_batch, of_rhs = attrs.rhs_batch;
  const std::vector<int64_t> lhs_free = LhsFree(dot), rhs_free = RhsFree(dot);
  of_lhs.insert(of_lhs.end(), lhs_free.begin(), lhs_free.end());
  of_rhs.resize(of_lhs.size(), -1);
  of_rhs.insert(of_rhs.end(), rhs_free.begin(), rhs_free.end());
  of_lhs.resize(of_rhs.size(), -1);
  const auto part = [&](Instruction& x, const std::vector<int64_t>& places) {
    SliceRanges ranges;
    Shape shape = x.shape().WithDims({x.shape().dims().begin(), x.shape().dims().end()});
    for (const int64_t size : x.shape().dims()) ranges.dims.push_back({0, size, 1});
    for (size_t d = 0; d < places.size(); ++d) {
      if (places[d] < 0) continue;
      ranges.dims[places[d]] = inst.attrs<SliceAttrs>().slice.dims[d];
      shape.SetDim(places[d], inst.shape().dim(d));
    }
    return shape == x.shape() ? &x : Step(inst, Opcode::kSlice, shape, {&x}, SliceAttrs{ranges});
  };
  return Replace(inst, Opcode::kDot, {part(dot.operand(0), of_lhs), part(dot.operand(1), of_rhs)}, attrs);
}

bool IsSumFromZero(const Instruction& inst) {
  return IsPlainReduce(inst) && ReducerOp(*inst.attrs<ReduceAttrs>().to_apply) == Opcode::kAdd &&
         IsNeutral(inst.operand(1), Opcode::kAdd);
}

Result<Instruction*> SumOfBatch(Instruction& inst, const PassContext&) {
  Instruction& dot = inst.operand(0);
  if (!IsSumFromZero(inst) || !m::OneUse(m::Any())(&dot) || !IsPlainDot(dot) || !IsStaticOfOneType(dot)) return nullptr;
  DotAttrs attrs = dot.attrs<DotAttrs>();
  const DotAttrs& old = dot.attrs<DotAttrs>();
  attrs.lhs_batch.clear();
  attrs.rhs_batch.clear();
  const auto& dims = inst.attrs<ReduceAttrs>().dimensions;
  for (const int64_t d : dims) {
    if (d >= std::ssize(old.lhs_batch)) return nullptr;
  }
  attrs.lhs_contracting.clear();
  attrs.rhs_contracting.clear();
  for (int64_t d = 0; d < std::ssize(old.lhs_batch); ++d) {
    const bool summed = Contains(dims, d);
    (summed ? attrs.lhs_contracting : attrs.lhs_batch).push_back(old.lhs_batch[d]);
    (summed ? attrs.rhs_contracting : attrs.rhs_batch).push_back(old.rhs_batch[d]);
  }
  // Former batch dimensions are mostly outermost in memory.
  std::ranges::copy(old.lhs_contracting, std::back_inserter(attrs.lhs_contracting));
  std::ranges::copy(old.rhs_contracting, std::back_inserter(attrs.rhs_contracting));
  return Replace(inst, Opcode::kDot, {&dot.operand(0), &dot.operand(1)}, attrs);
}

Result<Instruction*> SumOfRows(Instruction& inst, const PassContext&) {
  Instruction& dot = inst.operand(0);
  if (!IsSumFromZero(inst) || !m::OneUse(m::Any())(&dot) || !IsPlainDot(dot) || !IsStaticOfOneType(dot)) return nullptr;
  constexpr int64_t kRatio = 2;
  DotAttrs attrs = dot.attrs<DotAttrs>();
  const std::vector<int64_t> free = LhsFree(dot);
  std::vector<int64_t> dims, numbers, sizes;
  int64_t rows = 1;
  for (const int64_t d : inst.attrs<ReduceAttrs>().dimensions) {
    const int64_t i = d - std::ssize(attrs.lhs_batch);
    if (i < 0 || i >= std::ssize(free)) return nullptr;
    dims.push_back(free[i]);
    rows *= dot.shape().dim(d);
  }
  if (rows <= kRatio) return nullptr;
  const Shape& lhs = dot.operand(0).shape();
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    numbers.push_back(Contains(dims, d) ? -1 : static_cast<int64_t>(sizes.size()));
    if (!Contains(dims, d)) sizes.push_back(lhs.dim(d));
  }
  std::ranges::sort(dims);
  Instruction* sum = Step(inst, Opcode::kReduce, lhs.WithDims(sizes), {&dot.operand(0), &inst.operand(1)},
                          ReduceAttrs{dims, inst.attrs<ReduceAttrs>().to_apply});
  attrs.lhs_batch = Renumbered(attrs.lhs_batch, numbers);
  attrs.lhs_contracting = Renumbered(attrs.lhs_contracting, numbers);
  return Replace(inst, Opcode::kDot, {sum, &dot.operand(1)}, attrs);
}

constexpr Preserves kRegroups = Preserves::kReassociates;

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.dot.5",   Opcode::kDot,         DotOfDynamicSlice,     Preserves::kExact, "dot(dynamic-slice(a, i), b) => dynamic-slice(dot(a, b), i), for constants"},
    {"A.dot.7a",  Opcode::kDot,         DotOfOnes,             Preserves::kExact, "dot(a, b) => reshape(dot(reshape(a), reshape(b))), without dimensions of size 1 in the batch and in the sum"},
    {"A.dot.7b",  Opcode::kDot,         DotOfTransposedBatch,  Preserves::kExact, "dot(transpose(a), transpose(b)) => transpose(dot(a, b)), of the batch"},
    {"A.dot.8",   Opcode::kDot,         ParameterToTheRight,   Preserves::kExact, "dot(parameter, b) => transpose(dot(b, parameter))"},
    {"A.slice.7", Opcode::kSlice,       SliceOfDot,            Preserves::kExact, "slice(dot(a, b)) => dot(slice(a), slice(b))"},
    {"A.dot.2",   Opcode::kDot,         DotToMultiply,         kRegroups,         "dot(a, b) => a * b, when there is one product for each result"},
    {"A.dot.4",   Opcode::kDot,         DotOfConcatenate,      kRegroups,         "dot(concatenate(a, b), c) => dot(a, slice(c)) + dot(b, slice(c)), for a constant c"},
    {"A.dot.6",   Opcode::kDot,         DotOfSquished,         kRegroups,         "dot(reshape(transpose(x)), c) => dot(reshape(x), c in x's order), for a constant c"},
    {"A.dot.9",   Opcode::kDot,         DotTwice,              kRegroups,         "dot(dot(a, b), c) => dot(a, dot(b, c)), when that takes half the products"},
    {"A.dot.3",   Opcode::kDot,         DotToReduce,           kRegroups,         "dot(a, v) => reduce(a * broadcast(v)), for a v without dimensions of its own"},
    {"A.red.7",   Opcode::kReduce,      SumOfBatch,            kRegroups,         "sum(dot(a, b)) over the batch => dot(a, b), which adds it up"},
    {"A.red.12",  Opcode::kReduce,      SumOfRows,             kRegroups,         "sum(dot(a, b)) over rows of a => dot(sum(a), b)"},
};
// clang-format on

}  // namespace

std::span<const Rule> ContractionRules() { return kRules; }

}  // namespace hlo
