// Rules of algsimp for reduce and reduce-window. Rules that reorder or regroup terms have an exact row for reducers
// without an order, such as integer sums and maxima, and a row for sums and products of floats.
#include <algorithm>
#include <limits>

#include "interp/contraction.h"
#include "ir/dimensions.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

Computation* ReducerOf(const Instruction& inst) {
  return inst.Is(Opcode::kReduce) ? inst.attrs<ReduceAttrs>().to_apply : inst.attrs<ReduceWindowAttrs>().to_apply;
}

// The op of a reduce of one static array in one type. Most rules have two rows: kRounds = false for ops whose order
// does not matter in this type (such as sums of integers), and true for the others. nullopt for other reduces, and if
// the op belongs to the other row.
template <bool kRounds>
std::optional<Opcode> OpOfRow(const Instruction& inst) {
  if (inst.operand_count() != 2 || !IsStaticOfOneType(inst)) return std::nullopt;
  const auto op = ReducerOp(*ReducerOf(inst));
  if (!op || ReducerOf(inst)->root().shape().type() != inst.shape().type()) return std::nullopt;
  return OrderMatters(*op, inst.shape().type()) == kRounds ? op : std::nullopt;
}
std::optional<Opcode> OpOf(const Instruction& inst) {
  const auto op = OpOfRow<false>(inst);
  return op ? op : OpOfRow<true>(inst);
}

// Whether combining `init` a second time leaves the result unchanged.
bool MayStartAgain(const Instruction& init, Opcode op) { return IsIdempotent(op) || IsNeutral(init, op); }

bool SameConstant(const Instruction& a, const Instruction& b) {
  const Literal *x = ScalarOf(a), *y = ScalarOf(b);
  return &a == &b || (x != nullptr && y != nullptr && x->BitEquals(*y));
}

Instruction* Reduced(Instruction& inst, Instruction& x, Instruction& init, std::vector<int64_t> dims,
                     Computation* reducer) {
  std::ranges::sort(dims);
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (!Contains(dims, d)) sizes.push_back(x.shape().dim(d));
  }
  return Step(inst, Opcode::kReduce, x.shape().WithDims(sizes), {&x, &init}, ReduceAttrs{std::move(dims), reducer});
}

Instruction* Widened(Instruction& inst, Instruction& scalar) {
  return inst.shape().IsScalar() ? &scalar : Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{});
}

// Transposing the smaller result restores the order of kept dimensions.
template <bool kRounds>
Result<Instruction*> ReduceOfTranspose(Instruction& inst, const PassContext&) {
  Instruction& transpose = inst.operand(0);
  if (!OpOfRow<kRounds>(inst) || !m::OneUse(m::Transpose())(&transpose)) return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  std::vector<int64_t> dims, kept;
  for (int64_t d = 0; d < transpose.shape().rank(); ++d)
    (Contains(attrs.dimensions, d) ? dims : kept).push_back(transpose.dimensions()[d]);
  Instruction* reduce = Reduced(inst, transpose.operand(0), inst.operand(1), dims, attrs.to_apply);
  if (std::ranges::is_sorted(kept)) return reduce;
  std::vector<int64_t> in_order = kept, order;
  std::ranges::sort(in_order);
  for (const int64_t d : kept) order.push_back(std::ranges::find(in_order, d) - in_order.begin());
  return Replace(inst, Opcode::kTranspose, {reduce}, DimensionsAttrs{order});
}

// Disabled after layout assignment, because gpu-tree-reduction-rewriter splits reductions there.
template <bool kRounds>
Result<Instruction*> ReduceTwice(Instruction& inst, const PassContext&) {
  Instruction& inner = inst.operand(0);
  const auto op = OpOfRow<kRounds>(inst);
  if (!op || !m::OneUse(m::Reduce())(&inner) || OpOfRow<kRounds>(inner) != op ||
      !SameConstant(inst.operand(1), inner.operand(1)) || !MayStartAgain(inst.operand(1), *op))
    return nullptr;
  Instruction& x = inner.operand(0);
  std::vector<int64_t> dims = inner.attrs<ReduceAttrs>().dimensions;
  int64_t at = 0;  // Dimension number of the inner result.
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (Contains(inner.attrs<ReduceAttrs>().dimensions, d)) continue;
    if (Contains(inst.attrs<ReduceAttrs>().dimensions, at++)) dims.push_back(d);
  }
  return Reduced(inst, x, inst.operand(1), dims, inst.attrs<ReduceAttrs>().to_apply);
}

