// Rules of algsimp for reduces that keep the order of terms, and for empty dots and convolutions.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {

bool IsPlainReduce(const Instruction& inst) {
  if (!inst.Is(Opcode::kReduce) || inst.operand_count() != 2) return false;
  const PrimitiveType type = inst.shape().type();
  const Shape& x = inst.operand(0).shape();
  return !x.HasDynamicDims() && x.type() == type && inst.operand(1).shape().type() == type;
}

namespace {
namespace m = match;

Instruction* WidenedInit(Instruction& inst) {
  Instruction& init = inst.operand(1);
  return inst.shape().IsScalar() ? &init : Replace(inst, Opcode::kBroadcast, {&init}, DimensionsAttrs{});
}

Result<Instruction*> ReduceOfNothing(Instruction& inst, const PassContext&) {
  if (!IsPlainReduce(inst) || inst.operand(0).shape().NumElements() != 0 || inst.shape().NumElements() == 0)
    return nullptr;
  return WidenedInit(inst);
}

// reshape(x) alone would be wrong, because 0 + -0 is +0.
Result<Instruction*> ReduceOfOne(Instruction& inst, const PassContext&) {
  if (!IsPlainReduce(inst)) return nullptr;
  Instruction& x = inst.operand(0);
  if (x.shape().NumElements() != inst.shape().NumElements() || inst.shape().NumElements() == 0) return nullptr;
  const auto op = ReducerOp(*inst.attrs<ReduceAttrs>().to_apply);
  if (!op) return nullptr;
  Instruction* value = SameDims(x.shape(), inst.shape()) ? &x : Step(inst, Opcode::kReshape, inst.shape(), {&x});
  return Replace(inst, *op, {WidenedInit(inst), value});
}

// A reshape that only adds and removes dimensions of size 1 keeps the order of terms.
Result<Instruction*> ReduceOfReshape(Instruction& inst, const PassContext&) {
  Instruction *reshape, *x;
  if (!m::Reduce(m::Reshape(&reshape, m::Any(&x)), m::Any())(&inst) || !IsStatic(inst) || !IsStatic(*reshape))
    return nullptr;
  const auto paired = PairDimensions(reshape->shape(), x->shape());
  if (!paired) return nullptr;
  const auto& reduced = inst.attrs<ReduceAttrs>().dimensions;
  std::vector<int64_t> dims, kept;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    // A removed dimension has size 1 and becomes a reduced dimension.
    const bool is_reduced =
        (*paired)[d] < 0 || std::find(reduced.begin(), reduced.end(), (*paired)[d]) != reduced.end();
    (is_reduced ? dims : kept).push_back(is_reduced ? d : x->shape().dim(d));
  }
  const Shape shape = inst.shape().WithDims(kept);
  auto attrs = inst.attrs<ReduceAttrs>();
  attrs.dimensions = dims;
  Instruction* reduce = Step(inst, Opcode::kReduce, shape, {x, &inst.operand(1)}, attrs);
  return SameDims(shape, inst.shape()) ? reduce : Replace(inst, Opcode::kReshape, {reduce});
}

Result<Instruction*> SortedReduceDimensions(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kReduce)) return nullptr;
  auto attrs = inst.attrs<ReduceAttrs>();
  if (std::is_sorted(attrs.dimensions.begin(), attrs.dimensions.end())) return nullptr;
  std::sort(attrs.dimensions.begin(), attrs.dimensions.end());
  return Replace(inst, Opcode::kReduce, {inst.operands().begin(), inst.operands().end()}, attrs);
}

// Parts of JAX's reducer for argmax or argmin, of values x, y with indices i, j:
//   beats = (x > y) | (x != x)   (select(beats, x, y), select(beats | ((x == y) & (i < j)), i, j))
struct ArgReducer {
  const Instruction *beats, *x_is_nan, *i_is_first;
};

