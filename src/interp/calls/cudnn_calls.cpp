#include <algorithm>

#include "base/text.h"
#include "interp/calls/meaning.h"

namespace hlo {
namespace {

struct ConvolutionConfig {
  double result_scale = 1, side_scale = 0, leaky_alpha = 0;
  std::string activation = "kNone";
};

Result<ConvolutionConfig> ReadConvolution(const Instruction& inst) {
  const JsonValue json = TRY(ConfigOf(inst, "cudnn_conv_backend_config"));
  ConvolutionConfig config;
  if (json.AsObject() == nullptr || json.AsObject()->keys.empty()) return config;
  if (!json["conv_result_scale"].IsNull()) config.result_scale = NumberOf(json["conv_result_scale"]);
  config.side_scale = NumberOf(json["side_input_scale"]);
  config.leaky_alpha = NumberOf(json["leakyrelu_alpha"]);
  // Older dumps have indices of this list.
  constexpr const char* kByNumber[] = {"kNone", "kSigmoid", "kRelu", "kRelu6"};
  const JsonValue& mode = json["activation_mode"];
  if (const std::string* name = mode.String(); name != nullptr && name->starts_with('k')) {
    config.activation = *name;
  } else if (const auto number = static_cast<size_t>(NumberOf(mode)); number < std::size(kByNumber)) {
    config.activation = kByNumber[number];
  } else {
    config.activation = mode.ToString();
  }
  return config;
}

Result<Instruction*> Activated(Meaning& m, const ConvolutionConfig& config, Instruction* x) {
  const std::string& name = config.activation;
  if (name == "kNone") return x;
  if (name == "kRelu") return Relu(m, x);
  if (name == "kRelu6") return m.Clamped(x, 0, 6);
  if (name == "kSigmoid") return m.Unary(Opcode::kLogistic, x);
  if (name == "kTanh") return m.Unary(Opcode::kTanh, x);
  if (name == "kElu") return m.IfAbove(x, 0, x, m.Unary(Opcode::kExpm1, x));
  if (name == "kLeakyRelu") return m.IfAbove(x, 0, x, m.Scaled(x, config.leaky_alpha));
  FAIL(UnsupportedCall(m.call(), Str("with activation ", name)));
}

// Rejects dimensions without labels. With `vectors`, each array may have one.
Status CheckConvolution(const Meaning& m, bool vectors = false) {
  const CustomCallAttrs& attrs = m.call().attrs<CustomCallAttrs>();
  if (m.operand_count() < 2) FAIL(WrongOperands(m.call()));
  if (!attrs.dim_labels) FAIL(UnsupportedCall(m.call(), "without dim_labels"));
  const int64_t rank = static_cast<int64_t>(attrs.dim_labels->lhs_spatial.size()) + 2;
  if (static_cast<int64_t>(attrs.window.dims.size()) + 2 != rank)
    FAIL(UnsupportedCall(m.call(), "whose window does not fit its dim_labels"));
  const int64_t ranks[] = {m.operand(0)->shape().rank(), m.operand(1)->shape().rank(), MainShape(m.call()).rank()};
  for (const int64_t one : ranks) {
    if (one != ranks[0] || (one != rank && !(vectors && one == rank + 1)))
      FAIL(UnsupportedCall(m.call(), "whose tensors have dimensions without labels"));
  }
  return {};
}

// Vectors of features are a last dimension without a label.
bool HasVectors(const Meaning& m) {
  return MainShape(m.call()).rank() == static_cast<int64_t>(m.call().attrs<CustomCallAttrs>().window.dims.size()) + 3;
}
Instruction* WithoutVectors(Meaning& m, Instruction* x, int64_t feature) {
  const int64_t last = x->shape().rank() - 1;
  std::vector<int64_t> order;
  Dims dims;
  for (int64_t d = 0; d < last; ++d) {
    order.push_back(d);
    dims.push_back(x->shape().dim(d) * (d == feature ? x->shape().dim(last) : 1));
    if (d == feature) order.push_back(last);
  }
  return m.Reshaped(m.Transposed(x, order), dims);
}
Instruction* InVectors(Meaning& m, Instruction* x, int64_t feature, int64_t size) {
  std::vector<int64_t> order;
  Dims dims;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    dims.push_back(d == feature ? x->shape().dim(d) / size : x->shape().dim(d));
    if (d == feature) dims.push_back(size);
    order.push_back(d <= feature ? d : d + 1);
  }
  order.push_back(feature + 1);
  return m.Transposed(m.Reshaped(x, dims), order);
}

PrimitiveType SumType(const Meaning& m) {
  const bool integers = IsInteger(m.operand(0)->shape().type()) && IsInteger(m.operand(1)->shape().type());
  return integers ? PrimitiveType::kS32 : WideTypeOf(MainShape(m.call()).type());
}

// act(result_scale * convolution + side_scale * side + bias)
Result<CallResults> FinishConvolution(Meaning& m, Instruction* x, int64_t feature) {
  const ConvolutionConfig config = TRY(ReadConvolution(m.call()));
  const PrimitiveType type = MainShape(m.call()).type();
  const bool plain = m.operand_count() == 2 && config.result_scale == 1 && config.activation == "kNone";
  if (!plain || !IsInteger(type)) x = m.Converted(x, WideTypeOf(type));
  x = m.Scaled(x, config.result_scale);
  if (m.operand_count() > 4) FAIL(WrongOperands(m.call()));
  if (m.operand_count() == 4) {
    Instruction* const side = HasVectors(m) ? WithoutVectors(m, m.operand(3), feature) : m.operand(3);
    if (!SameDims(side->shape(), x->shape()))
      FAIL(UnsupportedCall(
          m.call(), Str("whose added operand ", side->shape(), " has other dimensions than its result ", x->shape())));
    x = m.Plus(x, m.Scaled(m.Converted(side, x->shape().type()), config.side_scale));
  }
  if (m.operand_count() >= 3) {
    Instruction* const bias = m.operand(2);
    if (bias->shape().rank() != 1 || bias->shape().dim(0) != x->shape().dim(feature))
      FAIL(UnsupportedCall(
          m.call(), Str("whose bias ", bias->shape(), " is not a vector of ", x->shape().dim(feature), " features")));
    x = m.Plus(x, m.Broadcast(m.Converted(bias, x->shape().type()), x->shape(), {feature}));
  }
  x = m.Rounded(TRY(Activated(m, config, x)), type);
  return CallResults{HasVectors(m) ? InVectors(m, x, feature, MainShape(m.call()).dims().back()) : x};
}

std::vector<int64_t> Listed(const std::vector<int64_t>& spatial, std::initializer_list<int64_t> after) {
  std::vector<int64_t> all = spatial;
  all.insert(all.end(), after);
  return all;
}

int64_t PadHigh(const WindowDim& d, int64_t base, int64_t out) {
  const int64_t dilated_base = base == 0 ? 0 : (base - 1) * d.base_dilation + 1;
  const int64_t dilated_window = (d.size - 1) * d.window_dilation + 1;
  return (out - 1) * d.stride + dilated_window - dilated_base - d.pad_low;
}

}  // namespace