template <bool kRounds>
Result<Instruction*> ReduceOfReducedReshape(Instruction& inst, const PassContext&) {
  Instruction& reshape = inst.operand(0);
  if (!OpOfRow<kRounds>(inst) || !m::Reshape()(&reshape) || reshape.shape().NumElements() == 0) return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  Instruction& x = reshape.operand(0);
  const std::vector<int64_t> places = SamePlaces(reshape.shape(), x.shape());
  std::vector<bool> kept(x.shape().rank());
  int64_t elements = 1;
  for (int64_t d = 0; d < reshape.shape().rank(); ++d) {
    if (Contains(attrs.dimensions, d)) continue;
    if (places[d] < 0) return nullptr;
    kept[places[d]] = true;
    elements *= reshape.shape().dim(d);
  }
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (!kept[d]) dims.push_back(d);
  }
  return dims.empty() ? nullptr : Reduced(inst, x, inst.operand(1), dims, attrs.to_apply);
}

template <bool kRounds>
Result<Instruction*> ReduceOfKeptReshape(Instruction& inst, const PassContext&) {
  Instruction& reshape = inst.operand(0);
  if (!OpOfRow<kRounds>(inst) || !m::OneUse(m::Reshape())(&reshape) || reshape.shape().NumElements() == 0)
    return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  const std::vector<int64_t> places = SamePlaces(reshape.shape(), reshape.operand(0).shape());
  std::vector<int64_t> dims;
  for (const int64_t d : attrs.dimensions) {
    if (places[d] < 0 || reshape.shape().dim(d) == 1) return nullptr;
    dims.push_back(places[d]);
  }
  if (dims.empty()) return nullptr;
  Instruction* reduce = Reduced(inst, reshape.operand(0), inst.operand(1), dims, attrs.to_apply);
  return SameDims(reduce->shape(), inst.shape()) ? reduce : Replace(inst, Opcode::kReshape, {reduce});
}

template <bool kRounds>
Result<Instruction*> ReduceOfConcatenate(Instruction& inst, const PassContext&) {
  constexpr int64_t kMostParts = 8;
  Instruction& whole = inst.operand(0);
  const auto op = OpOfRow<kRounds>(inst);
  if (!op || !m::OneUse(m::Concatenate())(&whole) || whole.operand_count() > kMostParts || !IsStatic(whole) ||
      !MayStartAgain(inst.operand(1), *op))
    return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  if (!Contains(attrs.dimensions, whole.attrs<OneDimensionAttrs>().dimension.value)) return nullptr;
  for (const Instruction* part : whole.operands()) {
    if (part->shape() != whole.operand(0).shape()) return nullptr;
  }
  Instruction* sum = nullptr;
  for (Instruction* part : whole.operands()) {
    Instruction* reduce = Reduced(inst, *part, inst.operand(1), attrs.dimensions, attrs.to_apply);
    sum = sum == nullptr ? reduce : Replace(inst, *op, {sum, reduce});
  }
  return sum;
}

// Kernels may add the terms of the new reduce in another order.
Result<Instruction*> ReduceOfOneTuple(Instruction& inst, const PassContext&) {
  if (inst.operand_count() != 2 || !inst.shape().IsTuple() || inst.shape().elements().size() != 1) return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  if (!attrs.to_apply->root().Is(Opcode::kTuple)) return nullptr;
  Computation& plain = inst.module().CloneComputation(*attrs.to_apply, attrs.to_apply->name());
  Instruction& tuple = plain.root();
  plain.SetRoot(tuple.operand(0));
  plain.RemoveDeadTree(tuple);
  Instruction* reduce = Step(inst, Opcode::kReduce, inst.shape().element(0), {&inst.operand(0), &inst.operand(1)},
                             ReduceAttrs{attrs.dimensions, &plain});
  return Replace(inst, Opcode::kTuple, {reduce});
}

