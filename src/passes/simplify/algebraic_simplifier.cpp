// algsimp: applies the rules of this folder. Rows at the end of each file state the rules, and comments add reasons and
// conditions. Without options, only exact rules apply, which keep NaN, infinities and the sign of zero. Options enable
// XLA's other rules: those that round, are not always better, or need layouts.
#include <algorithm>
#include <deque>
#include <unordered_set>

#include "base/check.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {
namespace m = match;

// ---- Planted faults (PassContext::fault); wrong on purpose --------------------------------------------------------

// Loses NaN and infinity.
Result<Instruction*> FaultMultiplyByZero(Instruction& inst, const PassContext&) {
  Instruction* zero;
  if (!m::Multiply(m::Any(), m::AnyConstant(&zero))(&inst) || !zero->IsConstantOf(0)) return nullptr;
  return zero->shape() == inst.shape() ? zero : nullptr;
}

// Wrong for x = -0, because -0 + 0 is +0.
Result<Instruction*> FaultDropAddZeroSign(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Add(m::Any(&x), m::ConstantOf(0))(&inst)) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

// Composes the permutations in the wrong order.
Result<Instruction*> FaultSwappedPermutation(Instruction& inst, const PassContext&) {
  Instruction *inner, *x;
  if (!m::Transpose(m::Transpose(&inner, m::Any(&x)))(&inst)) return nullptr;
  std::vector<int64_t> composed;
  for (const int64_t d : inner->dimensions()) composed.push_back(inst.dimensions()[d]);
  for (size_t i = 0; i < composed.size(); ++i) {
    if (x->shape().dim(composed[i]) != inst.shape().dim(i)) return nullptr;  // The shape would be wrong, too.
  }
  return Replace(inst, Opcode::kTranspose, {x}, DimensionsAttrs{composed});
}

// Planted by --inject=pass:algsimp:NAME.
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

// ---- Switches ------------------------------------------------------------------------------------------------------

using Option = bool AlgebraOptions::*;

// Rules that need this value of the option.
struct Switch {
  Option option;
  bool value;
  std::vector<std::string_view> laws;  // Rule ids.
};

const std::vector<Switch>& Switches() {
  using A = AlgebraOptions;
  static const std::vector<Switch> kSwitches = {
      {&A::is_layout_sensitive,
       true,
       {"A.bitc.3", "A.cc.1b", "A.conv.5", "A.copy.1c", "A.copy.2", "A.copy.3", "A.resh.5", "A.resh.8", "A.trans.4"}},
      // After layout assignment these rules would make copies, or undo later passes (variadic-op-splitter,
      // reduction-*).
      {&A::is_layout_sensitive,
       false,
       {"A.add.8a",  "A.add.8b", "A.add.9a", "A.add.9b", "A.bcast.7", "A.cat.2",   "A.cat.3",   "A.cat.4",
        "A.cat.5",   "A.conv.4", "A.conv.6", "A.dot.4",  "A.dot.7a",  "A.dot.7b",  "A.ds.4",    "A.red.2",
        "A.red.3a",  "A.red.3b", "A.red.4a", "A.red.4b", "A.red.5a",  "A.red.5b",  "A.red.5c",  "A.red.5d",
        "A.red.5e",  "A.red.6a", "A.red.6b", "A.red.7",  "A.red.11a", "A.red.11b", "A.red.11c", "A.red.11d",
        "A.red.11e", "A.resh.4", "A.rev.2a", "A.rev.2b", "A.slice.3", "A.trans.5"}},
      {&A::merge_reduces, true, {"A.red.4a", "A.red.4b", "A.red.5b", "A.red.5c", "A.red.5d", "A.red.5e"}},
      {&A::enable_broadcast_degenerate_dimension, true, {"A.bcast.7"}},
      {&A::enable_conditional_simplification, true, {"A.cond.1"}},
      {&A::enable_conv_add_multiply_reorder, true, {"A.mul.10"}},
      {&A::enable_conv_operand_swap, true, {"A.conv.4"}},
      {&A::enable_conv_simplification, true, {"A.conv.5", "A.conv.6"}},
      {&A::enable_dot_strength_reduction, true, {"A.dot.3", "A.red.7"}},
      {&A::enable_dot_to_multiply_rewrite, true, {"A.dot.2"}},
      {&A::enable_fold_transpose_into_scatter, true, {"A.trans.7"}},
      {&A::enable_hoist_transpose_of_reshape, true, {"A.resh.7"}},
      {&A::enable_move_dot_param_to_rhs, true, {"A.dot.8"}},  // transpose-folding undoes A.dot.8.
      {&A::enable_negative_padding_replacement, true, {"A.pad.2"}},
      {&A::enable_reduce_of_reshape, true, {"A.red.5a", "A.red.5b", "A.red.5c", "A.red.5d", "A.red.5e"}},
      {&A::enable_scalar_multiply_reduction, true, {"A.conv.7a", "A.conv.7b"}},
      {&A::enable_sink_broadcast, true, {"A.bcast.4"}},
      {&A::enable_window_reduce_to_reduce_replacement, true, {"A.rw.3a", "A.rw.3b"}},
      {&A::executing_on_cpu, true, {"A.div.9"}},
      {&A::raise_slice_and_reduce_through_dot, true, {"A.red.12", "A.slice.7"}},
      {&A::replace_transpose_with_bitcast, true, {"A.trans.4"}},
      {&A::rewrite_reshape_transpose_as_slice_concatenate, true, {"A.trans.5"}},
      {&A::use_associative_reordering, true, {"A.dot.9"}},
      {&A::use_convert_constant_folding, true, {"A.cvt.4"}},
  };
  return kSwitches;
}

