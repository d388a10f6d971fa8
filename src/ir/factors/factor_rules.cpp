#include "ir/factors/factor_rules.h"

#include "base/text.h"
#include "ir/factors/rule_builder.h"

namespace hlo {
namespace {

constexpr std::string_view kKindWords[] = {"free", "sum", "window", "look", "put", "scan", "whole"};

std::string NameOf(size_t factor) {
  constexpr std::string_view kLetters = "ijklmnopqrstuvwxyzabcdefgh";
  const std::string letter(1, kLetters[factor % kLetters.size()]);
  return factor < kLetters.size() ? letter : Str(letter, factor / kLetters.size());
}

std::string TextOf(const LeafFactors& leaf) {
  std::vector<std::string> dims;
  for (const DimFactors& factors : leaf) {
    std::string& dim = dims.emplace_back();
    for (const uint16_t factor : factors) dim += NameOf(factor);
    if (factors.empty()) dim = "1";
  }
  return Str("[", Join(dims, ","), "]");
}

std::string TextOf(const std::vector<LeafFactors>& leaves) {
  std::vector<std::string> texts;
  for (const LeafFactors& leaf : leaves) texts.push_back(TextOf(leaf));
  return Join(texts, ",");
}

// Elements that do not count are at the end of the whole dynamic dimension, not of each part.
void MakeDynamicWhole(const Shape& shape, const std::vector<LeafFactors>& leaves, FactorRule& rule) {
  const std::vector<const Shape*> shapes = LeavesOf(shape);
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (size_t dim = 0; dim < leaves[leaf].size(); ++dim) {
      if (!shapes[leaf]->IsDynamic(static_cast<int64_t>(dim))) continue;
      for (const uint16_t factor : leaves[leaf][dim]) rule.factors[factor] = {.size = rule.factors[factor].size};
    }
  }
}

}  // namespace

std::string_view ToString(FactorKind kind) { return kKindWords[static_cast<int>(kind)]; }

std::string FactorRule::ToString() const {
  if (edges) return "edges";
  std::vector<std::string> sides;
  for (const auto& leaves : operands)
    sides.push_back(leaves.size() == 1 ? TextOf(leaves) : Str("(", TextOf(leaves), ")"));
  std::string text = Str("(", Join(sides, ","), ")->(", TextOf(result), ")");
  for (size_t i = 0; i < factors.size(); ++i) {
    const bool free = factors[i].kind == FactorKind::kFree;
    text += Str(" ", NameOf(i), free ? "" : ":", free ? "" : hlo::ToString(factors[i].kind), "=", factors[i].size);
  }
  return text;
}

FactorRule FactorsOf(const Instruction& inst) {
  FactorRule rule = RowOf(inst.opcode()).factor_rule(inst);
  if (rule.edges) return rule;
  for (int64_t i = 0; i < inst.operand_count(); ++i) MakeDynamicWhole(inst.operand(i).shape(), rule.operands[i], rule);
  MakeDynamicWhole(inst.shape(), rule.result, rule);
  return rule;
}

}  // namespace hlo
