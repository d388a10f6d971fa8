// Factor rules of ops whose result has the dimensions of whole operands.
#include "base/text.h"
#include "ir/factors/rule_builder.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Each dimension of the result is a factor of all operands of its rank. Other operands are scalars.
FactorRule ByElement(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& shape = inst.shape();
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    std::vector<Spot> spots = {InResult(dim)};
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      if (inst.operand(i).shape().rank() == shape.rank()) spots.push_back(InOperand(i, dim));
    }
    rule.AddFree(shape.dim(dim), spots);
  }
  return rule.Finish();
}

// The operand's leaves from `first` on are the result's leaves from `result_first` on.
void AddSameLeaves(RuleBuilder& rule, const Instruction& inst, int64_t operand, int64_t first, int64_t result_first) {
  const std::vector<const Shape*> results = LeavesOf(inst.shape());
  const std::vector<const Shape*> leaves = LeavesOf(inst.operand(operand).shape());
  const int64_t count = std::min(std::ssize(leaves) - first, std::ssize(results) - result_first);
  for (int64_t i = 0; i < count; ++i) {
    const Shape& leaf = *results[result_first + i];
    for (int64_t dim = 0; dim < leaf.rank(); ++dim)
      rule.AddFree(leaf.dim(dim), {InResult(dim, result_first + i), {operand, dim, first + i}});
  }
}

void AddUnreadLeaves(RuleBuilder& rule, const Shape& tuple, int64_t first_read, int64_t count) {
  const std::vector<const Shape*> leaves = LeavesOf(tuple);
  for (int64_t i = 0; i < std::ssize(leaves); ++i) {
    if (i >= first_read && i < first_read + count) continue;
    for (int64_t dim = 0; dim < leaves[i]->rank(); ++dim) rule.AddFree(leaves[i]->dim(dim), {{0, dim, i}});
  }
}

bool IsPerElement(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    if (inst->Is(kCollective) || inst->Is(kSideEffect)) return false;
  }
  return std::ranges::all_of(computation.Callees(), [](const Computation* callee) { return IsPerElement(*callee); });
}

}  // namespace

FactorRule FactorsOfElementwise(const Instruction& inst) {
  return inst.shape().IsTuple() ? FactorsOfIdentity(inst) : ByElement(inst);
}

FactorRule FactorsOfMap(const Instruction& inst) {
  if (IsPerElement(*inst.attrs<MapAttrs>().to_apply)) return ByElement(inst);
  return RuleBuilder(inst).Finish("the mapped computation has side effects or exchanges values");
}

FactorRule FactorsOfIdentity(const Instruction& inst) {
  RuleBuilder rule(inst);
  if (inst.Is(Opcode::kTuple)) {
    for (int64_t i = 0; i < inst.operand_count(); ++i) AddSameLeaves(rule, inst, i, 0, inst.shape().FirstLeaf(i));
  } else if (inst.Is(Opcode::kGetTupleElement)) {
    const int64_t first = inst.operand(0).shape().FirstLeaf(inst.tuple_index());
    AddSameLeaves(rule, inst, 0, first, 0);
    AddUnreadLeaves(rule, inst.operand(0).shape(), first, inst.shape().LeafCount());
  } else if (!inst.shape().IsToken()) {
    AddSameLeaves(rule, inst, 0, 0, 0);
  }
  return rule.Finish();
}

FactorRule FactorsOfResult(const Instruction& inst) {
  RuleBuilder rule(inst);
  const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
  if (inst.Is(kHoldsLiteral) && inst.shape().IsTuple()) return rule.Finish("a constant of several arrays is not cut");
  for (int64_t leaf = 0; leaf < std::ssize(leaves); ++leaf) {
    for (int64_t dim = 0; dim < leaves[leaf]->rank(); ++dim)
      rule.AddFree(leaves[leaf]->dim(dim), {InResult(dim, leaf)});
  }
  return rule.Finish();
}

// Training and gradients sum over all dimensions but the features.
FactorRule FactorsOfBatchNorm(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& array = inst.operand(0).shape();
  const int64_t feature = inst.attrs<BatchNormAttrs>().feature_index;
  const bool sums = !inst.Is(Opcode::kBatchNormInference);
  const std::vector<const Shape*> results = LeavesOf(inst.shape());
  for (int64_t dim = 0; dim < array.rank(); ++dim) {
    if (sums && dim != feature) continue;
    std::vector<Spot> spots;
    const auto add = [&](const Shape& shape, Spot spot) {
      const bool is_vector = shape.rank() == 1 && array.rank() > 1;
      if (is_vector && dim != feature) return;
      spot.dim = is_vector ? 0 : dim;
      spots.push_back(spot);
    };
    for (int64_t leaf = 0; leaf < std::ssize(results); ++leaf) add(*results[leaf], InResult(dim, leaf));
    for (int64_t i = 0; i < inst.operand_count(); ++i) add(inst.operand(i).shape(), InOperand(i, dim));
    rule.AddFree(array.dim(dim), spots);
  }
  return rule.Finish(sums ? "batchnorm_expander turns the sums of a batch norm into reduces" : "");
}

// If widths differ, the narrower type's last dimension is part of an element of the wider type.
FactorRule FactorsOfBitcastConvert(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& operand = inst.operand(0).shape();
  const int64_t rank = std::min(operand.rank(), inst.shape().rank());
  for (int64_t dim = 0; dim < rank; ++dim) {
    rule.AddFree(operand.dim(dim), {InResult(dim), InOperand(0, dim)});
  }
  return rule.Finish();
}

// get-dimension-size and set-dimension-size count the elements of the whole dimension.
FactorRule FactorsOfDimensionSize(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& operand = inst.operand(0).shape();
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    if (dim == inst.attrs<OneDimensionAttrs>().dimension.value) continue;
    std::vector<Spot> spots = {InOperand(0, dim)};
    if (inst.shape().rank() > 0) spots.push_back(InResult(dim));
    rule.AddFree(operand.dim(dim), spots);
  }
  return rule.Finish();
}

FactorRule FactorsOfProcessId(const Instruction& inst) {
  const bool replica = inst.Is(Opcode::kReplicaId);
  return RuleBuilder(inst).Finish(replica ? "" : "partitions have no numbers before partitioning");
}

}  // namespace hlo
