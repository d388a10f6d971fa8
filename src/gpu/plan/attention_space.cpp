#include "gpu/plan/attention_space.h"

#include <algorithm>
#include <bit>
#include <set>

#include "base/text.h"
#include "gpu/plan/contraction_space.h"
#include "gpu/plan/scalar.h"
#include "ir/dimensions.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;
using Index = std::vector<IndexExpr>;

// A dot's operand, with its dimensions by role. `before` counts result dimensions before the operand's free ones.
struct Side {
  const Instruction& operand;
  const std::vector<int64_t>&batch, &contracting;
  std::vector<int64_t> free;
  int64_t before;

  std::vector<int64_t> SizesOf(const std::vector<int64_t>& dims) const {
    std::vector<int64_t> sizes;
    for (const int64_t d : dims) sizes.push_back(operand.shape().dim(d));
    return sizes;
  }
};

Side SideOf(const Instruction& dot, int64_t number) {
  const auto& attrs = dot.attrs<DotAttrs>();
  Side side = {dot.operand(number),
               number == 0 ? attrs.lhs_batch : attrs.rhs_batch,
               number == 0 ? attrs.lhs_contracting : attrs.rhs_contracting,
               {},
               0};
  side.free = FreeDimensions(side.operand.shape().rank(), side.batch, side.contracting);
  side.before = std::ssize(side.batch);
  if (number == 1) side.before = dot.shape().rank() - std::ssize(side.free);
  return side;
}

std::vector<const Instruction*> WithDependents(const FusionBody& body, const Instruction& from) {
  std::set<const Instruction*> made = {&from};
  std::vector<const Instruction*> order = {&from};
  for (const Instruction* inst : body.instructions()) {
    if (std::ranges::none_of(inst->operands(), [&](const Instruction* each) { return made.contains(each); })) continue;
    if (made.insert(inst).second) order.push_back(inst);
  }
  return order;
}

class Builder : public RowsSpaceBuilder {
 public:
  Builder(const FusionBody& body, const std::vector<const Instruction*>& heroes,
          const std::vector<const Instruction*>& dots, std::string* why_not)
      : RowsSpaceBuilder(body, heroes, why_not), scores_(*dots[0]), product_(*dots[1]) {
    for (const Instruction* inst : WithDependents(body, scores_)) of_scores_.insert(inst);
    for (const Instruction* inst : WithDependents(body, product_)) of_product_.insert(inst);
  }

 private:
  std::unique_ptr<RowsSpace> NewSpace() const override {
    auto space = std::make_unique<AttentionSpace>(body_);
    space->scores = &scores_;
    space->product = &product_;
    for (const Instruction* dot : {&scores_, &product_}) space->graph.SetGiven(*dot);
    return space;
  }

  Result<bool> AddRoots(RowsSpace& rows, const Index& index) override {
    auto& space = static_cast<AttentionSpace&>(rows);
    if (!TRY(AddProduct(space, index))) return false;
    for (const FusionBody::Root& root : body_.roots()) {
      if (!of_product_.contains(root.inst) && !TRY(AddRoot(space, root, index))) return false;
    }
    if (!TRY(AddScores(space))) return false;
    return Divide(space);
  }

  // False unless the second product's terms are the elements of a row, and results have its size.
  Result<bool> AddProduct(AttentionSpace& space, const Index& index) {
    const int64_t number = of_scores_.contains(&product_.operand(0)) ? 0 : 1;
    if (of_scores_.contains(&product_.operand(1 - number)))
      return No("both operands of the second product depend on the first product");
    const Side shares = SideOf(product_, number), values = SideOf(product_, 1 - number);
    if (shares.operand.shape().NumElements() != shape_.NumElements())
      return No("the second product does not read the elements of the rows");
    space.share_operand = number;
    const Index at = IndexOf(space, shares.operand.shape(), index);
    const IndexExpr row = space.minor().e;
    for (int64_t d = 0; d < std::ssize(at); ++d) {
      const bool is_term = std::ranges::count(shares.contracting, d) > 0;
      const bool is_row = space.pool.DependsOn(at[d], row);
      const bool is_kept = std::ranges::any_of(space.variables, [&](const auto& variable) {
        return variable.e != row && space.pool.DependsOn(at[d], variable.e);
      });
      if (is_term ? is_kept : is_row) return No("the terms of the second product are not the elements of a row");
    }
    const std::vector<int64_t> free = values.SizesOf(values.free);
    space.column = {space.pool.Variable(0, Product(free) - 1), Product(free), Role::kKept};
    Index of_value(values.operand.shape().rank()), of_result(product_.shape().rank());
    for (size_t i = 0; i < shares.batch.size(); ++i) of_value[values.batch[i]] = of_result[i] = at[shares.batch[i]];
    for (size_t i = 0; i < shares.contracting.size(); ++i) of_value[values.contracting[i]] = at[shares.contracting[i]];
    for (size_t i = 0; i < shares.free.size(); ++i) of_result[shares.before + i] = at[shares.free[i]];
    const Index columns = space.pool.Delinearize(space.column.e, free);
    for (size_t i = 0; i < values.free.size(); ++i)
      of_value[values.free[i]] = of_result[values.before + i] = columns[i];
    space.share = TRY(space.graph.Plan(shares.operand, at));
    space.share_pass = PassOf(space, space.share);
    space.passes = std::max(space.passes, space.share_pass + 1);
    space.value = TRY(space.graph.Plan(values.operand, of_value));
    for (const FusionBody::Root& root : body_.roots()) {
      if (!of_product_.contains(root.inst)) continue;
      TRY(KernelType(*root.inst, root.shape->type()));
      if (root.shape->NumElements() != product_.shape().NumElements())
        return No("a result has another number of elements than the second product");
      space.results.push_back(TRY(OutputAt(space, root, of_result, product_.shape().dims())));
    }
    return TakeGiven(space, product_, space.ResultValues(), of_result, &space.product_given);
  }

