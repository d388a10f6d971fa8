// gpu-conv-algorithm-picker and gemm-algorithm-picker: write the algorithm of a library call and its workspace to its
// plan (ir/fusion_plan.h), by rules of thumb. XLA's passes measure algorithms.
//
// If no library accepts the call, our kernels ignore this plan.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "passes/libraries/library_call.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kMiB = 1 << 20;

struct Choice {
  KernelKind kind;
  std::string_view algorithm;
  int64_t workspace;
};

// cuBLASLt's first choice. The workspace is XLA's: split sums on Hopper need more.
Choice ChooseGemm(const Instruction&, const DeviceDescription& device) {
  return {KernelKind::kGemm, "heuristic_0", device.compute_capability >= 90 ? 32 * kMiB : 4 * kMiB};
}

// One of cuDNN's deterministic forward algorithms. Winograd saves multiplications for windows of 3x3 with stride 1, if
// enough channels pay for its transforms. Large windows use Fourier transforms in tiles of 32x32 complex numbers. All
// others use an implicit matrix product.
Choice ChooseConvolution(const Instruction& call, const DeviceDescription&) {
  constexpr int64_t kManyChannels = 64, kLargeWindow = 9;
  const Instruction& convolution = *ProductOf(call);
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape &input = convolution.operand(0).shape(), &output = convolution.shape();
  const bool is_plane = attrs.window.dims.size() == 2 && attrs.feature_group_count == 1 && attrs.batch_group_count == 1;
  const auto all = [&](auto holds) { return std::ranges::all_of(attrs.window.dims, holds); };
  const bool is_dense =
      all([](const WindowDim& d) { return d.stride == 1 && d.base_dilation == 1 && d.window_dilation == 1; });
  const int64_t inputs = input.dim(labels.lhs_feature), outputs = output.dim(labels.out_feature);
  const int64_t batch = output.dim(labels.out_batch), bytes = BitWidth(output.type()) / 8;
  const auto tiles = [&](int64_t size) {
    int64_t count = batch;
    for (const int64_t d : labels.out_spatial) count *= (output.dim(d) + size - 1) / size;
    return count;
  };
  if (is_plane && is_dense && std::min(inputs, outputs) >= kManyChannels &&
      all([](const WindowDim& d) { return d.size == 3; }))
    return {KernelKind::kConvolution, "winograd_nonfused",
            (tiles(4) * (inputs + outputs) + inputs * outputs) * 36 * bytes};
  if (is_plane && is_dense && all([](const WindowDim& d) { return d.size >= kLargeWindow; }))
    return {KernelKind::kConvolution, "fft_tiling", (tiles(32) * (inputs + outputs) + inputs * outputs) * 32 * 32 * 8};
  return {KernelKind::kConvolution, "implicit_precomp_gemm", kMiB};
}

Result<bool> Pick(Module& module, const PassContext& context, std::string_view library,
                  Choice (*choose)(const Instruction& call, const DeviceDescription& device)) {
  if (!context.device->is_gpu) return false;
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->Instructions()) {
      if (LibraryOf(*inst) != library || HasPlan(*inst) || ProductOf(*inst) == nullptr || !context.ConsumeFuel())
        continue;
      const auto [kind, algorithm, workspace] = choose(*inst, *context.device);
      KernelPlan kernel{.kind = kind};
      kernel.algorithm = algorithm;
      kernel.workspace = workspace;
      SetPlan(*inst, {.target = std::string(context.device->name), .kernels = {kernel}});
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Result<bool> PickConvolutionAlgorithms(Module& module, const PassContext& context) {
  return Pick(module, context, "convolution", ChooseConvolution);
}

Result<bool> PickGemmAlgorithms(Module& module, const PassContext& context) {
  return Pick(module, context, "gemm", ChooseGemm);
}

}  // namespace hlo