// sum(-x) => -sum(x) may change the sign of a zero sum of floats.
template <bool kRounds>
Result<Instruction*> SumOfNegated(Instruction& inst, const PassContext&) {
  Instruction& negated = inst.operand(0);
  if (OpOfRow<kRounds>(inst) != Opcode::kAdd || !m::OneUse(m::Negate())(&negated) ||
      !IsNeutral(inst.operand(1), Opcode::kAdd) || !HasNegatives(inst.shape().type()))
    return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  return Replace(inst, Opcode::kNegate,
                 {Reduced(inst, negated.operand(0), inst.operand(1), attrs.dimensions, attrs.to_apply)});
}

// Whether the reducer selects the larger (for kMinimum the smaller) first component, or a NaN.
bool KeepsExtreme(const Computation& reducer, Opcode extreme) {
  if (!reducer.root().Is(Opcode::kTuple) || reducer.parameters().size() != 4) return false;
  Instruction &a = reducer.parameter(0), &b = reducer.parameter(2);
  Instruction& chosen = reducer.root().operand(0);
  if (!m::Select(m::Any(), m::Is(&a), m::Is(&b))(&chosen)) return false;
  const auto is_better = [&](const Instruction& compare) {
    if (!compare.Is(Opcode::kCompare) || &compare.operand(0) != &a || &compare.operand(1) != &b) return false;
    const auto [direction, type] = compare.attrs<CompareAttrs>();
    if (type == ComparisonType::kTotalOrder) return false;  // Total order puts NaNs below or above all numbers.
    return extreme == Opcode::kMaximum ? direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe
                                       : direction == ComparisonDirection::kLt || direction == ComparisonDirection::kLe;
  };
  const Instruction& p = chosen.operand(0);
  if (IsInteger(a.shape().type())) return is_better(p);
  if (!p.Is(Opcode::kOr)) return false;
  for (int i = 0; i < 2; ++i) {
    const Instruction& is_nan = p.operand(1 - i);
    if (is_better(p.operand(i)) && is_nan.Is(Opcode::kCompare) && &is_nan.operand(0) == &a &&
        &is_nan.operand(1) == &a && is_nan.attrs<CompareAttrs>().direction == ComparisonDirection::kNe)
      return true;
  }
  return false;
}

bool HasNoDependencies(const Instruction& x) {
  const Instruction& leaf = x.Is(Opcode::kBroadcast) ? x.operand(0) : x;
  return leaf.Is(Opcode::kConstant) || leaf.Is(Opcode::kParameter) || leaf.Is(Opcode::kIota);
}

// For floats, the argmax or argmin may find a zero of the other sign. Only the first users of x are examined.
template <bool kOfFloats>
Result<Instruction*> ExtremeBesideSearch(Instruction& inst, const PassContext&) {
  constexpr int kMostUsers = 8;
  const auto op = OpOf(inst);
  Instruction& x = inst.operand(0);
  if ((op != Opcode::kMaximum && op != Opcode::kMinimum) || IsFloat(inst.shape().type()) != kOfFloats ||
      (!kOfFloats && !IsInteger(inst.shape().type())) || !IsNeutral(inst.operand(1), *op))
    return nullptr;
  int looked_at = 0;
  for (Instruction* user : x.users()) {
    if (++looked_at > kMostUsers) return nullptr;
    if (!user->Is(Opcode::kReduce) || user->operand_count() != 4 || &user->operand(0) != &x) continue;
    // Operands with dependencies may depend on `inst`.
    if (!HasNoDependencies(user->operand(1)) || !HasNoDependencies(user->operand(3))) continue;
    const auto& attrs = user->attrs<ReduceAttrs>();
    if (attrs.dimensions != inst.attrs<ReduceAttrs>().dimensions || !SameConstant(user->operand(2), inst.operand(1)) ||
        user->shape().element(0) != inst.shape() || !KeepsExtreme(*attrs.to_apply, *op))
      continue;
    return Step(inst, Opcode::kGetTupleElement, inst.shape(), {user}, IndexAttrs{0});
  }
  return nullptr;
}

Result<Instruction*> ExtremeOfRepeated(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  const auto op = OpOfRow<false>(inst);
  if (!op || !IsIdempotent(*op) || !broadcast.Is(Opcode::kBroadcast) || !broadcast.operand(0).shape().IsScalar() ||
      broadcast.shape().NumElements() == 0)
    return nullptr;
  Instruction* once = Step(inst, *op, inst.operand(1).shape(), {&inst.operand(1), &broadcast.operand(0)});
  return Widened(inst, *once);
}