// (input, filter[, bias[, side_input]]) -> (result, workspace)
Result<CallResults> MeaningOfConvolution(Meaning& m) {
  TRY(CheckConvolution(m, true));
  const CustomCallAttrs& attrs = m.call().attrs<CustomCallAttrs>();
  ConvolutionAttrs conv;
  conv.window = attrs.window;
  conv.dim_labels = *attrs.dim_labels;
  conv.feature_group_count = attrs.feature_group_count;
  conv.batch_group_count = attrs.batch_group_count;
  Instruction *input = m.operand(0), *filter = m.operand(1);
  Shape shape = MainShape(m.call()).WithType(SumType(m)).WithDefaultLayout();
  if (HasVectors(m)) {
    if (TRY(ConfigOf(m.call(), "cudnn_conv_backend_config"))["reordered_int8_nchw_vect"].IsTrue())
      FAIL(UnsupportedCall(m.call(), "with a filter in cuDNN's own order"));
    input = WithoutVectors(m, input, conv.dim_labels.lhs_feature);
    filter = WithoutVectors(m, filter, conv.dim_labels.rhs_input_feature);
    Dims dims(shape.dims().begin(), shape.dims().end() - 1);
    dims[conv.dim_labels.out_feature] *= shape.dims().back();
    shape = Shape(shape.type(), dims);
  }
  return FinishConvolution(m, m.Add(Opcode::kConvolution, shape, {input, filter}, conv), conv.dim_labels.out_feature);
}