  // False if a use of `dot` is not at `index`, or if `nodes` need another given value.
  bool TakeGiven(const AttentionSpace& space, const Instruction& dot, const std::vector<NodeId>& nodes,
                 const Index& index, std::vector<NodeId>* given) {
    for (const NodeId id : space.graph.Reachable(nodes)) {
      const ElementNode& node = space.graph.node(id);
      if (node.kind != Kind::kGiven) continue;
      if (node.inst != &dot) return No("values after the second product also need results of the rows");
      if (node.index != index)
        return No("the second product is read at another index than that of the computed element");
      given->push_back(id);
    }
    return true;
  }

  // False unless the rows use the first product at one index, and only one of its operands varies along a row.
  Result<bool> AddScores(AttentionSpace& space) {
    const Index* index = nullptr;
    for (const NodeId id : space.graph.Reachable(space.Needed())) {
      const ElementNode& node = space.graph.node(id);
      if (node.kind != Kind::kGiven || node.inst != &scores_) continue;
      if (index != nullptr && node.index != *index) return No("the first product is used at several indices");
      index = &node.index;
      space.scores_given.push_back(id);
    }
    if (index == nullptr) return No("no row is computed from the first product");
    const Index at = *index;
    const Side sides[] = {SideOf(scores_, 0), SideOf(scores_, 1)};
    const std::vector<int64_t> terms = sides[0].SizesOf(sides[0].contracting);
    space.term = {space.pool.Variable(0, Product(terms) - 1), Product(terms), Role::kReduced};
    NodeId nodes[2];
    bool has_row[2];
    for (int i = 0; i < 2; ++i) {
      const Side& side = sides[i];
      Index of_side(side.operand.shape().rank());
      for (size_t d = 0; d < side.batch.size(); ++d) of_side[side.batch[d]] = at[d];
      for (size_t d = 0; d < side.free.size(); ++d) of_side[side.free[d]] = at[side.before + d];
      has_row[i] = std::ranges::any_of(
          of_side, [&](IndexExpr e) { return e.id >= 0 && space.pool.DependsOn(e, space.minor().e); });
      const Index of_term = space.pool.Delinearize(space.term.e, terms);
      for (size_t d = 0; d < side.contracting.size(); ++d) of_side[side.contracting[d]] = of_term[d];
      nodes[i] = TRY(space.graph.Plan(side.operand, of_side));
    }
    if (has_row[0] == has_row[1]) return No("both operands of the first product vary along a row, or neither does");
    space.query = nodes[has_row[0] ? 1 : 0];
    space.key = nodes[has_row[0] ? 0 : 1];
    for (const NodeId id : {space.query, space.key, space.value}) {
      if (space.graph.node(id).needs_given) return No("an operand of a product depends on the other product");
    }
    return true;
  }

  bool Divide(AttentionSpace& space) {
    for (size_t i = 0; i + 1 < space.variables.size(); ++i) {
      const RowsSpace::Variable& variable = space.variables[i];
      const auto varies = [&](NodeId id) {
        return std::ranges::binary_search(space.graph.node(id).variables, space.pool[variable.e].variable);
      };
      (varies(space.key) || varies(space.value) ? space.groups : space.lines).push_back(variable);
    }
    return space.line_count() > 1 || No("no two rows share their keys and values");
  }

  const Instruction &scores_, &product_;
  std::set<const Instruction*> of_scores_, of_product_;
};

int64_t SizeOf(const std::vector<RowsSpace::Variable>& variables) {
  int64_t size = 1;
  for (const auto& variable : variables) size *= variable.size;
  return size;
}