std::string_view NameOf(Option option) {
  std::string_view name;
  std::apply([&](const auto&... field) { ((field.member == option ? void(name = field.name) : void()), ...); },
             AlgebraOptions::Fields());
  return name;
}

// All rules in order.
struct Laws {
  std::vector<Rule> rules;
  std::vector<std::vector<std::pair<Option, bool>>> needs;  // Indexed by rule.
  std::deque<std::string> texts;

  Laws() {
    for (const auto family : {ArithmeticRules(), LogicRules(), IntegerRules(), ReshapeRules(), BroadcastRules(),
                              MovementRules(), ReductionRules(), UpdateRules(), ViewRules(), SumRules(),
                              ContractionRules(), ConvolutionRules(), CallRules(), RoundingRules()})
      for (const Rule& rule : family) Add(rule);
    for (const Switch& s : Switches()) {
      for (const std::string_view id : s.laws)
        CHECK(std::ranges::find(rules, id, &Rule::id) != rules.end(), "an option switches ", id, ", which is no rule");
    }
  }

  void Add(Rule rule) {
    auto& of_rule = needs.emplace_back();
    if (rule.preserves != Preserves::kExact) of_rule.emplace_back(&AlgebraOptions::rounding, true);
    for (const Switch& s : Switches()) {
      if (std::ranges::find(s.laws, rule.id) != s.laws.end()) of_rule.emplace_back(s.option, s.value);
    }
    std::vector<std::string> said;
    for (const auto& [option, value] : of_rule) said.push_back(Str(NameOf(option), value ? "=true" : "=false"));
    if (!said.empty()) rule.options = texts.emplace_back(Str("{", Join(said, ", "), "}"));
    rules.push_back(rule);
  }
};
const Laws& AllLaws() {
  static const Laws kLaws;
  return kLaws;
}

// Skips library calls, because libraries expect the form of their computations.
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

std::span<const Rule> AlgebraRules() { return AllLaws().rules; }

Result<bool> SimplifyAlgebra(Module& module, const PassContext& context) {
  const AlgebraOptions options = context.Get<AlgebraOptions>();
  const Laws& laws = AllLaws();
  std::vector<Rule> rules;
  for (size_t i = 0; i < laws.rules.size(); ++i) {
    const auto is_given = [&](const auto& need) { return options.*need.first == need.second; };
    if (std::ranges::all_of(laws.needs[i], is_given)) rules.push_back(laws.rules[i]);
  }
  for (const Fault& fault : kFaults) {
    if (context.fault == fault.name) rules.insert(rules.begin(), fault.rule);
  }
  return Rewrite(module, context, rules);
}

}  // namespace hlo
