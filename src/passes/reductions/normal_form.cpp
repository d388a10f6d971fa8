// reduction-degenerate-dim-remover, reduction-layout-normalizer, reduction-dimension-grouper: merge the dimensions of a
// reduce and put them in memory order.
#include <algorithm>

#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/reductions/reduction.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Whether the layout is only an order of dimensions.
bool HasPlainLayout(const Shape& shape) { return shape.layout().tiling == Boxed<Tiling>(); }

// Keeps the dimensions `picked`, in the same relative order in memory.
Shape Picked(const Shape& shape, const std::vector<int64_t>& picked) {
  Dims dims;
  for (const int64_t d : picked) dims.push_back(shape.dim(d));
  DimOrder order;
  for (const int16_t d : shape.layout().minor_to_major) {
    const auto at = std::ranges::find(picked, d);
    if (at != picked.end()) order.push_back(static_cast<int16_t>(at - picked.begin()));
  }
  return Shape(shape.type(), dims, {.minor_to_major = order});
}

// An operand of a reduce and its result.
struct Sum {
  Instruction* x;
  Shape result;
};
std::vector<Sum> SumsOf(const Instruction& reduce) {
  std::vector<Sum> sums;
  const int64_t count = reduce.operand_count() / 2;
  for (int64_t i = 0; i < count; ++i)
    sums.push_back({&reduce.operand(i), reduce.shape().IsTuple() ? reduce.shape().element(i) : reduce.shape()});
  return sums;
}

bool IsRegular(const Instruction& inst) {
  if (!inst.Is(Opcode::kReduce)) return false;
  return std::ranges::all_of(SumsOf(inst), [](const Sum& sum) {
    return !sum.x->shape().HasDynamicDims() && HasPlainLayout(sum.x->shape()) && HasPlainLayout(sum.result);
  });
}

// Results get the shapes of `inst`.
Instruction* Reduced(Instruction& inst, const std::vector<Sum>& sums, std::vector<int64_t> dimensions) {
  ReduceAttrs attrs = inst.attrs<ReduceAttrs>();
  attrs.dimensions = std::move(dimensions);
  std::vector<Instruction*> operands;
  for (const Sum& sum : sums) operands.push_back(sum.x);
  for (int64_t i = inst.operand_count() / 2; i < inst.operand_count(); ++i) operands.push_back(&inst.operand(i));
  if (!inst.shape().IsTuple()) {
    return Recast(inst, inst.shape(), Step(inst, Opcode::kReduce, sums[0].result, operands, attrs));
  }
  std::vector<Shape> shapes;
  for (const Sum& sum : sums) shapes.push_back(sum.result);
  Instruction* const reduce = Step(inst, Opcode::kReduce, Shape::Tuple(shapes), operands, attrs);
  if (reduce->shape() == inst.shape()) return reduce;
  std::vector<Instruction*> results;
  for (int64_t i = 0; i < std::ssize(sums); ++i) {
    Instruction& result = inst.computation().AddGetTupleElement(*reduce, i);
    results.push_back(Recast(inst, inst.shape().element(i), &result));
  }
  return Replace(inst, Opcode::kTuple, results);
}

// If no reduced dimension remains, the result is op(init, reshape(x)), not reshape(x) as in XLA: 0 + -0 is +0.
Result<Instruction*> DropOnes(Instruction& inst, const PassContext&) {
  if (!IsRegular(inst)) return nullptr;
  const auto is_one = [](int64_t size) { return size == 1; };
  std::vector<Sum> sums = SumsOf(inst);
  const Dims sizes = sums[0].x->shape().dims();
  if (std::ranges::none_of(sizes, is_one)) return nullptr;
  const std::vector<int64_t>& reduced = inst.attrs<ReduceAttrs>().dimensions;
  std::vector<int64_t> kept, dimensions;
  for (int64_t d = 0; d < std::ssize(sizes); ++d) {
    if (is_one(sizes[d])) continue;
    if (std::ranges::find(reduced, d) != reduced.end()) dimensions.push_back(std::ssize(kept));
    kept.push_back(d);
  }
  if (dimensions.empty()) {
    const auto op = IsPlainReduce(inst) ? ReducerOp(*inst.attrs<ReduceAttrs>().to_apply) : std::nullopt;
    if (!op || !inst.shape().HasDefaultLayout() || !sums[0].x->shape().HasDefaultLayout()) return nullptr;
    Instruction* const init = inst.shape().IsScalar()
                                  ? &inst.operand(1)
                                  : Replace(inst, Opcode::kBroadcast, {&inst.operand(1)}, DimensionsAttrs{});
    return Replace(inst, *op, {init, Recast(inst, inst.shape(), sums[0].x)});
  }
  for (Sum& sum : sums) {
    std::vector<int64_t> kept_results;
    for (int64_t d = 0; d < sum.result.rank(); ++d) {
      if (sum.result.dim(d) != 1) kept_results.push_back(d);
    }
    sum.x = Recast(inst, Picked(sum.x->shape(), kept), sum.x);
    sum.result = Picked(sum.result, kept_results);
  }
  return Reduced(inst, sums, std::move(dimensions));
}