template <bool kRounds>
Result<Instruction*> ReduceBelowBroadcast(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  if (!OpOfRow<kRounds>(inst) || !broadcast.Is(Opcode::kBroadcast) || !std::ranges::is_sorted(broadcast.dimensions()))
    return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  std::vector<int64_t> of_x, kept;
  for (const int64_t d : attrs.dimensions) {
    const auto found = std::ranges::find(broadcast.dimensions(), d);
    if (found == broadcast.dimensions().end()) return nullptr;
    of_x.push_back(found - broadcast.dimensions().begin());
  }
  if (of_x.empty()) return nullptr;
  for (const int64_t d : broadcast.dimensions()) {
    if (Contains(attrs.dimensions, d)) continue;
    kept.push_back(d - std::ranges::count_if(attrs.dimensions, [d](int64_t reduced) { return reduced < d; }));
  }
  Instruction* reduce = Reduced(inst, broadcast.operand(0), inst.operand(1), of_x, attrs.to_apply);
  return Replace(inst, Opcode::kBroadcast, {reduce}, DimensionsAttrs{kept});
}

// Whether n * x may replace the sum of n equal terms. These additions round in one direction, so the sum may be wrong
// by n / 2 roundings. A check in a wider type accepts n * x. For f64, the check would have only the less accurate sum
// as reference.
bool MayCountInstead(PrimitiveType type) { return type != PrimitiveType::kF64; }

// The sum of n equal terms becomes a product with n, which a float type must represent.
template <bool kRounds>
Result<Instruction*> SumOfRepeated(Instruction& inst, const PassContext&) {
  Instruction& broadcast = inst.operand(0);
  if (OpOfRow<kRounds>(inst) != Opcode::kAdd || !broadcast.Is(Opcode::kBroadcast) ||
      !std::ranges::is_sorted(broadcast.dimensions()) || inst.operand(0).shape().NumElements() == 0)
    return nullptr;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  int64_t count = 1;
  for (const int64_t d : attrs.dimensions) {
    if (Contains(broadcast.dimensions(), d)) return nullptr;
    count *= broadcast.shape().dim(d);
  }
  Instruction& x = broadcast.operand(0);
  const PrimitiveType type = inst.shape().type();
  if (attrs.dimensions.empty() || !(IsInteger(type) || IsFloat(type)) || !MayCountInstead(type)) return nullptr;
  if (kRounds && Literal::Scalar(type, static_cast<double>(count)).GetDouble(0) != static_cast<double>(count))
    return nullptr;
  Instruction* number = &inst.computation().AddConstant(Literal::Scalar(type, count));
  Instruction* init = &inst.operand(1);
  if (!x.shape().IsScalar()) {
    number = Step(inst, Opcode::kBroadcast, x.shape(), {number}, DimensionsAttrs{});
    init = Step(inst, Opcode::kBroadcast, x.shape(), {init}, DimensionsAttrs{});
  }
  Instruction* sum =
      Step(inst, Opcode::kAdd, x.shape(), {Step(inst, Opcode::kMultiply, x.shape(), {&x, number}), init});
  std::vector<int64_t> dims;
  for (const int64_t d : broadcast.dimensions())
    dims.push_back(d - std::ranges::count_if(attrs.dimensions, [d](int64_t reduced) { return reduced < d; }));
  return x.shape().dims() == inst.shape().dims() ? sum
                                                 : Replace(inst, Opcode::kBroadcast, {sum}, DimensionsAttrs{dims});
}

// ---- Windows --------------------------------------------------------------------------------------------------------

const std::vector<WindowDim>& WindowOf(const Instruction& inst) { return inst.attrs<ReduceWindowAttrs>().window.dims; }
// Whether the window moves by single elements, without padding or dilation.
bool IsPlain(const WindowDim& dim) { return dim == WindowDim{.size = dim.size}; }
bool IsSingle(const WindowDim& dim) { return dim == WindowDim(); }

// The dimension of a running sum, whose windows have the element and all earlier ones. In other dimensions, windows
// must have one element.
std::optional<int64_t> RunningDim(const Instruction& inst) {
  const auto& window = WindowOf(inst);
  std::optional<int64_t> running;
  for (size_t d = 0; d < window.size(); ++d) {
    if (IsSingle(window[d])) continue;
    const int64_t size = inst.operand(0).shape().dim(d);
    if (running || !(window[d] == WindowDim{.size = size, .pad_low = size - 1})) return std::nullopt;
    running = d;
  }
  return running;
}

