#include "gpu/plan/reduction_space.h"

#include <algorithm>

#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

Result<ReductionSpace::Hero> PlanHero(ReductionSpace& space, const Instruction& reduce,
                                      const std::vector<IndexExpr>& index) {
  TRY(CheckScalarComputation(*reduce.attrs<ReduceAttrs>().to_apply));
  ReductionSpace::Hero hero{.inst = &reduce};
  const int64_t arrays = reduce.operand_count() / 2;
  for (int64_t i = 0; i < arrays; ++i) {
    hero.inputs.push_back(TRY(space.graph.Plan(reduce.operand(i), index)));
    hero.initial.push_back(TRY(space.graph.Plan(reduce.operand(arrays + i), {})));
    const PrimitiveType declared = reduce.operand(arrays + i).shape().type();
    const kernel::Type type = TRY(KernelType(reduce, declared));
    hero.types.insert(hero.types.end(), ComponentCount(declared), type);
    hero.accumulators.insert(hero.accumulators.end(), ComponentCount(declared), AccumulatorType(reduce, type));
  }
  return hero;
}

// The reason if a result of the reduces is used at another index than `kept`, or before the last term.
std::string_view RecordHeroUses(ReductionSpace& space, const std::vector<IndexExpr>& kept) {
  const auto is_given = [&](NodeId id) { return space.graph.node(id).kind == ElementNode::Kind::kGiven; };
  for (const NodeId id : space.graph.Reachable(space.Inputs())) {
    if (is_given(id)) return "a reduction depends on the result of another one";
  }
  for (const NodeId id : space.graph.Reachable(space.Epilogues())) {
    if (!is_given(id)) continue;
    const ElementNode& node = space.graph.node(id);
    if (node.index != kept)
      return "the result of a reduction is read at another index than that of the computed element";
    for (auto& hero : space.heroes) {
      if (hero.inst == node.inst) hero.given.push_back(id);
    }
  }
  return "";
}

// Variable i indexes groups[i] merged dimensions, all larger than 1.
Result<std::unique_ptr<ReductionSpace>> SpaceOver(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                                  const std::vector<int>& groups, std::string* why_not) {
  auto space = std::make_unique<ReductionSpace>(body);
  const Shape& shape = heroes[0]->operand(0).shape();
  const std::vector<int64_t>& reduced = heroes[0]->attrs<ReduceAttrs>().dimensions;
  const auto is_reduced = [&](int64_t d) { return std::ranges::find(reduced, d) != reduced.end(); };
  const std::vector<IndexExpr> index =
      AddVariables(*space, shape, groups, [&](int64_t d) { return is_reduced(d) ? Role::kReduced : Role::kKept; });
  std::vector<IndexExpr> kept;
  Dims kept_dims;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (is_reduced(d)) continue;
    kept.push_back(index[d]);
    kept_dims.push_back(shape.dim(d));
  }
  for (const Instruction* inst : heroes) space->heroes.push_back(TRY(PlanHero(*space, *inst, index)));
  for (const Instruction* inst : heroes) space->graph.SetGiven(*inst);
  for (const FusionBody::Root& root : body.roots()) {
    TRY(KernelType(*root.inst, root.shape->type()));
    const bool is_store = root.shape->dims() == shape.dims() && Product(kept_dims) != shape.NumElements();
    if (!is_store && root.shape->NumElements() != Product(kept_dims)) {
      *why_not = "a result has neither the size of the reduced operand nor the size of the reductions' results";
      return nullptr;
    }
    if (is_store) space->stores.push_back(TRY(OutputAt(*space, root, index, shape.dims())));
    else space->outputs.push_back(TRY(OutputAt(*space, root, kept, kept_dims)));
  }
  *why_not = RecordHeroUses(*space, kept);
  return why_not->empty() ? std::move(space) : nullptr;
}

}  // namespace

std::vector<const ReducedHero*> ReductionSpace::Heroes() const {
  std::vector<const ReducedHero*> borrowed;
  for (const ReducedHero& hero : heroes) borrowed.push_back(&hero);
  return borrowed;
}

std::vector<NodeId> ReductionSpace::Inputs() const {
  std::vector<NodeId> nodes;
  for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.inputs.begin(), hero.inputs.end());
  for (const Output& store : stores) nodes.push_back(store.value);
  return nodes;
}

std::vector<NodeId> ReductionSpace::Epilogues() const {
  std::vector<NodeId> nodes;
  for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.initial.begin(), hero.initial.end());
  for (const Output& output : outputs) nodes.push_back(output.value);
  return nodes;
}

std::vector<NodeId> ReductionSpace::Needed() const {
  std::vector<NodeId> nodes = Inputs();
  const std::vector<NodeId> more = Epilogues();
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

std::vector<IndexExpr> ReductionSpace::Offsets() const {
  std::vector<IndexExpr> offsets;
  for (const Output& output : outputs) offsets.push_back(output.offset);
  for (const Output& store : stores) offsets.push_back(store.offset);
  return offsets;
}

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
  return Merged<ReductionSpace>(MajorToMinor(shape).size(), [&](const std::vector<int>& groups) {
    return SpaceOver(body, heroes, groups, why_not);
  });
}

}  // namespace hlo::gpu
