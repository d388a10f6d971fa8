// Factor rules of linear algebra and transforms: the batch is free.
#include "ir/factors/rule_builder.h"

namespace hlo {

// Columns of b, or its rows if a is on the right, are independent systems.
FactorRule FactorsOfMatrices(const Instruction& inst) {
  RuleBuilder rule(inst);
  const int64_t rank = inst.shape().rank();
  const auto add = [&](int64_t dim, int64_t first_operand) {
    std::vector<Spot> spots = {InResult(dim)};
    for (int64_t i = first_operand; i < inst.operand_count(); ++i) spots.push_back(InOperand(i, dim));
    rule.AddFree(inst.shape().dim(dim), spots);
  };
  for (int64_t dim = 0; dim < rank - 2; ++dim) add(dim, 0);
  if (inst.Is(Opcode::kTriangularSolve)) add(inst.attrs<TriangularSolveAttrs>().left_side ? rank - 1 : rank - 2, 1);
  return rule.Finish();
}

FactorRule FactorsOfFft(const Instruction& inst) {
  RuleBuilder rule(inst);
  const int64_t batch = inst.shape().rank() - std::ssize(inst.attrs<FftAttrs>().fft_length);
  for (int64_t dim = 0; dim < batch; ++dim) rule.AddFree(inst.shape().dim(dim), {InResult(dim), InOperand(0, dim)});
  return rule.Finish();
}

}  // namespace hlo
