// Rules of algsimp for convolutions. All reorder float sums, and need algsimp{rounding=true}.
#include <algorithm>
#include <optional>

#include "ir/module.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

bool IsPlainConvolution(const Instruction& inst) {
  if (!inst.Is(Opcode::kConvolution) || inst.operand_count() != 2 || !IsStaticOfOneType(inst)) return false;
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  return IsFloat(inst.shape().type()) && attrs.sparsity.empty() && attrs.block_scaling.empty();
}

// nullopt if `d` is not spatial.
std::optional<size_t> SpatialOf(const std::vector<int64_t>& spatial, int64_t d) {
  const auto found = std::ranges::find(spatial, d);
  return found == spatial.end() ? std::nullopt : std::optional<size_t>(found - spatial.begin());
}

// The operand of a plain convolution if it is a pad with zeros, otherwise null.
Instruction* ZeroPadOf(Instruction& convolution, int64_t number) {
  if (!IsPlainConvolution(convolution)) return nullptr;
  Instruction& pad = convolution.operand(number);
  return pad.Is(Opcode::kPad) && NumberOf(pad.operand(1)) == 0.0 && IsStatic(pad) ? &pad : nullptr;
}

// A convolution does not multiply its own padding, so an infinite kernel element no longer gives NaN.
Result<Instruction*> ConvolutionOfPad(Instruction& inst, const PassContext&) {
  Instruction* pad = ZeroPadOf(inst, 0);
  if (pad == nullptr) return nullptr;
  auto attrs = inst.attrs<ConvolutionAttrs>();
  for (int64_t d = 0; d < pad->shape().rank(); ++d) {
    const PaddingDim& by = pad->attrs<PadAttrs>().padding.dims[d];
    if (by == PaddingDim()) continue;
    const auto spatial = SpatialOf(attrs.dim_labels.lhs_spatial, d);
    if (!spatial || by.low < 0 || by.high < 0) return nullptr;
    WindowDim& dim = attrs.window.dims[*spatial];
    if (dim.base_dilation != 1) return nullptr;
    if (by.interior != 0 && (dim.pad_low != 0 || dim.pad_high != 0)) return nullptr;
    dim.base_dilation = by.interior + 1;
    dim.pad_low += by.low;
    dim.pad_high += by.high;
  }
  return Replace(inst, Opcode::kConvolution, {&pad->operand(0), &inst.operand(1)}, attrs);
}

// The padding of the kernel becomes window dilation, and must be only between its elements.
Result<Instruction*> ConvolutionWithPad(Instruction& inst, const PassContext&) {
  Instruction* pad = ZeroPadOf(inst, 1);
  if (pad == nullptr) return nullptr;
  auto attrs = inst.attrs<ConvolutionAttrs>();
  for (int64_t d = 0; d < pad->shape().rank(); ++d) {
    const PaddingDim& by = pad->attrs<PadAttrs>().padding.dims[d];
    if (by == PaddingDim()) continue;
    const auto spatial = SpatialOf(attrs.dim_labels.rhs_spatial, d);
    if (!spatial || by.low != 0 || by.high != 0) return nullptr;
    WindowDim& dim = attrs.window.dims[*spatial];
    if (dim.window_dilation != 1) return nullptr;
    dim.window_dilation = by.interior + 1;
    dim.size = pad->operand(0).shape().dim(d);
  }
  return Replace(inst, Opcode::kConvolution, {&inst.operand(0), &pad->operand(0)}, attrs);
}

