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

// By the name that --inject=pass:algsimp:NAME has.
struct Fault {
  std::string_view name;
  Rule rule;
};
constexpr Fault kFaults[] = {
    {"multiply_by_zero",
     {"fault.multiply_by_zero", Opcode::kMultiply, FaultMultiplyByZero, Preserves::kExact, "x * 0 => 0"}},
    {"drop_add_zero_sign",
     {"fault.drop_add_zero_sign", Opcode::kAdd, FaultDropAddZeroSign, Preserves::kExact, "x + 0 => x"}},
    {"swapped_permutation",
     {"fault.swapped_permutation", Opcode::kTranspose, FaultSwappedPermutation, Preserves::kExact,
      "transpose(transpose(x)) => transpose(x), the wrong way round"}},
};

}  // namespace

std::span<const Rule> AlgebraRules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> rules;
    for (const auto family :
         {ArithmeticRules(), LogicRules(), ReshapeRules(), BroadcastRules(), MovementRules(), ReductionRules()})
      rules.insert(rules.end(), family.begin(), family.end());
    return rules;
  }();
  return kRules;
}

Result<bool> SimplifyAlgebra(Module& module, const PassContext& context) {
  std::vector<Rule> rules(AlgebraRules().begin(), AlgebraRules().end());
  for (const Fault& fault : kFaults) {
    if (context.fault == fault.name) rules.insert(rules.begin(), fault.rule);
  }
  return RewriteEach(module, context, rules);
}

}  // namespace hlo
