#include "gpu/plan/rows_space.h"

#include <algorithm>
#include <set>

#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;

constexpr int64_t kFewTerms = 16;

bool IsReduced(const Instruction& reduce, int64_t d) {
  const std::vector<int64_t>& reduced = reduce.attrs<ReduceAttrs>().dimensions;
  return std::ranges::find(reduced, d) != reduced.end();
}

int64_t TermsOf(const Instruction& reduce) {
  int64_t terms = 1;
  for (const int64_t d : reduce.attrs<ReduceAttrs>().dimensions) terms *= reduce.operand(0).shape().dim(d);
  return terms;
}

int64_t FoldedTerms(const ElementNode& fold) {
  return fold.loop_sizes.empty() ? std::ssize(fold.steps) : Product(fold.loop_sizes);
}

// A separate kernel is faster for other long folds, such as a running sum.
bool HasNoOtherLongFold(const RowsSpace& space) {
  return std::ranges::none_of(space.graph.Reachable(space.Needed()), [&](NodeId id) {
    const ElementNode& node = space.graph.node(id);
    return node.kind == Kind::kReduce &&
           (node.inst->Is(Opcode::kDot) || node.inst->Is(Opcode::kConvolution) || FoldedTerms(node) > kFewTerms);
  });
}

}  // namespace

RowsSpaceBuilder::RowsSpaceBuilder(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                   std::string* why_not)
    : body_(body), heroes_(heroes), shape_(heroes[0]->operand(0).shape()), why_not_(*why_not) {
  for (const int64_t d : MajorToMinor(shape_)) kept_dims_ += !IsReduced(*heroes[0], d);
}

Result<std::unique_ptr<RowsSpace>> RowsSpaceBuilder::Run() {
  if (!ReducesMinor()) {
    No("it does not reduce the minor dimensions");
    return nullptr;
  }
  std::vector<int> groups(kept_dims_, 1);
  auto space = TRY(SpaceOver(groups));
  if (space == nullptr) return space;
  const std::vector<NodeId> nodes = space->Needed();
  const std::vector<IndexExpr> offsets = space->Offsets();
  groups.clear();
  for (int i = 0; i < kept_dims_; ++i) {
    if (i > 0 && MayMerge(*space, i, nodes, offsets)) ++groups.back();
    else groups.push_back(1);
  }
  return std::ssize(groups) == kept_dims_ ? std::move(space) : SpaceOver(groups);
}

bool RowsSpaceBuilder::ReducesMinor() const {
  const std::vector<int64_t> order = MajorToMinor(shape_);
  return kept_dims_ < std::ssize(order) &&
         std::all_of(order.begin() + kept_dims_, order.end(), [&](int64_t d) { return IsReduced(*heroes_[0], d); });
}

Result<std::unique_ptr<RowsSpace>> RowsSpaceBuilder::SpaceOver(std::vector<int> groups) {
  std::unique_ptr<RowsSpace> space = NewSpace();
  groups.push_back(static_cast<int>(MajorToMinor(shape_).size()) - kept_dims_);
  const std::vector<IndexExpr> index = AddVariables(
      *space, shape_, groups, [&](int64_t d) { return IsReduced(*heroes_[0], d) ? Role::kRow : Role::kKept; });
  for (const Instruction* inst : heroes_) space->graph.SetGiven(*inst);
  pass_of_.clear();
  for (const Instruction* inst : heroes_) {
    if (!TRY(AddHero(*space, *inst, index))) return nullptr;
  }
  if (!TRY(AddRoots(*space, index))) return nullptr;
  for (auto& hero : space->heroes) {
    for (const NodeId id : space->graph.Reachable(space->Needed())) {
      const ElementNode& node = space->graph.node(id);
      if (node.kind != Kind::kGiven || node.inst != hero.inst) continue;
      if (node.index != hero.kept) {
        No("the result of a reduction is read at another index than that of the computed element");
        return nullptr;
      }
      hero.given.push_back(id);
    }
  }
  if (HasNoOtherLongFold(*space)) return space;
  No("besides its reductions of rows, it has a product or another long sum");
  return nullptr;
}

std::vector<IndexExpr> RowsSpaceBuilder::IndexOf(RowsSpace& space, const Shape& shape,
                                                 const std::vector<IndexExpr>& index) const {
  if (shape.dims() == shape_.dims()) return index;
  return space.pool.Delinearize(space.pool.Linearize(index, shape_.dims()), shape.dims());
}

Result<bool> RowsSpaceBuilder::AddHero(RowsSpace& space, const Instruction& reduce,
                                       const std::vector<IndexExpr>& index) {
  TRY(CheckScalarComputation(*reduce.attrs<ReduceAttrs>().to_apply));
  const Shape& shape = reduce.operand(0).shape();
  if (shape.NumElements() != shape_.NumElements() || TermsOf(reduce) != space.minor().size)
    return No("its reductions are over rows of different lengths");
  const std::vector<IndexExpr> at = IndexOf(space, shape, index);
  RowsSpace::Hero hero;
  hero.inst = &reduce;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (IsReduced(reduce, d)) continue;
    hero.kept.push_back(at[d]);
    if (space.pool.DependsOn(at[d], space.minor().e)) return No("its reductions are over different dimensions");
  }
  const int64_t arrays = reduce.operand_count() / 2;
  for (int64_t i = 0; i < arrays; ++i) {
    hero.inputs.push_back(TRY(space.graph.Plan(reduce.operand(i), at)));
    hero.initial.push_back(TRY(space.graph.Plan(reduce.operand(arrays + i), {})));
    hero.types.push_back(TRY(KernelType(reduce, reduce.operand(arrays + i).shape().type())));
    hero.accumulators.push_back(AccumulatorType(reduce, hero.types.back()));
    hero.pass = std::max(hero.pass, PassOf(space, hero.inputs.back()));
    if (space.graph.node(hero.initial.back()).needs_given)
      return No("the initial value of a reduction depends on another reduction");
  }
  space.passes = std::max(space.passes, hero.pass + 1);
  pass_of_hero_[&reduce] = hero.pass;
  space.heroes.push_back(std::move(hero));
  return true;
}

