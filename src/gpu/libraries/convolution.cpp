#include "gpu/libraries/convolution.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace hlo::gpu {
ConvolutionTensor Ordered(const View& view, int64_t first, int64_t second, const std::vector<int64_t>& spatial) {
  ConvolutionTensor tensor{.operand = view.operand, .type = view.type};
  const auto add = [&](int64_t dim) {
    tensor.dims.push_back(view.dims[dim]);
    tensor.strides.push_back(view.strides[dim]);
  };
  add(first);
  add(second);
  for (const int64_t dim : spatial) add(dim);
  return tensor;
}

bool IsBroadcast(const ConvolutionTensor& tensor) {
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] > 1 && tensor.strides[d] == 0) return true;
  }
  return false;
}

namespace {

// A gradient of weights is computed like a forward convolution, but sums over the batch, which is usually outermost. If
// batch or features have one element, the order of these dimensions decides.
bool IsWeightGradient(const Contraction& contraction, const ConvolutionAttrs& attrs) {
  if (attrs.feature_group_count != 1) return false;
  if (attrs.batch_group_count != 1) return true;
  const int64_t batch = attrs.dim_labels.lhs_batch, feature = attrs.dim_labels.lhs_feature;
  const View& images = contraction.lhs;
  if (images.dims[batch] > 1 && images.dims[feature] > 1) return images.strides[feature] > images.strides[batch];
  return feature < batch;
}

// The high padding, or nullopt if it is negative. With a stride, several paddings have the same result. More library
// kernels accept equal paddings, so the nearest to `pad_low` is chosen.
std::optional<int64_t> PaddingBehind(const ConvolutionDim& dim, int64_t images, int64_t weights, int64_t outputs) {
  const int64_t least = (outputs - 1) * dim.stride + dim.dilation * (weights - 1) + 1 - images - dim.pad_low;
  const int64_t most = least + dim.stride - 1;
  if (most < 0) return std::nullopt;
  return std::clamp(dim.pad_low, std::max<int64_t>(least, 0), most);
}

// Reads one dimension's window into `dim`. Returns "", or why libraries do not support it.
std::string ReadWindow(const WindowDim& window, ConvolutionKind kind, int64_t weights, ConvolutionDim* dim) {
  switch (kind) {
    case ConvolutionKind::kDgrad:
      if (window.stride != 1) return "it has both a stride and a dilated input";
      *dim = {.stride = window.base_dilation,
              .dilation = window.window_dilation,
              .pad_low = (weights - 1) * window.window_dilation - window.pad_low,
              .flipped = !window.reversed};
      break;
    case ConvolutionKind::kWgrad:
      if (window.reversed && window.size > 1) return "its window, the gradient of the outputs, is reversed";
      *dim = {.stride = window.window_dilation, .dilation = window.stride, .pad_low = window.pad_low};
      break;
    default:
      *dim = {.stride = window.stride,
              .dilation = window.window_dilation,
              .pad_low = window.pad_low,
              .flipped = window.reversed};
  }
  dim->flipped &= weights > 1;
  return dim->pad_low < 0 ? "it has negative padding" : "";
}

ConvolutionTensor ResultOrdered(const View& view, ConvolutionKind kind, const DimLabels& labels) {
  if (kind == ConvolutionKind::kWgrad) return Ordered(view, labels.out_feature, labels.out_batch, labels.out_spatial);
  return Ordered(view, labels.out_batch, labels.out_feature, labels.out_spatial);
}

void ReadTensors(const Contraction& contraction, const DimLabels& labels, ConvolutionProblem& problem) {
  const View &lhs = contraction.lhs, &rhs = contraction.rhs;
  const ConvolutionTensor result = ResultOrdered(contraction.result, problem.kind, labels);
  switch (problem.kind) {
    case ConvolutionKind::kDgrad:
      problem.outputs = Ordered(lhs, labels.lhs_batch, labels.lhs_feature, labels.lhs_spatial);
      problem.weights = Ordered(rhs, labels.rhs_input_feature, labels.rhs_output_feature, labels.rhs_spatial);
      problem.images = result;
      break;
    case ConvolutionKind::kWgrad:
      problem.images = Ordered(lhs, labels.lhs_feature, labels.lhs_batch, labels.lhs_spatial);
      problem.outputs = Ordered(rhs, labels.rhs_input_feature, labels.rhs_output_feature, labels.rhs_spatial);
      problem.weights = result;
      break;
    default:
      problem.images = Ordered(lhs, labels.lhs_batch, labels.lhs_feature, labels.lhs_spatial);
      problem.weights = Ordered(rhs, labels.rhs_output_feature, labels.rhs_input_feature, labels.rhs_spatial);
      problem.outputs = result;
  }
}

}  // namespace