std::optional<ArgReducer> ReadArgReducer(const Computation& reducer) {
  const Instruction& root = reducer.root();
  if (!root.Is(Opcode::kTuple) || root.operand_count() != 2 || reducer.parameters().size() != 4) return std::nullopt;
  const Instruction &x = reducer.parameter(0), &i = reducer.parameter(1), &y = reducer.parameter(2),
                    &j = reducer.parameter(3);
  const auto compares = [](const Instruction& inst, const Instruction& a, const Instruction& b,
                           std::initializer_list<ComparisonDirection> directions) {
    if (!inst.Is(Opcode::kCompare) || &inst.operand(0) != &a || &inst.operand(1) != &b) return false;
    const auto& attrs = inst.attrs<CompareAttrs>();
    return attrs.type != ComparisonType::kTotalOrder &&
           std::ranges::find(directions, attrs.direction) != directions.end();
  };
  const auto selects = [](const Instruction& inst, const Instruction& a, const Instruction& b) {
    return inst.Is(Opcode::kSelect) && &inst.operand(1) == &a && &inst.operand(2) == &b;
  };
  const Instruction &value = root.operand(0), &place = root.operand(1);
  if (!selects(value, x, y) || !selects(place, i, j)) return std::nullopt;
  const Instruction &beats = value.operand(0), &stays = place.operand(0);
  if (!beats.Is(Opcode::kOr) || !stays.Is(Opcode::kOr) || &stays.operand(0) != &beats) return std::nullopt;
  const Instruction &is_nan = beats.operand(1), &tie = stays.operand(1);
  using enum ComparisonDirection;
  if (!compares(beats.operand(0), x, y, {kGt, kLt, kGe, kLe}) || !compares(is_nan, x, x, {kNe})) return std::nullopt;
  if (!tie.Is(Opcode::kAnd) || !compares(tie.operand(0), x, y, {kEq}) || !compares(tie.operand(1), i, j, {kLt}))
    return std::nullopt;
  return ArgReducer{&beats, &is_nan, &tie.operand(1)};
}

// Whether elements are the indices along the only reduced dimension.
bool ArePlaces(const Instruction& inst, const std::vector<int64_t>& reduced) {
  if (reduced.size() != 1) return false;
  if (IsCountThatFits(inst)) return inst.attrs<IotaAttrs>().iota_dimension == reduced[0];
  return inst.Is(Opcode::kBroadcast) && IsCountThatFits(inst.operand(0)) && inst.dimensions() == reduced;
}

// With JAX's reducer, if there are several NaNs, the index depends on the order in which a kernel combines elements.
// After the rewrite, the lowest index wins:
//   x != x => (x != x) & ((y == y) | (i < j))
Result<Instruction*> FirstOfSeveralNaNs(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kReduce) || inst.operand_count() != 4 || !IsFloat(inst.operand(0).shape().type()))
    return nullptr;
  auto attrs = inst.attrs<ReduceAttrs>();
  const auto reducer = ReadArgReducer(*attrs.to_apply);
  const auto start = NumberOf(inst.operand(2));
  if (!reducer || !ArePlaces(inst.operand(1), attrs.dimensions) || !start || std::isnan(*start)) return nullptr;
  std::unordered_map<const Instruction*, Instruction*> copies;
  Computation& ordered = inst.module().CloneComputation(*attrs.to_apply, attrs.to_apply->name(), &copies);
  Instruction& y = ordered.parameter(2);
  Instruction& is_nan = *copies[reducer->x_is_nan];
  const Shape& pred = is_nan.shape();
  Instruction& y_is_number = ordered.Add(Opcode::kCompare, pred, {&y, &y}, CompareAttrs{ComparisonDirection::kEq});
  Instruction& is_before = ordered.Add(Opcode::kOr, pred, {&y_is_number, copies[reducer->i_is_first]});
  copies[reducer->beats]->SetOperand(1, ordered.Add(Opcode::kAnd, pred, {&is_nan, &is_before}));
  attrs.to_apply = &ordered;
  return Replace(inst, Opcode::kReduce, {inst.operands().begin(), inst.operands().end()}, attrs);
}

// A sum of no products is 0.
Result<Instruction*> ProductOfNothing(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kDot) && !inst.Is(Opcode::kConvolution)) return nullptr;
  if (inst.operand(0).shape().NumElements() != 0 && inst.operand(1).shape().NumElements() != 0) return nullptr;
  return ConstantLike(inst, 0);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.dot.1",  Opcode::kDot,         ProductOfNothing,       Preserves::kExact, "dot(x, y) => 0, when one is empty"},
    {"A.conv.1", Opcode::kConvolution, ProductOfNothing,       Preserves::kExact, "convolution(x, y) => 0, when one is empty"},
    {"A.red.1",  Opcode::kReduce,      ReduceOfNothing,        Preserves::kExact, "reduce(x, init) => broadcast(init), when x is empty"},
    {"A.red.2",  Opcode::kReduce,      ReduceOfOne,            Preserves::kExact, "reduce(x, init) => op(init, reshape(x)), over dimensions of size 1"},
    {"A.red.5a", Opcode::kReduce,      ReduceOfReshape,        Preserves::kExact, "reduce(reshape(x)) => reduce(x), when the reshape only adds and removes dimensions of size 1"},
    {"A.red.13", Opcode::kReduce,      SortedReduceDimensions, Preserves::kExact, "dimensions={1,0} => dimensions={0,1}, so that equal reduces look equal"},
    {"A.red.15", Opcode::kReduce,      FirstOfSeveralNaNs,     Preserves::kExact, "argmax and argmin that take either of two NaNs => those that take the first one"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReductionRules() { return kRules; }

}  // namespace hlo
