// algsimp: the algebra of single instructions and small trees of them. Every rule here is exact: for floats it keeps
// NaN, infinities and the sign of zero, so that a difference after this pass is always a fault.
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {
namespace m = match;

// ---- Planted faults (PassContext::fault); wrong on purpose --------------------------------------------------------

// x * 0 => 0, which loses NaN and infinity.
Result<Instruction*> FaultMultiplyByZero(Instruction& inst, const PassContext&) {
  Instruction* zero;
  if (!m::Multiply(m::Any(), m::AnyConstant(&zero))(&inst) || !zero->IsConstantOf(0)) return nullptr;
  return zero->shape() == inst.shape() ? zero : nullptr;
}

// x + 0 => x, which loses that -0 + 0 is +0.
Result<Instruction*> FaultDropAddZeroSign(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Add(m::Any(&x), m::ConstantOf(0))(&inst)) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

// transpose(transpose(x)) composed the wrong way round.
Result<Instruction*> FaultSwappedPermutation(Instruction& inst, const PassContext&) {
  Instruction *inner, *x;
  if (!m::Transpose(m::Transpose(&inner, m::Any(&x)))(&inst)) return nullptr;
  std::vector<int64_t> composed;
  for (const int64_t d : inner->dimensions()) composed.push_back(inst.dimensions()[d]);
  for (size_t i = 0; i < composed.size(); ++i) {
    if (x->shape().dim(composed[i]) != inst.shape().dim(i)) return nullptr;  // It would not even have the shape.
  }
  return Replace(inst, Opcode::kTranspose, {x}, DimensionsAttrs{composed});
}

}  // namespace

Result<bool> SimplifyAlgebra(Module& module, const PassContext& context) {
  std::vector<Rule> rules;
  if (context.fault == "multiply_by_zero") rules.push_back(FaultMultiplyByZero);
  if (context.fault == "drop_add_zero_sign") rules.push_back(FaultDropAddZeroSign);
  if (context.fault == "swapped_permutation") rules.push_back(FaultSwappedPermutation);
  for (const auto family :
       {ArithmeticRules(), LogicRules(), ReshapeRules(), BroadcastRules(), MovementRules(), ReductionRules()}) {
    rules.insert(rules.end(), family.begin(), family.end());
  }
  return RewriteEach(module, context, rules);
}

}  // namespace hlo