// convolution(x, w) => convolution(reverse(w), x). If x extends over i elements and w over k, with dilation, both
// paddings change by i - k.
Result<Instruction*> SwapConvolution(Instruction& inst, const PassContext&) {
  if (!IsPlainConvolution(inst)) return nullptr;
  auto attrs = inst.attrs<ConvolutionAttrs>();
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1 || attrs.window.dims.empty()) return nullptr;
  const Shape &x = inst.operand(0).shape(), &w = inst.operand(1).shape();
  std::vector<int64_t> reversed;
  int64_t base = 1, window = 1;
  for (size_t d = 0; d < attrs.window.dims.size(); ++d) {
    WindowDim& dim = attrs.window.dims[d];
    const int64_t of_x = x.dim(attrs.dim_labels.lhs_spatial[d]), of_w = dim.size;
    if (of_x == 0 || of_w == 0) return nullptr;
    base *= of_x;
    window *= of_w;
    const int64_t difference = (of_x - 1) * dim.base_dilation - (of_w - 1) * dim.window_dilation;
    if (!dim.reversed) reversed.push_back(attrs.dim_labels.rhs_spatial[d]);
    dim.reversed = true;
    dim.size = of_x;
    std::swap(dim.base_dilation, dim.window_dilation);
    dim.pad_low += difference;
    dim.pad_high += difference;
    if (dim.pad_low < 0 || dim.pad_high < 0) return nullptr;
  }
  if (window <= base) return nullptr;
  DimLabels& labels = attrs.dim_labels;
  const DimLabels old = labels;
  labels.lhs_batch = old.rhs_output_feature;
  labels.lhs_feature = old.rhs_input_feature;
  labels.lhs_spatial = old.rhs_spatial;
  labels.rhs_output_feature = old.lhs_batch;
  labels.rhs_input_feature = old.lhs_feature;
  labels.rhs_spatial = old.lhs_spatial;
  std::swap(labels.out_batch, labels.out_feature);
  if (attrs.precision.size() == 2) std::swap(attrs.precision[0], attrs.precision[1]);
  Instruction* kernel = &inst.operand(1);
  std::ranges::sort(reversed);
  if (!reversed.empty()) kernel = Step(inst, Opcode::kReverse, w, {kernel}, DimensionsAttrs{reversed});
  return Replace(inst, Opcode::kConvolution, {kernel, &inst.operand(0)}, attrs);
}

bool IsPointwise(const Instruction& inst) {
  return std::ranges::all_of(inst.attrs<ConvolutionAttrs>().window.dims,
                             [](WindowDim dim) { return dim.reversed = false, dim == WindowDim(); });
}
bool KeepsPlaces(const DimLabels& labels) {
  return labels.lhs_batch == labels.out_batch && labels.lhs_feature == labels.out_feature &&
         labels.lhs_spatial == labels.out_spatial;
}

// Features must be in the last dimension.
Result<Instruction*> ConvolutionToDot(Instruction& inst, const PassContext&) {
  if (!IsPlainConvolution(inst) || !IsPointwise(inst)) return nullptr;
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  Instruction &x = inst.operand(0), &w = inst.operand(1);
  if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1 || !KeepsPlaces(labels) ||
      labels.lhs_feature != x.shape().rank() - 1 || labels.rhs_input_feature > labels.rhs_output_feature ||
      !x.shape().HasDefaultLayout() || !w.shape().HasDefaultLayout() || !inst.shape().HasDefaultLayout())
    return nullptr;
  const int64_t in = x.shape().dim(labels.lhs_feature), out = inst.shape().dim(labels.out_feature);
  if (in == 0 || out == 0) return nullptr;
  const int64_t rows = x.shape().NumElements() / in;
  Instruction* lhs = Recast(inst, x.shape().WithDims({rows, in}), &x);
  Instruction* rhs = Recast(inst, x.shape().WithDims({in, out}), &w);
  DotAttrs dot_attrs{.lhs_contracting = {1}, .rhs_contracting = {0}, .precision = attrs.precision};
  Instruction* dot = Step(inst, Opcode::kDot, inst.shape().WithDims({rows, out}), {lhs, rhs}, dot_attrs);
  return Recast(inst, inst.shape(), dot);
}

// The convolution must be depthwise.
Result<Instruction*> ConvolutionToMultiply(Instruction& inst, const PassContext&) {
  if (!IsPlainConvolution(inst) || !IsPointwise(inst)) return nullptr;
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  const int64_t features = inst.shape().dim(attrs.dim_labels.out_feature);
  Instruction &x = inst.operand(0), &w = inst.operand(1);
  if (attrs.batch_group_count != 1 || attrs.feature_group_count != features || !KeepsPlaces(attrs.dim_labels) ||
      x.shape() != inst.shape() || w.shape().NumElements() != features)
    return nullptr;
  Instruction* numbers = Step(inst, Opcode::kReshape, w.shape().WithDims({features}), {&w});
  return Replace(inst, Opcode::kMultiply,
                 {&x, Replace(inst, Opcode::kBroadcast, {numbers}, DimensionsAttrs{{attrs.dim_labels.out_feature}})});
}

bool ScalesFreely(const Instruction& convolution) {
  const PrimitiveType type = convolution.shape().type();
  return IsPlainConvolution(convolution) && (type == PrimitiveType::kF32 || type == PrimitiveType::kBF16);
}

// Multiplies the smaller of x and w by `factor`.
Instruction* ScaledConvolution(Instruction& inst, Instruction& x, Instruction& w, const Instruction& factor,
                               const Instruction& convolution) {
  const bool of_x = x.shape().NumElements() < w.shape().NumElements();
  Instruction& to = of_x ? x : w;
  Instruction* number = &inst.computation().AddConstant(*ScalarOf(factor));
  if (!to.shape().IsScalar()) number = Step(inst, Opcode::kBroadcast, to.shape(), {number}, DimensionsAttrs{});
  Instruction* scaled = Step(inst, Opcode::kMultiply, to.shape(), {&to, number});
  return Replace(inst, Opcode::kConvolution, {of_x ? scaled : &x, of_x ? &w : scaled}, convolution.attributes());
}

