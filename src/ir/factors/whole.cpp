// Factor rules of ops that exchange values, have a state or call computations.
#include "base/text.h"
#include "ir/factors/rule_builder.h"

namespace hlo {

// Free are the dimensions along which no operand is cut or joined. Devices must agree on the split of these dimensions.
FactorRule FactorsOfCollective(const Instruction& inst) {
  RuleBuilder rule(inst);
  const std::vector<const Shape*> results = LeavesOf(inst.shape());
  const CollectiveAttrs* a = inst.attributes().GetIf<CollectiveAttrs>();
  const bool ragged = inst.Is(Opcode::kRaggedAllToAll);
  const int64_t along = ragged ? 0 : a != nullptr && a->dimension ? a->dimension->value : -1;
  const bool has_root = a != nullptr && a->has_dynamic_root.value_or(false);
  const int64_t arrays = ragged ? 2 : inst.operand_count() - (has_root ? 1 : 0);
  const auto result_of = [&](int64_t operand) { return ragged ? 0 : operand; };
  if (!ragged && arrays != std::ssize(results)) return rule.Finish("operands that are updated in place");
  if (inst.Is(Opcode::kCollectivePermute) && inst.attrs<PermuteAttrs>().slice_sizes)
    return rule.Finish("operands that are updated in place");
  for (int64_t i = 0; i < arrays; ++i) {
    for (int64_t dim = 0; dim < results[result_of(i)]->rank(); ++dim) {
      if (dim == along || (ragged && i > 0)) continue;
      std::vector<Spot> spots = {InResult(dim, result_of(i)), InOperand(i, dim)};
      if (ragged) spots.push_back(InOperand(1, dim));
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
  return RuleBuilder(inst).Finish("its meaning depends on layouts");
}

FactorRule FactorsOfCustomCall(const Instruction& inst) {
  return RuleBuilder(inst).Finish(Str("no rule for the target '", inst.attrs<CustomCallAttrs>().target, "'"));
}

FactorRule FactorsOfDynamicReshape(const Instruction& inst) {
  return RuleBuilder(inst).Finish("sizes that are operands");
}

FactorRule FactorsOfRng(const Instruction& inst) { return RuleBuilder(inst).Finish("one state for all numbers"); }

FactorRule FactorsOfTransfer(const Instruction& inst) {
  return RuleBuilder(inst).Finish("a queue or channel of one device");
}

}  // namespace hlo
