#include "gpu/plan/reduction_space.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

std::vector<int64_t> Without(const std::vector<int64_t>& dims, const std::vector<int64_t>& removed) {
  std::vector<int64_t> rest;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::ranges::find(removed, static_cast<int64_t>(i)) == removed.end()) rest.push_back(dims[i]);
  }
  return rest;
}

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

// A space over the dimensions of the reduces' operand; groups[i] counts how many of those above 1 variable i stands
// for. Null, and why, when some root is none of what such a kernel does.
Result<std::unique_ptr<ReductionSpace>> SpaceOver(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                                  const std::vector<int>& groups, std::string* why_not) {
  const auto no = [&](std::string_view why) {
    *why_not = why;
    return nullptr;
  };
  auto space = std::make_unique<ReductionSpace>(body);
  IndexPool& pool = space->pool;
  const Instruction& first = *heroes[0];
  const Shape& shape = first.operand(0).shape();
  const std::vector<int64_t>& reduced = first.attrs<ReduceAttrs>().dimensions;
  const auto is_reduced = [&](int64_t d) { return std::ranges::find(reduced, d) != reduced.end(); };

  std::vector<int64_t> order;
  for (size_t i = shape.layout().minor_to_major.size(); i-- > 0;) {
    const int64_t d = shape.layout().minor_to_major[i];
    if (shape.dim(d) > 1) order.push_back(d);
  }
  std::vector<IndexExpr> index(shape.rank(), pool.Constant(0));
  size_t next = 0;
  for (const int group : groups) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < group; ++i) sizes.push_back(shape.dim(order[next + i]));
    const IndexExpr e = pool.Variable(0, Product(sizes) - 1);
    space->variables.push_back({e, Product(sizes), is_reduced(order[next])});
    const std::vector<IndexExpr> parts = pool.Delinearize(e, sizes);
    for (int i = 0; i < group; ++i) index[order[next + i]] = parts[i];
    next += group;
  }
  std::vector<IndexExpr> kept;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!is_reduced(d)) kept.push_back(index[d]);
  }
  const std::vector<int64_t> kept_dims = Without(shape.dims(), reduced);

  for (const Instruction* inst : heroes) {
    TRY(CheckScalarComputation(*inst->attrs<ReduceAttrs>().to_apply));
    ReductionSpace::Hero hero{.inst = inst};
    const int64_t arrays = inst->operand_count() / 2;
    for (int64_t i = 0; i < arrays; ++i) {
      hero.inputs.push_back(TRY(space->graph.Plan(inst->operand(i), index)));
      hero.initial.push_back(TRY(space->graph.Plan(inst->operand(arrays + i), {})));
      hero.types.push_back(TRY(KernelType(*inst, inst->operand(arrays + i).shape().type())));
      hero.accumulators.push_back(AccumulatorType(*inst, hero.types.back()));
    }
    space->heroes.push_back(std::move(hero));
  }
  for (const Instruction* inst : heroes) space->graph.SetGiven(*inst);
  for (const FusionBody::Root& root : body.roots()) {
    TRY(KernelType(*root.inst, root.shape->type()));
    const bool is_store = root.shape->dims() == shape.dims() && Product(kept_dims) != shape.NumElements();
    if (!is_store && root.shape->NumElements() != Product(kept_dims))
      return no("a result has neither the elements of the reduced operand nor those of the reductions");
    const std::vector<IndexExpr>& from = is_store ? index : kept;
    const Dims from_dims = is_store ? shape.dims() : Dims(kept_dims);
    const std::vector<IndexExpr> at =
        root.shape->dims() == from_dims ? from : pool.Delinearize(pool.Linearize(from, from_dims), root.shape->dims());
    const ReductionSpace::Output output{&root, TRY(space->graph.Plan(*root.inst, at, root.result)),
                                        pool.Dot(at, LayoutStrides(*root.shape))};
    (is_store ? space->stores : space->epilogues).push_back(output);
  }
  // A reduce may be used at its own index only, and only after the walk.
  for (const NodeId id : space->graph.Reachable(space->Inputs())) {
    if (space->graph.node(id).kind == ElementNode::Kind::kGiven) return no("a reduction reads what another one gives");
  }
  for (const NodeId id : space->graph.Reachable(space->Epilogues())) {
    const ElementNode& node = space->graph.node(id);
    if (node.kind != ElementNode::Kind::kGiven) continue;
    if (node.index != kept) return no("the result of a reduction is used at another place than its own");
    for (auto& hero : space->heroes) {
      if (hero.inst == node.inst) hero.given.push_back(id);
    }
  }
  return space;
}

bool MayMerge(const ReductionSpace& space, const ReductionSpace::Variable& a, const ReductionSpace::Variable& b) {
  if (a.reduced != b.reduced) return false;
  const IndexPool& pool = space.pool;
  const std::function<bool(IndexExpr)> consistent = [&](IndexExpr e) {
    if (!pool.DependsOn(e, a.e) && !pool.DependsOn(e, b.e)) return true;
    const IndexPool::Node& node = pool[e];
    if (node.kind == IndexPool::Kind::kVariable) return false;
    if (node.kind != IndexPool::Kind::kSum) return consistent(node.operand);
    int64_t of_a = 0, of_b = 0;
    for (const auto& term : node.terms) {
      if (term.atom == a.e) of_a = term.coefficient;
      else if (term.atom == b.e) of_b = term.coefficient;
      else if (!consistent(term.atom)) return false;
    }
    return of_a == of_b * b.size;
  };
  for (const NodeId id : space.graph.Reachable(space.All())) {
    if (space.graph.node(id).kind == ElementNode::Kind::kGiven) continue;
    if (!std::ranges::all_of(space.graph.Expressions(id), consistent)) return false;
  }
  const auto fits = [&](const ReductionSpace::Output& output) { return consistent(output.offset); };
  return std::ranges::all_of(space.epilogues, fits) && std::ranges::all_of(space.stores, fits);
}

}  // namespace

Result<std::unique_ptr<ReductionSpace>> ReductionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& heroes,
                                                         std::string* why_not) {
  const Instruction& first = *heroes[0];
  const Shape& shape = first.operand(0).shape();
  for (const Instruction* hero : heroes) {
    if (hero->operand(0).shape().dims() == shape.dims() &&
        hero->attrs<ReduceAttrs>().dimensions == first.attrs<ReduceAttrs>().dimensions)
      continue;
    *why_not = "its reductions are over different dimensions";
    return nullptr;
  }
  const size_t rank = std::ranges::count_if(shape.dims(), [](int64_t size) { return size > 1; });
  auto space = TRY(SpaceOver(body, heroes, std::vector<int>(rank, 1), why_not));
  if (space == nullptr) return nullptr;
  std::vector<int> groups;
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && MayMerge(*space, space->variables[i - 1], space->variables[i])) {
      ++groups.back();
    } else {
      groups.push_back(1);
    }
  }
  if (groups.size() == rank) return space;
  space = TRY(SpaceOver(body, heroes, groups, why_not));
  CHECK(space != nullptr, body.source().name());
  return space;
}

}  // namespace hlo::gpu