Result<Instruction*> WindowOfNothing(Instruction& inst, const PassContext&) {
  const auto op = OpOf(inst);
  if (!op) return nullptr;
  Instruction &x = inst.operand(0), &init = inst.operand(1);
  if (x.shape().NumElements() == 0) return Widened(inst, init);
  return x.shape().IsScalar() ? Replace(inst, *op, {&init, &x}) : nullptr;
}

Result<Instruction*> WindowsOfOne(Instruction& inst, const PassContext&) {
  const auto op = OpOf(inst);
  if (!op || inst.operand(0).shape() != inst.shape() || !std::ranges::all_of(WindowOf(inst), IsSingle)) return nullptr;
  return Replace(inst, *op, {Widened(inst, inst.operand(1)), &inst.operand(0)});
}

template <bool kRounds>
Result<Instruction*> WindowOfAll(Instruction& inst, const PassContext&) {
  if (!OpOfRow<kRounds>(inst)) return nullptr;
  const Shape& x = inst.operand(0).shape();
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const WindowDim& dim = WindowOf(inst)[d];
    if (IsSingle(dim)) continue;
    if (!IsPlain(dim) || dim.size != x.dim(d)) return nullptr;
    dims.push_back(d);
  }
  if (dims.empty()) return nullptr;
  Instruction* reduce = Reduced(inst, inst.operand(0), inst.operand(1), dims, ReducerOf(inst));
  return Replace(inst, Opcode::kReshape, {reduce});
}

// The padding becomes padding of the window, which has no effect. In reduce-window(convert(pad(x))), the convert is
// then applied to x.
Result<Instruction*> WindowOfPad(Instruction& inst, const PassContext&) {
  const auto op = OpOf(inst);
  Instruction *convert = nullptr, *pad = &inst.operand(0);
  if (pad->Is(Opcode::kConvert) && m::OneUse(m::Any())(pad)) convert = pad, pad = &pad->operand(0);
  if (!op || !m::OneUse(m::Pad())(pad) || !IsStatic(*pad) || !IsNeutral(inst.operand(1), *op)) return nullptr;
  const Instruction &value = pad->operand(1), &init = inst.operand(1);
  if (convert == nullptr && !SameConstant(value, init)) return nullptr;
  if (convert != nullptr) {
    // After conversion, the padding must equal `init`: the lowest s8 is not the lowest s32.
    const Literal *padded = ScalarOf(value), *start = ScalarOf(init);
    if (padded == nullptr || start == nullptr || !Converted(*padded, init.shape().type()).BitEquals(*start))
      return nullptr;
  }
  auto attrs = inst.attrs<ReduceWindowAttrs>();
  for (size_t d = 0; d < attrs.window.dims.size(); ++d) {
    const PaddingDim& by = pad->attrs<PadAttrs>().padding.dims[d];
    WindowDim& dim = attrs.window.dims[d];
    if (by.low < 0 || by.high < 0) return nullptr;
    if ((by == PaddingDim())) continue;
    if (dim.base_dilation != 1) return nullptr;
    dim.base_dilation = by.interior + 1;
    dim.pad_low += by.low;
    dim.pad_high += by.high;
  }
  Instruction* x = &pad->operand(0);
  if (convert != nullptr) x = Step(inst, Opcode::kConvert, x->shape().WithType(convert->shape().type()), {x});
  return Replace(inst, Opcode::kReduceWindow, {x, &inst.operand(1)}, attrs);
}

// In each dimension, each window must cover the only element, and otherwise padding.
Result<Instruction*> WindowsOnOneElement(Instruction& inst, const PassContext&) {
  const auto op = OpOf(inst);
  if (!op) return nullptr;
  Instruction& x = inst.operand(0);
  std::vector<int64_t> sizes, dims;
  bool repeats = false;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const WindowDim& dim = WindowOf(inst)[d];
    if (IsSingle(dim)) {
      sizes.push_back(x.shape().dim(d));
      dims.push_back(d);
      continue;
    }
    if (x.shape().dim(d) != 1 || dim.stride != 1 || dim.window_dilation != 1 || dim.pad_low < 0 ||
        dim.size <= dim.pad_low || inst.shape().dim(d) > dim.pad_low + 1)
      return nullptr;
    repeats = true;
  }
  if (!repeats || inst.shape().NumElements() == 0) return nullptr;
  const Shape small = inst.shape().WithDims(sizes);
  Instruction* element = Step(inst, Opcode::kReshape, small, {&x});
  Instruction* init = &inst.operand(1);
  if (!small.IsScalar()) init = Step(inst, Opcode::kBroadcast, small, {init}, DimensionsAttrs{});
  Instruction* value = Step(inst, *op, small, {init, element});
  return Replace(inst, Opcode::kBroadcast, {value}, DimensionsAttrs{dims});
}