std::vector<int64_t> OrderInMemory(const ConvolutionTensor& tensor) {
  std::vector<int64_t> order;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] != 1) order.push_back(static_cast<int64_t>(d));
  }
  std::ranges::stable_sort(order, std::greater<>(), [&](int64_t d) { return tensor.strides[d]; });
  return order;
}

bool ConvolutionTensor::IsDense() const {
  const std::vector<int64_t> order = OrderInMemory(*this);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (strides[order[i]] != next) return false;
    next *= dims[order[i]];
  }
  return true;
}

ConvolutionAnswer ReadConvolution(const Contraction& contraction) {
  ConvolutionAnswer answer;
  const auto no = [&](std::string why) {
    answer.why_not = std::move(why);
    return std::move(answer);
  };
  const auto& attrs = contraction.product->attrs<ConvolutionAttrs>();
  const std::vector<WindowDim>& window = attrs.window.dims;
  if (attrs.kind != ConvolutionKind::kUnset && attrs.kind != ConvolutionKind::kFprop)
    return no("its convolution_kind changes the roles of its operands");
  for (const View* view : {&contraction.lhs, &contraction.rhs, &contraction.result}) {
    if (std::ranges::find(view->dims, 0) != view->dims.end()) return no("it is empty");
  }
  ConvolutionProblem& problem = answer.problem;
  const bool dilated = std::ranges::any_of(window, [](const WindowDim& dim) { return dim.base_dilation != 1; });
  const bool cut = std::ranges::any_of(window, [](const WindowDim& dim) { return dim.pad_low < 0; });
  if (IsWeightGradient(contraction, attrs)) {
    if (dilated) return no("it is a gradient of weights with a dilated input");
    problem.kind = ConvolutionKind::kWgrad;
    problem.groups = attrs.batch_group_count;
  } else {
    // Gradients of images have dilated inputs or negative padding. Other gradients of images equal a forward
    // convolution with reversed weights.
    problem.kind = dilated || cut ? ConvolutionKind::kDgrad : ConvolutionKind::kFprop;
    problem.groups = attrs.feature_group_count;
    if (problem.kind == ConvolutionKind::kDgrad && problem.groups != 1)
      return no("it is a gradient of images with groups");
  }
  ReadTensors(contraction, attrs.dim_labels, problem);
  for (const ConvolutionTensor* tensor : {&problem.images, &problem.weights, &problem.outputs}) {
    if (IsBroadcast(*tensor)) return no("an operand is broadcast");
  }
  for (size_t i = 0; i < window.size(); ++i) {
    const size_t d = i + 2;
    ConvolutionDim dim;
    if (std::string why_not = ReadWindow(window[i], problem.kind, problem.weights.dims[d], &dim); !why_not.empty())
      return no(std::move(why_not));
    const auto behind = PaddingBehind(dim, problem.images.dims[d], problem.weights.dims[d], problem.outputs.dims[d]);
    if (!behind) return no("it has negative padding");
    dim.pad_high = *behind;
    problem.spatial.push_back(dim);
  }
  for (const EpilogueStep& step : contraction.epilogue) {
    ConvolutionStep read{step.op, step.view.constant, {.operand = step.view.operand, .type = step.view.type}};
    if (step.op != EpilogueOp::kRelu && step.view.operand >= 0) {
      read.tensor = ResultOrdered(step.view, problem.kind, attrs.dim_labels);
      for (size_t d = 0; d < read.tensor.dims.size(); ++d) {
        if (read.tensor.strides[d] == 0) read.tensor.dims[d] = 1;
      }
    }
    problem.epilogue.push_back(std::move(read));
  }
  for (const ResultSum& sum : contraction.sums) {
    if (problem.kind != ConvolutionKind::kFprop || sum.channels != attrs.dim_labels.out_feature)
      return no("it has sums that are not one sum for each channel of a forward convolution");
  }
  problem.stored = contraction.stored;
  problem.sums = contraction.sums;
  return answer;
}

}  // namespace hlo::gpu