int64_t Padded(int64_t size) {
  return std::max<int64_t>(32, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size))));
}
int64_t RoundUp(int64_t size, int64_t to) { return (size + to - 1) / to * to; }

}  // namespace

int64_t AttentionSpace::group_count() const { return SizeOf(groups); }
int64_t AttentionSpace::line_count() const { return SizeOf(lines); }

std::vector<NodeId> AttentionSpace::ResultValues() const {
  std::vector<NodeId> values;
  for (const Output& output : results) values.push_back(output.value);
  return values;
}

std::vector<NodeId> AttentionSpace::InPass(int pass) const {
  std::vector<NodeId> nodes = RowsSpace::InPass(pass);
  if (pass == share_pass) nodes.push_back(share);
  return nodes;
}

std::vector<NodeId> AttentionSpace::Needed() const {
  std::vector<NodeId> nodes = RowsSpace::Needed();
  const std::vector<NodeId> values = ResultValues();
  nodes.insert(nodes.end(), values.begin(), values.end());
  for (const NodeId id : {query, key, share, value}) {
    if (id >= 0) nodes.push_back(id);
  }
  return nodes;
}

std::vector<IndexExpr> AttentionSpace::Offsets() const {
  std::vector<IndexExpr> offsets = RowsSpace::Offsets();
  for (const Output& output : results) offsets.push_back(output.offset);
  return offsets;
}

bool FitsMatrixUnits(const AttentionSpace& space) {
  return FitsMatrixUnits(*space.scores) && FitsMatrixUnits(*space.product) &&
         space.scores->operand(0).shape().type() == space.product->operand(0).shape().type();
}

AttentionTiles TilesOf(const AttentionSpace& space, const KernelPlan& plan) {
  constexpr int64_t kSpare = 8;  // See emitters/matrix_contraction.cpp.
  const bool by_units = plan.algorithm == kMatrixUnits;
  AttentionTiles tiles;
  tiles.by_matrix_units = by_units;
  tiles.operand = by_units ? KernelTypeOf(space.scores->operand(0).shape().type()) : kernel::Type::kF32;
  tiles.scores = KernelTypeOf(space.scores->shape().type());
  tiles.shares = tiles.operand;
  tiles.lines = plan.tile[0];
  tiles.keys = plan.tile[1];
  tiles.second_keys = by_units ? 64 : 32;
  tiles.terms = Padded(space.term.size);
  tiles.columns = Padded(space.column.size);
  if (by_units) tiles.columns = std::max(tiles.columns, plan.threads / 32 * 8);
  const int64_t spare = by_units ? kSpare : 0;
  tiles.pitch = RoundUp(space.minor().size, std::max(tiles.keys, tiles.second_keys)) + spare;
  tiles.term_pitch = tiles.terms + spare;
  tiles.column_pitch = tiles.columns + spare;
  tiles.panel = std::max(tiles.keys * tiles.term_pitch, tiles.second_keys * tiles.column_pitch);
  return tiles;
}

int64_t AttentionTiles::Bytes() const {
  const int64_t rows = lines * pitch;
  return (lines * term_pitch + panel) * kernel::Bytes(operand) + rows * kernel::Bytes(scores) +
         (rows_are_one() ? 0 : rows * kernel::Bytes(shares)) + lines * columns * kernel::Bytes(kernel::Type::kF32);
}

std::vector<const Instruction*> AttentionDots(const FusionBody& body) {
  std::vector<const Instruction*> dots;
  for (const Instruction* inst : body.instructions()) {
    if (inst->Is(Opcode::kConvolution)) return {};
    if (inst->Is(Opcode::kDot)) dots.push_back(inst);
  }
  if (dots.size() != 2 || dots[0]->operand_count() != 2 || dots[1]->operand_count() != 2) return {};
  const std::vector<const Instruction*> made = WithDependents(body, *dots[0]);
  const bool has_rows = std::ranges::any_of(made, [&](const Instruction* inst) { return inst->Is(Opcode::kReduce); });
  return has_rows && std::ranges::count(made, dots[1]) > 0 ? dots : std::vector<const Instruction*>();
}

Result<std::unique_ptr<AttentionSpace>> AttentionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& dots,
                                                         std::string* why_not) {
  const std::vector<const Instruction*> heroes = StitchedReduces(body);
  if (heroes.empty()) {
    *why_not = "it has no long reduction whose result is used along the reduced row";
    return nullptr;
  }
  std::unique_ptr<RowsSpace> space = TRY(Builder(body, heroes, dots, why_not).Run());
  return std::unique_ptr<AttentionSpace>(static_cast<AttentionSpace*>(space.release()));
}

}  // namespace hlo::gpu