template <bool kRounds>
Result<Instruction*> RunningSumOfConstant(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  if (OpOfRow<kRounds>(inst) != Opcode::kAdd || ScalarOf(x) == nullptr || !IsNeutral(inst.operand(1), Opcode::kAdd) ||
      !(IsInteger(inst.shape().type()) || IsFloat(inst.shape().type())) || inst.operand(0).shape() != inst.shape() ||
      !MayCountInstead(inst.shape().type()))
    return nullptr;
  const auto running = RunningDim(inst);
  if (!running) return nullptr;
  const PrimitiveType type = inst.shape().type();
  if (IsFloat(type) && !HoldsCount(type, inst.shape().dim(*running))) return nullptr;
  Instruction* iota = Replace(inst, Opcode::kIota, {}, IotaAttrs{*running});
  return Replace(inst, Opcode::kMultiply, {Replace(inst, Opcode::kAdd, {iota, ConstantLike(inst, 1)}), &x});
}

template <bool kRounds>
Result<Instruction*> LastOfRunningSum(Instruction& inst, const PassContext&) {
  Instruction& window = inst.operand(0);
  if (!m::OneUse(m::ReduceWindow())(&window) || !OpOfRow<kRounds>(window) || !IsStatic(inst)) return nullptr;
  const auto running = RunningDim(window);
  if (!running || window.shape() != window.operand(0).shape()) return nullptr;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    const SliceDim& cut = inst.attrs<SliceAttrs>().slice.dims[d];
    const int64_t size = window.shape().dim(d);
    if (cut.start != (d == *running ? size - 1 : 0) || cut.limit != size || cut.stride != 1) return nullptr;
  }
  Instruction* reduce = Reduced(inst, window.operand(0), window.operand(1), {*running}, ReducerOf(window));
  return Replace(inst, Opcode::kReshape, {reduce});
}

