#include "gpu/plan/scan_space.h"

#include <algorithm>

#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

Result<ScanSpace::Hero> PlanHero(ScanSpace& space, const Instruction& scan, const std::vector<IndexExpr>& index) {
  TRY(CheckOneFloatType(scan));
  TRY(CheckScalarComputation(*scan.attrs<ReduceWindowAttrs>().to_apply));
  ScanSpace::Hero hero{.inst = &scan};
  const int64_t arrays = scan.operand_count() / 2;
  for (int64_t i = 0; i < arrays; ++i) {
    hero.inputs.push_back(TRY(space.graph.Plan(scan.operand(i), index)));
    hero.initial.push_back(TRY(space.graph.Plan(scan.operand(arrays + i), {})));
    hero.types.push_back(TRY(KernelType(scan, scan.operand(arrays + i).shape().type())));
    hero.accumulators.push_back(AccumulatorType(scan, hero.types.back()));
  }
  return hero;
}

// The reason if a result of the scans is used at another index than its own.
std::string_view RecordHeroUses(ScanSpace& space, const std::vector<IndexExpr>& index) {
  const auto is_given = [&](NodeId id) { return space.graph.node(id).kind == ElementNode::Kind::kGiven; };
  std::vector<NodeId> steps = space.Inputs();
  const std::vector<NodeId> before = space.Initial();
  steps.insert(steps.end(), before.begin(), before.end());
  for (const NodeId id : space.graph.Reachable(steps)) {
    if (is_given(id)) return "a scan depends on the result of another one";
  }
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    if (!is_given(id)) continue;
    const ElementNode& node = space.graph.node(id);
    if (node.index != index) return "the result of a scan is read at another index than that of the computed element";
    for (auto& hero : space.heroes) {
      if (hero.inst == node.inst) hero.given.push_back(id);
    }
  }
  return "";
}

Result<std::unique_ptr<ScanSpace>> SpaceOver(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                             const std::vector<int>& groups, std::string* why_not) {
  auto space = std::make_unique<ScanSpace>(body);
  space->fold = *RunningFoldOf(*heroes[0]);
  const Shape& shape = heroes[0]->operand(0).shape();
  const int64_t along = space->fold.dimension;
  std::vector<IndexExpr> index =
      AddVariables(*space, shape, groups, [&](int64_t d) { return d == along ? Role::kScanned : Role::kKept; });
  IndexPool& pool = space->pool;
  if (space->fold.reverse) index[along] = pool.Add(pool.Multiply(index[along], -1), shape.dim(along) - 1);
  for (const Instruction* inst : heroes) space->heroes.push_back(TRY(PlanHero(*space, *inst, index)));
  for (const Instruction* inst : heroes) space->graph.SetGiven(*inst);
  for (const FusionBody::Root& root : body.roots()) {
    TRY(KernelType(*root.inst, root.shape->type()));
    if (root.shape->NumElements() != shape.NumElements()) {
      *why_not = "a result has another number of elements than the scan";
      return nullptr;
    }
    space->outputs.push_back(TRY(OutputAt(*space, root, index, shape.dims())));
  }
  *why_not = RecordHeroUses(*space, index);
  return why_not->empty() ? std::move(space) : nullptr;
}

}  // namespace

const IterationSpace::Variable& ScanSpace::scanned() const {
  return *std::ranges::find(variables, Role::kScanned, &Variable::role);
}

std::vector<NodeId> ScanSpace::Inputs() const {
  std::vector<NodeId> nodes;
  for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.inputs.begin(), hero.inputs.end());
  return nodes;
}

std::vector<NodeId> ScanSpace::Initial() const {
  std::vector<NodeId> nodes;
  for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.initial.begin(), hero.initial.end());
  return nodes;
}

std::vector<NodeId> ScanSpace::Needed() const {
  std::vector<NodeId> nodes = Inputs();
  for (const std::vector<NodeId>& more : {Initial(), Values()}) nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

std::vector<IndexExpr> ScanSpace::Offsets() const {
  std::vector<IndexExpr> offsets;
  for (const Output& output : outputs) offsets.push_back(output.offset);
  return offsets;
}

Result<std::unique_ptr<ScanSpace>> ScanSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not) {
  const Shape& shape = heroes[0]->operand(0).shape();
  for (const Instruction* hero : heroes) {
    if (SameDims(hero->operand(0).shape(), shape) && RunningFoldOf(*hero) == RunningFoldOf(*heroes[0])) continue;
    *why_not = "its scans have different dimensions or directions";
    return nullptr;
  }
  return Merged<ScanSpace>(MajorToMinor(shape).size(),
                           [&](const std::vector<int>& groups) { return SpaceOver(body, heroes, groups, why_not); });
}

}  // namespace hlo::gpu