Result<Instruction*> ConvolutionOfScaled(Instruction& inst, const PassContext&) {
  if (!ScalesFreely(inst)) return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction *x, *c, &other = inst.operand(1 - side);
    if (!m::OneUse(m::Multiply(m::Any(&x), m::AnyConstant(&c)))(&inst.operand(side)) || ScalarOf(*c) == nullptr ||
        ScalarOf(*x) != nullptr || other.shape().NumElements() >= x->shape().NumElements())
      continue;
    return ScaledConvolution(inst, side == 0 ? *x : other, side == 0 ? other : *x, *c, inst);
  }
  return nullptr;
}

// The rewrite must scale fewer elements.
Result<Instruction*> ScaleOfConvolution(Instruction& inst, const PassContext&) {
  Instruction *convolution, *c;
  if (!m::Multiply(m::OneUse(m::Convolution(&convolution)), m::AnyConstant(&c))(&inst) || ScalarOf(*c) == nullptr ||
      !ScalesFreely(*convolution))
    return nullptr;
  Instruction &x = convolution->operand(0), &w = convolution->operand(1);
  if (std::min(x.shape().NumElements(), w.shape().NumElements()) >= inst.shape().NumElements()) return nullptr;
  return ScaledConvolution(inst, x, w, *c, *convolution);
}

// c must have a constant for each feature of the convolution.
Result<Instruction*> ScaleOfBiased(Instruction& inst, const PassContext&) {
  Instruction *convolution, *b, *c;
  if (!IsStaticOfOneType(inst) ||
      !m::Multiply(m::OneUse(m::Add(m::OneUse(m::Convolution(&convolution)), m::Any(&b))), m::Broadcast(&c))(&inst))
    return nullptr;
  const auto& attrs = convolution->attrs<ConvolutionAttrs>();
  Instruction& w = convolution->operand(1);
  if (!IsPlainConvolution(*convolution) || !w.Is(Opcode::kConstant) || !c->operand(0).Is(Opcode::kConstant) ||
      c->dimensions() != std::vector<int64_t>{attrs.dim_labels.out_feature})
    return nullptr;
  Instruction* factors = Step(inst, Opcode::kBroadcast, w.shape(), {&c->operand(0)},
                              DimensionsAttrs{{attrs.dim_labels.rhs_output_feature}});
  Instruction* scaled = Step(inst, Opcode::kMultiply, w.shape(), {&w, factors});
  Instruction* sum = Replace(inst, Opcode::kConvolution, {&convolution->operand(0), scaled}, attrs);
  return Replace(inst, Opcode::kAdd, {sum, Replace(inst, Opcode::kMultiply, {b, c})});
}

constexpr Preserves kRegroups = Preserves::kReassociates;

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.conv.2",  Opcode::kConvolution, ConvolutionOfPad,      kRegroups,         "convolution(pad(x, 0), w) => convolution(x, w) with padding"},
    {"A.conv.3",  Opcode::kConvolution, ConvolutionWithPad,    kRegroups,         "convolution(x, pad(w, 0)) => convolution(x, w) with holes"},
    {"A.conv.5",  Opcode::kConvolution, ConvolutionToDot,      kRegroups,         "convolution(x, w) => dot(x, w), for one element in the window"},
    {"A.conv.6",  Opcode::kConvolution, ConvolutionToMultiply, kRegroups,         "convolution(x, w) => x * broadcast(w), when w has one element for each feature"},
    {"A.conv.7a", Opcode::kConvolution, ConvolutionOfScaled,   kRegroups,         "convolution(x * c, w) => convolution(x, w * c), when w is smaller than x"},
    {"A.conv.7b", Opcode::kMultiply,    ScaleOfConvolution,    kRegroups,         "convolution(x, w) * c => convolution(x, w * c)"},
    {"A.mul.10",  Opcode::kMultiply,    ScaleOfBiased,         kRegroups,         "(convolution(x, w) + b) * c => convolution(x, w * c) + b * c, for constants w and c"},
    {"A.conv.4",  Opcode::kConvolution, SwapConvolution,       kRegroups,         "convolution(x, w) => convolution(reverse(w), x), reversed, when w has the larger window"},
};
// clang-format on

}  // namespace

std::span<const Rule> ConvolutionRules() { return kRules; }

}  // namespace hlo