// (gradient of the output, filter) -> (gradient of the input, workspace). In the forward convolution, positions x, y
// and k of input, output and window meet if base_dilation * x = y * stride + k * window_dilation - pad_low. So stride
// and base dilation change places, and the filter is reversed.
Result<CallResults> MeaningOfConvolutionInputGradient(Meaning& m) {
  TRY(CheckConvolution(m));
  const CustomCallAttrs& attrs = m.call().attrs<CustomCallAttrs>();
  const DimLabels& labels = *attrs.dim_labels;
  const Shape &gradient = m.operand(0)->shape(), &filter = m.operand(1)->shape(), &shape = MainShape(m.call());
  const int64_t groups = attrs.feature_group_count, inputs = filter.dim(labels.rhs_input_feature),
                outputs = filter.dim(labels.rhs_output_feature);
  if (m.operand_count() != 2 || attrs.batch_group_count != 1) FAIL(WrongOperands(m.call()));
  if (inputs * groups != shape.dim(labels.lhs_feature) || outputs != gradient.dim(labels.out_feature) ||
      outputs % groups != 0 || gradient.dim(labels.out_batch) != shape.dim(labels.lhs_batch)) {
    FAIL(UnsupportedCall(m.call(), "whose batch and feature dimensions do not fit each other"));
  }
  const int64_t spatial = static_cast<int64_t>(labels.lhs_spatial.size());
  Instruction* turned =
      m.Transposed(m.operand(1), Listed(labels.rhs_spatial, {labels.rhs_input_feature, labels.rhs_output_feature}));
  Dims sizes(turned->shape().dims().begin(), turned->shape().dims().end() - 2), split = sizes;
  for (const int64_t size : {inputs, groups, outputs / groups}) split.push_back(size);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < spatial; ++d) order.push_back(d);
  turned = m.Transposed(m.Reshaped(turned, split), Listed(order, {spatial + 2, spatial + 1, spatial}));
  for (const int64_t size : {outputs / groups, groups * inputs}) sizes.push_back(size);
  turned = m.Reshaped(turned, sizes);

  ConvolutionAttrs conv;
  conv.feature_group_count = groups;
  conv.dim_labels = {.lhs_batch = labels.out_batch,
                     .lhs_feature = labels.out_feature,
                     .rhs_input_feature = spatial,
                     .rhs_output_feature = spatial + 1,
                     .out_batch = labels.lhs_batch,
                     .out_feature = labels.lhs_feature,
                     .lhs_spatial = labels.out_spatial,
                     .rhs_spatial = order,
                     .out_spatial = labels.lhs_spatial};
  for (int64_t d = 0; d < spatial; ++d) {
    const WindowDim& forward = attrs.window.dims[d];
    WindowDim back = {.size = forward.size,
                      .stride = forward.base_dilation,
                      .pad_low = (forward.size - 1) * forward.window_dilation - forward.pad_low,
                      .base_dilation = forward.stride,
                      .window_dilation = forward.window_dilation,
                      .reversed = !forward.reversed};
    back.pad_high = PadHigh(back, gradient.dim(labels.out_spatial[d]), shape.dim(labels.lhs_spatial[d]));
    conv.window.dims.push_back(back);
  }
  Instruction* const x =
      m.Add(Opcode::kConvolution, shape.WithType(SumType(m)).WithDefaultLayout(), {m.operand(0), turned}, conv);
  return FinishConvolution(m, x, labels.lhs_feature);
}

// (input, gradient of the output) -> (gradient of the filter, workspace). The input's batch and features change places,
// and so do stride and window dilation.
Result<CallResults> MeaningOfConvolutionFilterGradient(Meaning& m) {
  TRY(CheckConvolution(m));
  const CustomCallAttrs& attrs = m.call().attrs<CustomCallAttrs>();
  const DimLabels& labels = *attrs.dim_labels;
  const Shape &input = m.operand(0)->shape(), &gradient = m.operand(1)->shape(), &shape = MainShape(m.call());
  const int64_t groups = attrs.feature_group_count;
  if (m.operand_count() != 2 || attrs.batch_group_count != 1) FAIL(WrongOperands(m.call()));
  if (shape.dim(labels.rhs_input_feature) * groups != input.dim(labels.lhs_feature) ||
      shape.dim(labels.rhs_output_feature) != gradient.dim(labels.out_feature) ||
      gradient.dim(labels.out_feature) % groups != 0 || gradient.dim(labels.out_batch) != input.dim(labels.lhs_batch)) {
    FAIL(UnsupportedCall(m.call(), "whose batch and feature dimensions do not fit each other"));
  }
  ConvolutionAttrs conv;
  conv.batch_group_count = groups;
  conv.dim_labels = {.lhs_batch = labels.lhs_feature,
                     .lhs_feature = labels.lhs_batch,
                     .rhs_input_feature = labels.out_batch,
                     .rhs_output_feature = labels.out_feature,
                     .out_batch = labels.rhs_input_feature,
                     .out_feature = labels.rhs_output_feature,
                     .lhs_spatial = labels.lhs_spatial,
                     .rhs_spatial = labels.out_spatial,
                     .out_spatial = labels.rhs_spatial};
  std::vector<int64_t> reversed;
  for (size_t d = 0; d < attrs.window.dims.size(); ++d) {
    const WindowDim& forward = attrs.window.dims[d];
    if (forward.reversed) reversed.push_back(labels.rhs_spatial[d]);
    WindowDim back = {.size = gradient.dim(labels.out_spatial[d]),
                      .stride = forward.window_dilation,
                      .pad_low = forward.pad_low,
                      .base_dilation = forward.base_dilation,
                      .window_dilation = forward.stride};
    back.pad_high = PadHigh(back, input.dim(labels.lhs_spatial[d]), shape.dim(labels.rhs_spatial[d]));
    conv.window.dims.push_back(back);
  }
  Instruction* x =
      m.Add(Opcode::kConvolution, shape.WithType(SumType(m)).WithDefaultLayout(), {m.operand(0), m.operand(1)}, conv);
  if (!reversed.empty()) x = m.Add(Opcode::kReverse, x->shape(), {x}, DimensionsAttrs{reversed});
  return FinishConvolution(m, x, labels.rhs_output_feature);
}

