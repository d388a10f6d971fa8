// Replaces padding that libraries do not support by pads and slices around the call. Libraries pad both ends of a
// dimension equally, and have no base dilation.
//
// Calls for the input's gradient take base dilation as the forward convolution's stride, calls for the filter's
// gradient take window dilation.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "passes/libraries/library_call.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

enum class Kind { kForward, kInputGradient, kFilterGradient };

bool AllOf(const Window& window, bool (*holds)(const WindowDim&)) { return std::ranges::all_of(window.dims, holds); }

// XLA's gpu-conv-rewriter has the same rules.
Kind KindOf(const Instruction& convolution, const Instruction& filter) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const Window& window = attrs.window;
  if (attrs.feature_group_count != 1 || window.dims.empty()) return Kind::kForward;
  const bool has_unit_stride = AllOf(window, [](const WindowDim& d) { return d.stride == 1; });
  const bool has_holes = !AllOf(window, [](const WindowDim& d) { return d.base_dilation == 1; });
  const bool is_dilated = !AllOf(window, [](const WindowDim& d) { return d.window_dilation == 1; });
  const bool is_straight = AllOf(window, [](const WindowDim& d) { return !d.reversed; });
  if (!has_unit_stride) return Kind::kForward;
  const bool is_point = AllOf(window, [](const WindowDim& d) { return d.size == 1; });
  const bool is_turned = AllOf(window, [](const WindowDim& d) { return d.reversed; }) || filter.Is(Opcode::kReverse);
  if (!is_dilated && (is_turned || (has_holes && (is_point || filter.Is(Opcode::kConstant)))))
    return Kind::kInputGradient;
  const bool is_padded = AllOf(window, [](const WindowDim& d) { return d.pad_low >= 0; });
  const bool is_large =
      window.dims.front().size > convolution.shape().dim(attrs.dim_labels.out_spatial.front()) || is_dilated;
  return !has_holes && is_straight && is_padded && is_large ? Kind::kFilterGradient : Kind::kForward;
}

// The call's window, padding of its input, and elements removed from the result.
struct Legal {
  Window window;
  PaddingConfig input, cut;
  bool changed = false;
};

// Window dilation stays, because libraries support it.
void MakeForward(const WindowDim& d, WindowDim& legal, PaddingDim& input) {
  if (d.pad_low == d.pad_high && d.pad_low >= 0 && d.base_dilation == 1) return;
  input = {d.pad_low, d.pad_high, d.base_dilation - 1};
  legal.pad_low = legal.pad_high = 0;
  legal.base_dilation = 1;
}

// The call is the gradient of a convolution that pads its input by p at both ends. Up to base_dilation - 1 elements at
// the end of the result may lie outside of every window. If low and high differ by more, the call computes a larger
// result with the smaller p.
void MakeInputGradient(const WindowDim& d, WindowDim& legal, PaddingDim& cut) {
  const int64_t low = d.size - 1 - d.pad_low, high = d.size - 1 - d.pad_high;
  if (low < 0 || high < 0) return;  // The call does not support negative padding.
  if (low - high >= 0 && low - high < d.base_dilation) return;
  const int64_t p = std::min(low, high);
  cut = {-(low - p), -(high - p), 0};
  legal.pad_low = legal.pad_high = d.size - 1 - p;
}

// The call pads the input by p at both ends. Up to window_dilation - 1 elements at the end of the input may be unused.
void MakeFilterGradient(const WindowDim& d, WindowDim& legal, PaddingDim& input) {
  const int64_t most = d.pad_high + d.window_dilation - 1;
  if (d.pad_low >= d.pad_high && d.pad_low <= most) return;
  const int64_t p = std::max<int64_t>(std::min(d.pad_low, d.pad_high), 0);
  input = {d.pad_low - p, d.pad_high - p, 0};
  legal.pad_low = legal.pad_high = p;
}

Legal Legalise(const Instruction& convolution, Kind kind) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  Legal legal{.window = attrs.window};
  legal.input.dims.resize(convolution.operand(0).shape().rank());
  legal.cut.dims.resize(convolution.shape().rank());
  for (size_t i = 0; i < attrs.window.dims.size(); ++i) {
    const WindowDim& d = attrs.window.dims[i];
    WindowDim& to = legal.window.dims[i];
    PaddingDim &input = legal.input.dims[labels.lhs_spatial[i]], &cut = legal.cut.dims[labels.out_spatial[i]];
    switch (kind) {
      case Kind::kForward: MakeForward(d, to, input); break;
      case Kind::kInputGradient: MakeInputGradient(d, to, cut); break;
      case Kind::kFilterGradient: MakeFilterGradient(d, to, input); break;
    }
  }
  legal.changed = legal.window != attrs.window;
  return legal;
}

// Not exact: padding zeros are multiplied too, and give NaN with an infinite filter element.
Result<Instruction*> LegalisePadding(Instruction& inst, const PassContext& context) {
  if (!context.device->is_gpu || LibraryOf(inst) != "convolution" || HasPlan(inst)) return nullptr;
  const ConvolutionCall call = ReadConvolutionCall(inst);
  if (call.convolution == nullptr) return nullptr;
  Instruction &input = inst.operand(call.input), &filter = inst.operand(call.filter);
  const Legal legal = Legalise(*call.convolution, KindOf(*call.convolution, filter));
  const bool is_cut = legal.cut != PaddingConfig{std::vector<PaddingDim>(legal.cut.dims.size())};
  if (!legal.changed || (is_cut && !call.convolution->IsRoot())) return nullptr;
  ConvolutionAttrs attrs = call.convolution->attrs<ConvolutionAttrs>();
  attrs.window = legal.window;
  Instruction* const padded = PadWithZeros(inst, input, legal.input);
  Dims dims = call.convolution->shape().dims();
  for (size_t d = 0; d < dims.size(); ++d) dims[d] -= legal.cut.dims[d].low + legal.cut.dims[d].high;
  Instruction& made = WithConvolution(inst, call, *padded, filter, attrs, call.convolution->shape().WithDims(dims));
  return is_cut ? PadWithZeros(inst, made, legal.cut) : &made;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"G.fusion.2", Opcode::kFusion, LegalisePadding, Preserves::kReassociates, "convolution(x, k) => slice(convolution(pad(x), k)), with equal padding at both ends"},
};
// clang-format on

}  // namespace

std::span<const Rule> ConvolutionPaddingRules() { return kRules; }

Result<bool> LegaliseConvolutionPadding(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