Result<bool> RowsSpaceBuilder::AddRoots(RowsSpace& space, const std::vector<IndexExpr>& index) {
  for (const FusionBody::Root& root : body_.roots()) {
    if (!TRY(AddRoot(space, root, index))) return false;
  }
  return true;
}

Result<bool> RowsSpaceBuilder::AddRoot(RowsSpace& space, const FusionBody::Root& root,
                                       const std::vector<IndexExpr>& index) {
  TRY(KernelType(*root.inst, root.shape->type()));
  const int64_t rows = space.Size(Role::kKept);
  if (root.shape->NumElements() == shape_.NumElements()) {
    RowsSpace::Store store{TRY(OutputAt(space, root, index, shape_.dims())), 0};
    store.pass = PassOf(space, store.value);
    space.passes = std::max(space.passes, store.pass + 1);
    space.elements.push_back(store);
    return true;
  }
  if (root.shape->NumElements() != rows)
    return No("a result has neither the size of the rows nor one element for each row");
  const RowsSpace::Hero& first = space.heroes[0];
  const Shape& shape = first.inst->shape();
  RowsSpace::Store store{
      TRY(OutputAt(space, root, first.kept, shape.IsTuple() ? shape.element(0).dims() : shape.dims())), 0};
  store.pass = PassOf(space, store.value);
  space.whole.push_back(store);
  return true;
}

int RowsSpaceBuilder::PassOf(const RowsSpace& space, NodeId id) {
  const NodeId roots[] = {id};
  for (const NodeId each : space.graph.Reachable(roots)) {
    if (pass_of_.contains(each)) continue;
    const ElementNode& node = space.graph.node(each);
    const auto hero = node.kind == Kind::kGiven ? pass_of_hero_.find(node.inst) : pass_of_hero_.end();
    int pass = hero != pass_of_hero_.end() ? hero->second + 1 : 0;
    for (const NodeId need : space.graph.Needs(each)) pass = std::max(pass, pass_of_.at(need));
    pass_of_[each] = pass;
  }
  return pass_of_.at(id);
}

std::vector<NodeId> RowsSpace::InPass(int pass) const {
  std::vector<NodeId> nodes;
  for (const Hero& hero : heroes) {
    if (hero.pass == pass) nodes.insert(nodes.end(), hero.inputs.begin(), hero.inputs.end());
  }
  for (const Store& store : elements) {
    if (store.pass == pass) nodes.push_back(store.value);
  }
  return nodes;
}

std::vector<NodeId> RowsSpace::Needed() const {
  std::vector<NodeId> nodes;
  for (const Hero& hero : heroes) {
    nodes.insert(nodes.end(), hero.inputs.begin(), hero.inputs.end());
    nodes.insert(nodes.end(), hero.initial.begin(), hero.initial.end());
  }
  for (const auto* stores : {&elements, &whole}) {
    for (const Store& store : *stores) nodes.push_back(store.value);
  }
  return nodes;
}

std::vector<IndexExpr> RowsSpace::Offsets() const {
  std::vector<IndexExpr> offsets;
  for (const auto* stores : {&elements, &whole}) {
    for (const Store& store : *stores) offsets.push_back(store.offset);
  }
  return offsets;
}

bool RowsSpace::VariesInRow(NodeId id) const {
  return std::ranges::binary_search(graph.node(id).variables, pool[minor().e].variable);
}

std::vector<RowsSpace::Kept> RowsSpace::KeptOf(const std::vector<std::string>& names) const {
  std::vector<Kept> kept;
  for (int pass = 0; pass < passes; ++pass) {
    for (const NodeId id : graph.Reachable(InPass(pass))) {
      const ElementNode& node = graph.node(id);
      if (node.kind == Kind::kGiven || !node.inst->shape().IsArray() || !VariesInRow(id)) continue;
      if (std::ranges::find(names, node.inst->name()) == names.end()) continue;
      const auto known = std::ranges::find(kept, id, &Kept::node);
      if (known != kept.end()) known->last = pass;
      else kept.push_back({id, KernelTypeOf(node.inst->shape().type()), pass, pass});
    }
  }
  std::erase_if(kept, [](const Kept& each) { return each.first == each.last; });
  return kept;
}

std::vector<const Instruction*> StitchedReduces(const FusionBody& body) {
  std::vector<const Instruction*> heroes;
  std::set<const Instruction*> made;
  bool stitched = false;
  for (const Instruction* inst : body.instructions()) {
    const bool reads =
        std::ranges::any_of(inst->operands(), [&](const Instruction* each) { return made.contains(each); });
    const bool is_hero = inst->Is(Opcode::kReduce) && TermsOf(*inst) > kFewTerms;
    stitched |=
        reads && inst->Is(Opcode::kBroadcast) && inst->shape().NumElements() > inst->operand(0).shape().NumElements();
    if (is_hero) heroes.push_back(inst);
    if (is_hero || reads) made.insert(inst);
  }
  return stitched ? heroes : std::vector<const Instruction*>();
}

Result<std::unique_ptr<RowsSpace>> RowsSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not) {
  return RowsSpaceBuilder(body, heroes, why_not).Run();
}

}  // namespace hlo::gpu
