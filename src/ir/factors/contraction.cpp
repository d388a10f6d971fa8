// Factor rules of dot, scaled-dot, ragged-dot and convolution: docs/ops.md#contractions.
#include <numeric>

#include "ir/factors/rule_builder.h"

namespace hlo {
namespace {

Factor SumOf(int64_t size) { return {.size = size, .kind = FactorKind::kSum, .reducer = Opcode::kAdd}; }

// The number of elements with one scale along a dimension of a scaled-dot. nullopt if all elements share a scale.
std::optional<int64_t> BlockOf(const Instruction& inst, Spot spot) {
  if (!inst.Is(Opcode::kScaledDot) || spot.operand == Spot::kResult) return std::nullopt;
  const Shape& scale = inst.operand(spot.operand + 2).shape();
  if (scale.rank() == 0 || scale.dim(spot.dim) <= 1) return std::nullopt;
  return inst.operand(spot.operand).shape().dim(spot.dim) / scale.dim(spot.dim);
}

// Blocks of operands with scales are never cut.
void AddInBlocks(RuleBuilder& rule, const Instruction& inst, Factor factor, const std::vector<Spot>& spots) {
  int64_t together = 1;
  for (const Spot spot : spots) together = std::lcm(together, BlockOf(inst, spot).value_or(1));
  factor.size /= together;
  std::vector<Spot> all = spots;
  for (const Spot spot : spots) {
    if (BlockOf(inst, spot)) all.push_back(InOperand(spot.operand + 2, spot.dim));
  }
  rule.Add(std::move(factor), all);
  rule.Add({.size = together}, spots);
  for (const Spot spot : spots) {
    if (const auto block = BlockOf(inst, spot))
      rule.AddWhole(together / *block, {InOperand(spot.operand + 2, spot.dim)});
  }
}

struct FreeDims {
  int64_t operand;
  std::vector<int64_t> dims;
};
template <class Attrs>
std::vector<FreeDims> FreeDimsOf(const Instruction& inst, const Attrs& a, std::span<const int64_t> rhs_dropped = {}) {
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape();
  std::vector<FreeDims> free = {{0, FreeDimensions(lhs.rank(), a.lhs_batch, a.lhs_contracting)},
                                {1, FreeDimensions(rhs.rank(), a.rhs_batch, a.rhs_contracting)}};
  std::erase_if(free[1].dims, [&](int64_t dim) { return Contains(rhs_dropped, dim); });
  return free;
}

// The lhs dimensions before the groups in group_sizes of rank 2 or more, in order (V017).
std::vector<int64_t> DimsBeforeGroups(const Instruction& inst) {
  const RaggedDotAttrs& a = inst.attrs<RaggedDotAttrs>();
  const int64_t ragged = a.lhs_ragged[0];
  std::vector<int64_t> dims;
  const auto add = [&](std::span<const int64_t> list) {
    for (const int64_t dim : list) {
      if (dim == ragged) return;
      dims.push_back(dim);
    }
  };
  add(a.lhs_batch);
  if (Contains(a.lhs_batch, ragged)) return dims;
  if (Contains(a.lhs_contracting, ragged)) add(a.lhs_contracting);
  else add(FreeDimsOf(inst, a)[0].dims);
  return dims;
}

// With groups, features consist of groups and of the features in a group.
void AddFeatures(RuleBuilder& rule, const Instruction& inst, bool saturates) {
  const ConvolutionAttrs& a = inst.attrs<ConvolutionAttrs>();
  const DimLabels& d = a.dim_labels;
  const Shape& kernel = inst.operand(1).shape();
  const int64_t groups = a.feature_group_count * a.batch_group_count;  // At most one factor is not 1.
  const Spot batch = InOperand(0, d.lhs_batch), feature = InOperand(0, d.lhs_feature);
  const Spot in_feature = InOperand(1, d.rhs_input_feature), out_feature = InOperand(1, d.rhs_output_feature);
  rule.AddFree(groups, {InResult(d.out_feature), out_feature, a.batch_group_count > 1 ? batch : feature});
  rule.AddFree(inst.shape().dim(d.out_batch), {InResult(d.out_batch), batch});
  rule.AddFree(kernel.dim(d.rhs_output_feature) / groups, {InResult(d.out_feature), out_feature});
  const int64_t features = kernel.dim(d.rhs_input_feature);
  rule.Add(saturates ? Factor{.size = features} : SumOf(features), {feature, in_feature});
}

void AddPositions(RuleBuilder& rule, const Instruction& inst, size_t i) {
  const DimLabels& d = inst.attrs<ConvolutionAttrs>().dim_labels;
  const WindowDim& window = inst.attrs<ConvolutionAttrs>().window.dims[i];
  Factor positions{.size = inst.shape().dim(d.out_spatial[i]), .kind = FactorKind::kFree};
  if (!IsTrivial(window)) {
    positions.kind = FactorKind::kWindow;
    positions.windows = {{0, d.lhs_spatial[i], window}};
  }
  rule.Add(std::move(positions), {InResult(d.out_spatial[i]), InOperand(0, d.lhs_spatial[i])});
}

// Kernel index w and result index o read the image at o * stride + w * dilation. So a part of the kernel reads the
// image through the same window with both roles exchanged. The gradient of weights, whose kernel is as large as its
// image, can be cut along this factor.
void AddKernel(RuleBuilder& rule, const Instruction& inst, size_t i) {
  const DimLabels& d = inst.attrs<ConvolutionAttrs>().dim_labels;
  WindowDim window = inst.attrs<ConvolutionAttrs>().window.dims[i];
  Factor kernel = SumOf(window.size);
  window.size = inst.shape().dim(d.out_spatial[i]);
  if (window.size == 0) return;
  std::swap(window.stride, window.window_dilation);
  kernel.windows = {{0, d.lhs_spatial[i], window}};
  rule.Add(std::move(kernel), {InOperand(1, d.rhs_spatial[i])});
}

}  // namespace

FactorRule FactorsOfDot(const Instruction& inst) {
  RuleBuilder rule(inst);
  const DotAttrs& a = inst.attrs<DotAttrs>();
  if (!a.sparsity.empty()) return rule.Finish("an operand is sparse");
  const Shape& lhs = inst.operand(0).shape();
  int64_t next = 0;
  for (size_t i = 0; i < a.lhs_batch.size(); ++i) {
    const int64_t dim = a.lhs_batch[i];
    AddInBlocks(rule, inst, {.size = lhs.dim(dim), .kind = FactorKind::kFree},
                {InResult(next++), InOperand(0, dim), InOperand(1, a.rhs_batch[i])});
  }
  for (const auto& [operand, dims] : FreeDimsOf(inst, a)) {
    for (const int64_t dim : dims) {
      AddInBlocks(rule, inst, {.size = inst.operand(operand).shape().dim(dim), .kind = FactorKind::kFree},
                  {InResult(next++), InOperand(operand, dim)});
    }
  }
  for (size_t i = 0; i < a.lhs_contracting.size(); ++i) {
    const int64_t dim = a.lhs_contracting[i];
    AddInBlocks(rule, inst, SumOf(lhs.dim(dim)), {InOperand(0, dim), InOperand(1, a.rhs_contracting[i])});
  }
  return rule.Finish();
}

// The start of a group depends on the sizes of all groups before, so groups and the ragged dimension are whole.
FactorRule FactorsOfRaggedDot(const Instruction& inst) {
  RuleBuilder rule(inst);
  const RaggedDotAttrs& a = inst.attrs<RaggedDotAttrs>();
  const Shape& lhs = inst.operand(0).shape();
  const int64_t ragged = a.lhs_ragged[0];
  std::vector<int64_t> before;
  if (inst.operand(2).shape().rank() > 1) before = DimsBeforeGroups(inst);
  int64_t next = Contains(a.lhs_contracting, ragged) ? 1 : 0;
  const auto add = [&](Factor factor, int64_t lhs_dim, std::vector<Spot> spots) {
    const auto sizes = std::ranges::find(before, lhs_dim);
    if (sizes != before.end()) spots.push_back(InOperand(2, sizes - before.begin()));
    if (lhs_dim != ragged) rule.Add(std::move(factor), spots);
  };
  const auto free = [](int64_t size) { return Factor{.size = size, .kind = FactorKind::kFree}; };
  for (size_t i = 0; i < a.lhs_batch.size(); ++i) {
    const int64_t dim = a.lhs_batch[i];
    add(free(lhs.dim(dim)), dim, {InResult(next++), InOperand(0, dim), InOperand(1, a.rhs_batch[i])});
  }
  const std::vector<FreeDims> free_dims = FreeDimsOf(inst, a, a.rhs_group);
  for (const int64_t dim : free_dims[0].dims) add(free(lhs.dim(dim)), dim, {InResult(next++), InOperand(0, dim)});
  for (const int64_t dim : free_dims[1].dims)
    rule.AddFree(inst.operand(1).shape().dim(dim), {InResult(next++), InOperand(1, dim)});
  for (size_t i = 0; i < a.lhs_contracting.size(); ++i) {
    const int64_t dim = a.lhs_contracting[i];
    add(SumOf(lhs.dim(dim)), dim, {InOperand(0, dim), InOperand(1, a.rhs_contracting[i])});
  }
  return rule.Finish("each group is a range of the ragged dimension");
}

// Integers of less than 64 bits saturate at the end of the whole sum. A part would saturate earlier.
FactorRule FactorsOfConvolution(const Instruction& inst) {
  RuleBuilder rule(inst);
  const ConvolutionAttrs& a = inst.attrs<ConvolutionAttrs>();
  if (!a.sparsity.empty() || !a.block_scaling.empty() || inst.operand_count() > 2)
    return rule.Finish("an operand is sparse or scaled");
  if (a.kind == ConvolutionKind::kDgrad || a.kind == ConvolutionKind::kWgrad)
    return rule.Finish("the convolution has the window of a gradient");
  const PrimitiveType type = inst.shape().type();
  const bool saturates = IsInteger(type) && BitWidth(type) < 64;
  AddFeatures(rule, inst, saturates);
  for (size_t i = 0; i < a.window.dims.size(); ++i) {
    AddPositions(rule, inst, i);
    if (!saturates) AddKernel(rule, inst, i);
  }
  return rule.Finish(saturates ? "integers saturate at the end of the sum" : "");
}

}  // namespace hlo
