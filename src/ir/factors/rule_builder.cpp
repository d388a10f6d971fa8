#include "ir/factors/rule_builder.h"

namespace hlo {

std::vector<const Shape*> LeavesOf(const Shape& shape) {
  std::vector<const Shape*> leaves;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { leaves.push_back(&leaf); });
  return leaves;
}

bool IsTrivial(const WindowDim& window) {
  return window.size == 1 && window.stride == 1 && window.pad_low == 0 && window.pad_high == 0 &&
         window.base_dilation == 1;
}

static std::vector<LeafFactors> NoFactors(const Shape& shape) {
  std::vector<LeafFactors> leaves;
  for (const Shape* leaf : LeavesOf(shape)) leaves.emplace_back(leaf->rank());
  return leaves;
}

RuleBuilder::RuleBuilder(const Instruction& inst) : inst_(inst) {
  for (const Instruction* operand : inst.operands()) rule_.operands.push_back(NoFactors(operand->shape()));
  rule_.result = NoFactors(inst.shape());
}

DimFactors& RuleBuilder::At(Spot spot) {
  auto& leaves = spot.operand == Spot::kResult ? rule_.result : rule_.operands[spot.operand];
  return leaves[spot.leaf][spot.dim];
}

void RuleBuilder::Add(Factor factor, std::span<const Spot> spots) {
  if (factor.size <= 1) return;
  Append(std::move(factor), spots);
}

void RuleBuilder::Append(Factor factor, std::span<const Spot> spots) {
  for (const Spot spot : spots) At(spot).push_back(static_cast<uint16_t>(rule_.factors.size()));
  rule_.factors.push_back(std::move(factor));
}

void RuleBuilder::AddWindows(int64_t size, std::vector<FactorWindow> windows) {
  const int64_t dim = windows[0].dim;
  std::vector<Spot> spots = {InResult(dim)};
  for (const FactorWindow& window : windows) {
    if (spots.back().operand != window.operand) spots.push_back(InOperand(window.operand, window.dim));
  }
  if (windows.size() == 1 && IsTrivial(windows[0].window)) return AddFree(size, spots);
  Add({.size = size, .kind = FactorKind::kWindow, .windows = std::move(windows)}, spots);
}

void RuleBuilder::FillWhole(int64_t operand, const Shape& shape, std::vector<LeafFactors>& leaves) {
  const std::vector<const Shape*> shapes = LeavesOf(shape);
  for (int64_t leaf = 0; leaf < std::ssize(leaves); ++leaf) {
    for (int64_t dim = 0; dim < shapes[leaf]->rank(); ++dim) {
      const int64_t size = shapes[leaf]->dim(dim);
      if (leaves[leaf][dim].empty() && size != 1) Append({.size = size}, {{{operand, dim, leaf}}});
    }
  }
}

FactorRule RuleBuilder::Finish(std::string why_whole) {
  for (int64_t i = 0; i < inst_.operand_count(); ++i) FillWhole(i, inst_.operand(i).shape(), rule_.operands[i]);
  FillWhole(Spot::kResult, inst_.shape(), rule_.result);
  rule_.why_whole = std::move(why_whole);
  return std::move(rule_);
}

}  // namespace hlo