// Results keep their layout. Sums over several dimensions change the order of terms.
Result<Instruction*> InMemoryOrder(Instruction& inst, const PassContext&) {
  if (!IsRegular(inst)) return nullptr;
  std::vector<Sum> sums = SumsOf(inst);
  const Shape& first = sums[0].x->shape();
  const auto as_first = [&](const Sum& sum) { return sum.x->shape().layout() == first.layout(); };
  if (first.HasDefaultLayout() && std::ranges::all_of(sums, as_first)) return nullptr;
  const DimOrder& minor_to_major = first.layout().minor_to_major;
  const std::vector<int64_t> order(std::reverse_iterator(minor_to_major.end()),
                                   std::reverse_iterator(minor_to_major.begin()));
  const std::vector<int64_t>& reduced = inst.attrs<ReduceAttrs>().dimensions;
  // `results` lists the result's dimensions in the operand's order.
  std::vector<int64_t> dimensions, results;
  for (int64_t d = 0; d < std::ssize(order); ++d) {
    if (std::ranges::find(reduced, order[d]) != reduced.end()) {
      dimensions.push_back(d);
      continue;
    }
    const auto before = std::ranges::count_if(reduced, [&](int64_t r) { return r < order[d]; });
    results.push_back(order[d] - before);
  }
  for (Sum& sum : sums) {
    const Shape wanted(sum.x->shape().type(), sum.x->shape().dims(), first.layout());
    if (sum.x->shape() != wanted) sum.x = Step(inst, Opcode::kCopy, wanted, {sum.x});
    sum.x = Recast(inst, Picked(sum.x->shape(), order), sum.x);
    sum.result = Picked(sum.result, results);
  }
  return Reduced(inst, sums, std::move(dimensions));
}

// Row-major elements keep their order.
Result<Instruction*> GroupReduced(Instruction& inst, const PassContext&) {
  if (!IsRegular(inst) || !IsRowMajor(inst)) return nullptr;
  std::vector<Sum> sums = SumsOf(inst);
  const Dims sizes = sums[0].x->shape().dims();
  const std::vector<int64_t>& reduced = inst.attrs<ReduceAttrs>().dimensions;
  Dims grouped;
  std::vector<int64_t> dimensions;
  bool after_reduced = false, changed = false;
  for (int64_t d = 0; d < std::ssize(sizes); ++d) {
    const bool is_reduced = std::ranges::find(reduced, d) != reduced.end();
    if (is_reduced && after_reduced) {
      grouped.back() *= sizes[d];
      changed = true;
    } else {
      if (is_reduced) dimensions.push_back(std::ssize(grouped));
      grouped.push_back(sizes[d]);
    }
    after_reduced = is_reduced;
  }
  if (!changed) return nullptr;
  for (Sum& sum : sums) sum.x = Recast(inst, sum.x->shape().WithDims(grouped), sum.x);
  return Reduced(inst, sums, std::move(dimensions));
}

// clang-format off: a table.
constexpr Rule kOnes[] = {
    {"R.red.1", Opcode::kReduce, DropOnes, Preserves::kExact, "reduce(x) => reshape(reduce(reshape(x))), without dimensions of size 1"},
};
constexpr Rule kLayouts[] = {
    {"R.red.2", Opcode::kReduce, InMemoryOrder, Preserves::kReassociates, "reduce(x) => bitcast(reduce(bitcast(x))), dimensions of x in memory order"},
};
constexpr Rule kGroups[] = {
    {"R.red.3", Opcode::kReduce, GroupReduced, Preserves::kExact, "reduce(x) over neighbouring dimensions => reduce(reshape(x)) over one"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReductionOnesRules() { return kOnes; }
std::span<const Rule> ReductionLayoutRules() { return kLayouts; }
std::span<const Rule> ReductionGroupRules() { return kGroups; }

Result<bool> RemoveReductionOnes(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kOnes);
}
Result<bool> NormalizeReductionLayouts(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kLayouts);
}
Result<bool> GroupReductionDimensions(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kGroups);
}

}  // namespace hlo