// (x, scale, bias) -> (y[, mean, 1 / deviation], workspace), normalised over all dimensions except the first.
Result<CallResults> MeaningOfLayerNorm(Meaning& m) {
  const JsonValue json = TRY(ConfigOf(m.call(), "cudnn_norm_backend_config"));
  const std::string* kind = json["kind"].String();
  if (kind != nullptr && *kind == "LAYER_BWD") FAIL(UnsupportedCall(m.call(), "of kind LAYER_BWD"));
  if (m.operand_count() != 3) FAIL(WrongOperands(m.call()));
  const Shape &x_shape = m.operand(0)->shape(), &scale_shape = m.operand(1)->shape();
  bool fits = x_shape.rank() > 1 && scale_shape.rank() == x_shape.rank() && scale_shape.dim(0) == 1 &&
              SameDims(scale_shape, m.operand(2)->shape());
  for (int64_t d = 1; fits && d < x_shape.rank(); ++d) fits = scale_shape.dim(d) == x_shape.dim(d);
  if (!fits) FAIL(UnsupportedCall(m.call(), Str("whose scale ", scale_shape, " does not fit its operand ", x_shape)));

  const PrimitiveType wide = WideTypeOf(MainShape(m.call()).type());
  Instruction* const x = m.Converted(m.operand(0), wide);
  const Shape& shape = x->shape();
  std::vector<int64_t> normalised, columns;
  double count = 1;
  Dims rows_dims = {shape.dim(0)}, kept_dims;
  for (int64_t d = 1; d < shape.rank(); ++d) {
    normalised.push_back(d);
    columns.push_back(d);
    count *= static_cast<double>(shape.dim(d));
    rows_dims.push_back(1);
    kept_dims.push_back(shape.dim(d));
  }
  const auto mean_of = [&](Instruction* value) {
    return m.Scaled(m.Reduced(value, normalised, Opcode::kAdd, 0), 1 / count);
  };
  Instruction* const mean = mean_of(x);
  Instruction* const centred = m.Binary(Opcode::kSubtract, x, m.Broadcast(mean, shape, {0}));
  Instruction* const variance = mean_of(m.Times(centred, centred));
  Instruction* const inverse =
      m.Unary(Opcode::kRsqrt, m.Plus(variance, m.Constant(NumberOf(json["epsilon"]), variance->shape())));
  const auto along_rows = [&](Instruction* value) {
    return m.Broadcast(m.Reshaped(m.Converted(value, wide), kept_dims), shape, columns);
  };
  Instruction* const y = m.Plus(m.Times(m.Times(centred, m.Broadcast(inverse, shape, {0})), along_rows(m.operand(1))),
                                along_rows(m.operand(2)));
  CallResults results = {m.Rounded(y, MainShape(m.call()).type())};
  if (kind != nullptr && *kind == "LAYER_FWD_TRAIN" && m.call().shape().IsTuple() &&
      m.call().shape().elements().size() >= 3) {
    results.push_back(m.Converted(m.Reshaped(mean, rows_dims), m.call().shape().element(1).type()));
    results.push_back(m.Converted(m.Reshaped(inverse, rows_dims), m.call().shape().element(2).type()));
  }
  return results;
}

}  // namespace hlo
