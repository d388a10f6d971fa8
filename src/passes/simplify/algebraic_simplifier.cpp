// The algebra of single instructions and small trees of them, in four passes:
//
//   algsimp           every rule is exact: for floats it keeps NaN, infinities and the sign of zero, so that a
//   difference
//                     after this pass is always a fault
//   algsimp-rounding  what XLA's algsimp has, too, and what rounds otherwise
//   algsimp-optional  what is exact but not always better: what XLA has behind options of its own
//   algsimp-layouts   what XLA has where layouts are given: what keeps its place in memory is a bitcast
#include <algorithm>
#include <unordered_set>

#include "ir/fusion.h"
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

// reduce(reduce(x)) and reduce(reshape(x)) undo what gpu-tree-reduction-rewriter and reduction-dimension-grouper have
// done before algsimp runs; dot.8 and trans.2 undo each other.
constexpr std::string_view kOptional[] = {"A.cond.1", "A.cvt.4",  "A.dot.8",   "A.red.4a",  "A.red.5b",
                                          "A.red.5d", "A.resh.7", "A.slice.7", "A.trans.5", "A.trans.7"};
constexpr std::string_view kOfLayouts[] = {"A.bitc.3", "A.cc.1",   "A.copy.1c", "A.copy.2",
                                           "A.copy.3", "A.resh.5", "A.resh.8",  "A.trans.4"};

enum class Home { kAlgebra, kRounding, kOptional, kLayouts };
Home HomeOf(const Rule& rule) {
  if (rule.preserves != Preserves::kExact) return Home::kRounding;
  if (std::ranges::find(kOptional, rule.id) != std::end(kOptional)) return Home::kOptional;
  return std::ranges::find(kOfLayouts, rule.id) != std::end(kOfLayouts) ? Home::kLayouts : Home::kAlgebra;
}

template <Home home>
std::span<const Rule> RulesOf() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> rules;
    for (const auto family :
         {ArithmeticRules(), LogicRules(), IntegerRules(), ReshapeRules(), BroadcastRules(), MovementRules(),
          ReductionRules(), UpdateRules(), ViewRules(), SumRules(), ContractionRules(), CallRules(), RoundingRules()}) {
      std::ranges::copy_if(family, std::back_inserter(rules), [](const Rule& rule) { return HomeOf(rule) == home; });
    }
    return rules;
  }();
  return kRules;
}

// What a library computes stays in the form that its call is written for.
Result<bool> Rewrite(Module& module, const PassContext& context, std::span<const Rule> rules) {
  std::unordered_set<const Computation*> of_libraries;
  std::vector<Computation*> computations = module.PostOrder();
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      if (IsLibraryCall(*inst)) of_libraries.insert(&FusedComputation(*inst));
    }
  }
  std::erase_if(computations, [&](const Computation* computation) { return of_libraries.contains(computation); });
  const bool changed = TRY(RewriteEach(computations, context, rules));
  if (changed) RemoveUnusedOperands(module);
  return changed;
}

}  // namespace

std::span<const Rule> AlgebraRules() { return RulesOf<Home::kAlgebra>(); }
std::span<const Rule> RoundingAlgebraRules() { return RulesOf<Home::kRounding>(); }
std::span<const Rule> OptionalAlgebraRules() { return RulesOf<Home::kOptional>(); }
std::span<const Rule> LayoutAlgebraRules() { return RulesOf<Home::kLayouts>(); }

Result<bool> SimplifyAlgebra(Module& module, const PassContext& context) {
  std::vector<Rule> rules(AlgebraRules().begin(), AlgebraRules().end());
  for (const Fault& fault : kFaults) {
    if (context.fault == fault.name) rules.insert(rules.begin(), fault.rule);
  }
  return Rewrite(module, context, rules);
}
Result<bool> RoundAlgebra(Module& module, const PassContext& context) {
  return Rewrite(module, context, RoundingAlgebraRules());
}
Result<bool> RearrangeAlgebra(Module& module, const PassContext& context) {
  return Rewrite(module, context, OptionalAlgebraRules());
}

Result<bool> SimplifyLayouts(Module& module, const PassContext& context) {
  return Rewrite(module, context, LayoutAlgebraRules());
}

}  // namespace hlo