constexpr Preserves kRegroups = Preserves::kReassociates;

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.red.3a",   Opcode::kReduce,       ReduceOfTranspose<false>,      Preserves::kExact, "reduce(transpose(x)) => reduce(x), or transpose(reduce(x))"},
    {"A.red.3b",   Opcode::kReduce,       ReduceOfTranspose<true>,       kRegroups,         "reduce(transpose(x)) => reduce(x), or transpose(reduce(x)), for sums and products of floats"},
    {"A.red.4a",   Opcode::kReduce,       ReduceTwice<false>,            Preserves::kExact, "reduce(reduce(x)) => reduce(x)"},
    {"A.red.4b",   Opcode::kReduce,       ReduceTwice<true>,             kRegroups,         "reduce(reduce(x)) => reduce(x), for sums and products of floats"},
    {"A.red.5b",   Opcode::kReduce,       ReduceOfReducedReshape<false>, Preserves::kExact, "reduce(reshape(x)) => reduce(x), when the reshape changes only reduced dimensions"},
    {"A.red.5c",   Opcode::kReduce,       ReduceOfReducedReshape<true>,  kRegroups,         "reduce(reshape(x)) => reduce(x), when the reshape changes only reduced dimensions, for sums and products of floats"},
    {"A.red.5d",   Opcode::kReduce,       ReduceOfKeptReshape<false>,    Preserves::kExact, "reduce(reshape(x)) => reshape(reduce(x)), when the reshape changes only dimensions that are not reduced"},
    {"A.red.5e",   Opcode::kReduce,       ReduceOfKeptReshape<true>,     kRegroups,         "reduce(reshape(x)) => reshape(reduce(x)), when the reshape changes only dimensions that are not reduced, for sums and products of floats"},
    {"A.red.6a",   Opcode::kReduce,       ReduceOfConcatenate<false>,    Preserves::kExact, "reduce(concatenate(a, b)) => op(reduce(a), reduce(b))"},
    {"A.red.6b",   Opcode::kReduce,       ReduceOfConcatenate<true>,     kRegroups,         "reduce(concatenate(a, b)) => op(reduce(a), reduce(b)), for sums and products of floats"},
    {"A.red.8",    Opcode::kReduce,       ReduceOfOneTuple,              kRegroups,         "reduce to a tuple of one element => tuple(reduce)"},
    {"A.red.9a",   Opcode::kReduce,       SumOfNegated<false>,           Preserves::kExact, "sum(-x) => -sum(x), for integers"},
    {"A.red.9b",   Opcode::kReduce,       SumOfNegated<true>,            kRegroups,         "sum(-x) => -sum(x)"},
    {"A.red.10a",  Opcode::kReduce,       ExtremeBesideSearch<false>,    Preserves::kExact, "max(x) next to an argmax of x => the maximum that the argmax returns; min too; for integers"},
    {"A.red.10b",  Opcode::kReduce,       ExtremeBesideSearch<true>,     kRegroups,         "max(x) next to an argmax of x => the maximum that the argmax returns; min too; for floats"},
    {"A.red.11a",  Opcode::kReduce,       ExtremeOfRepeated,             Preserves::kExact, "max(broadcast(x)) => max(x, init), for a scalar x; the same for min, and, or"},
    {"A.red.11b",  Opcode::kReduce,       ReduceBelowBroadcast<false>,   Preserves::kExact, "reduce(broadcast(x)) => broadcast(reduce(x)), over dimensions of x"},
    {"A.red.11c",  Opcode::kReduce,       ReduceBelowBroadcast<true>,    kRegroups,         "reduce(broadcast(x)) => broadcast(reduce(x)), over dimensions of x, for sums and products of floats"},
    {"A.red.11d",  Opcode::kReduce,       SumOfRepeated<false>,          Preserves::kExact, "sum(broadcast(x)) => broadcast(x * n + init), over dimensions that the broadcast adds, for integers"},
    {"A.red.11e",  Opcode::kReduce,       SumOfRepeated<true>,           kRegroups,         "sum(broadcast(x)) => broadcast(x * n + init), over dimensions that the broadcast adds, for floats except f64"},
    {"A.rw.1",     Opcode::kReduceWindow, WindowOfNothing,               Preserves::kExact, "reduce-window(x, init) => broadcast(init), when x is empty; => op(init, x), of a scalar"},
    {"A.rw.2",     Opcode::kReduceWindow, WindowsOfOne,                  Preserves::kExact, "reduce-window(x, init) => op(init, x), of windows of one element"},
    {"A.rw.4",     Opcode::kReduceWindow, WindowOfPad,                   Preserves::kExact, "reduce-window(pad(x, init)) => reduce-window(x) with that padding"},
    {"A.rw.5",     Opcode::kReduceWindow, WindowsOnOneElement,           Preserves::kExact, "reduce-window(x, init) => broadcast(op(init, x)), when each window sees the same single element"},
    {"A.rw.3a",    Opcode::kReduceWindow, WindowOfAll<false>,            Preserves::kExact, "reduce-window(x) => reshape(reduce(x)), of one window over whole dimensions"},
    {"A.rw.3b",    Opcode::kReduceWindow, WindowOfAll<true>,             kRegroups,         "reduce-window(x) => reshape(reduce(x)), of one window over whole dimensions, for sums and products of floats"},
    {"A.rw.6a",    Opcode::kReduceWindow, RunningSumOfConstant<false>,   Preserves::kExact, "running sum of broadcast(c) => c * (iota + 1), for integers"},
    {"A.rw.6b",    Opcode::kReduceWindow, RunningSumOfConstant<true>,    kRegroups,         "running sum of broadcast(c) => c * (iota + 1), for floats except f64"},
    {"A.slice.8a", Opcode::kSlice,        LastOfRunningSum<false>,       Preserves::kExact, "the last element of a running reduce-window => reshape(reduce(x))"},
    {"A.slice.8b", Opcode::kSlice,        LastOfRunningSum<true>,        kRegroups,         "the last element of a running reduce-window => reshape(reduce(x)), for sums and products of floats"},
};
// clang-format on

}  // namespace

std::span<const Rule> SumRules() { return kRules; }

}  // namespace hlo
