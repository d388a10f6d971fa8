// Factor rules of collectives, and of ops that have a state or call computations.
#include "base/text.h"
#include "ir/factors/rule_builder.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"

namespace hlo {
namespace {

// The dimension along which a collective cuts or joins arrays, or -1.
int64_t DimensionAlong(const Instruction& inst) {
  const CollectiveAttrs* a = inst.attributes().GetIf<CollectiveAttrs>();
  if (inst.Is(Opcode::kRaggedAllToAll)) return 0;
  return a != nullptr && a->dimension ? a->dimension->value : -1;
}

int64_t ExchangedArrays(const Instruction& inst) {
  const CollectiveAttrs* a = inst.attributes().GetIf<CollectiveAttrs>();
  if (inst.Is(Opcode::kRaggedAllToAll)) return 2;
  return inst.operand_count() - (a != nullptr && a->has_dynamic_root.value_or(false) ? 1 : 0);
}

// Whether elements of one operand go to another one's result. Then all arrays have the same dimensions.
bool ExchangesAmongOperands(const Instruction& inst) {
  return inst.Is(Opcode::kRaggedAllToAll) || (inst.Is(Opcode::kAllToAll) && DimensionAlong(inst) < 0);
}

}  // namespace

// Dimensions along which no array is cut or joined are free. All devices of a group must cut them alike.
FactorRule FactorsOfCollective(const Instruction& inst) {
  RuleBuilder rule(inst);
  const int64_t arrays = ExchangedArrays(inst), results = inst.shape().LeafCount(), along = DimensionAlong(inst);
  const bool one_group = ExchangesAmongOperands(inst);
  const PermuteAttrs* permute = inst.attributes().GetIf<PermuteAttrs>();
  if ((!one_group && arrays != results) || (permute != nullptr && permute->slice_sizes))
    return rule.Finish("operands are updated in place");
  for (int64_t i = 0; i < (one_group ? 1 : arrays); ++i) {
    for (int64_t dim = 0; dim < inst.operand(i).shape().rank(); ++dim) {
      if (dim == along) continue;
      std::vector<Spot> spots = {InResult(dim, i), InOperand(i, dim)};
      for (int64_t other = 1; one_group && other < arrays; ++other) spots.push_back(InOperand(other, dim));
      for (int64_t other = 1; one_group && other < results; ++other) spots.push_back(InResult(dim, other));
      rule.AddFree(inst.operand(i).shape().dim(dim), spots);
    }
  }
  return rule.Finish();
}

FactorRule FactorsOfStarted(const Instruction& inst) {
  return RuleBuilder(inst).Finish("asynchronous ops become synchronous before partitioning");
}

FactorRule FactorsOfCalls(const Instruction&) { return {.edges = true}; }

FactorRule FactorsOfBitcast(const Instruction& inst) {
  return RuleBuilder(inst).Finish("the meaning of a bitcast depends on layouts");
}

namespace {

// Adds a leading dimension that all arrays of a call have.
void AddBatch(RuleBuilder& rule, const Instruction& inst, int64_t dim) {
  std::vector<Spot> spots;
  std::vector<int64_t> sizes;
  const auto add = [&](const Shape& shape, Spot spot) {
    if (shape.rank() <= dim) return;
    spots.push_back(spot);
    sizes.push_back(shape.dim(dim));
  };
  const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
  for (int64_t leaf = 0; leaf < std::ssize(leaves); ++leaf) add(*leaves[leaf], InResult(dim, leaf));
  for (int64_t i = 0; i < inst.operand_count(); ++i) add(inst.operand(i).shape(), InOperand(i, dim));
  const bool has_all = std::ssize(sizes) == std::ssize(leaves) + inst.operand_count();
  if (has_all && std::ranges::count(sizes, sizes[0]) == std::ssize(sizes)) rule.AddFree(sizes[0], spots);
}

}  // namespace

// JAX states the leading batch dimensions of its calls.
FactorRule FactorsOfCustomCall(const Instruction& inst) {
  // A statement of a sharding, whose value is its operand.
  if (MarkerOf(inst) == Marker::kValue && inst.operand_count() == 1 && IsIdentityMarker(inst))
    return FactorsOfElementwise(inst);
  RuleBuilder rule(inst);
  int64_t batch_dims = 0;
  if (const auto text = FrontendAttribute(inst, "num_batch_dims")) ParseInt(*text, &batch_dims);
  for (int64_t dim = 0; dim < batch_dims; ++dim) AddBatch(rule, inst, dim);
  return rule.Finish(Str("the target '", inst.attrs<CustomCallAttrs>().target, "' has no factor rule"));
}

FactorRule FactorsOfDynamicReshape(const Instruction& inst) {
  return RuleBuilder(inst).Finish("sizes are known at run time only");
}

FactorRule FactorsOfRng(const Instruction& inst) { return RuleBuilder(inst).Finish("one state generates all numbers"); }

FactorRule FactorsOfTransfer(const Instruction& inst) {
  return RuleBuilder(inst).Finish("the queue or channel belongs to one device");
}

}  // namespace hlo
