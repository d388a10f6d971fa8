#include "gpu/libraries/onednn.h"

#include <algorithm>

#include "base/host_isa.h"
#include "base/parallel.h"
#include "gpu/libraries/convolution.h"
#include "gpu/libraries/onednn_api.h"
#include "gpu/libraries/onednn_call.h"
#include "gpu/libraries/onednn_parts.h"

namespace hlo::gpu {

using namespace onednn;  // NOLINT: this file uses the whole namespace.

namespace {

// Replaces zero strides by dense ones, by which oneDNN recognises formats, also in dimensions of size 1.
std::vector<int64_t> Closed(const std::vector<int64_t>& dims, std::vector<int64_t> strides) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (strides[d] != 0) continue;
    strides[d] = d + 1 < dims.size() ? strides[d + 1] * dims[d + 1] : 1;
  }
  return strides;
}

int BinaryAlgorithm(EpilogueOp op) {
  switch (op) {
    case EpilogueOp::kAdd: return kBinaryAdd;
    case EpilogueOp::kSubtract: return kBinarySub;
    default: return kBinaryMul;
  }
}

LibraryAnswer NotTaken(std::string why) { return {nullptr, std::move(why)}; }

// Version 2 with AVX2 does not pack rhs, and rows that are a multiple of 2 KiB apart share sets of the first-level
// cache. Our kernel packs rhs and is faster from 32 rows on (bench/results/products.md#packed-products).
bool IsSlowWithAvx2(const Api& api, const MatrixProduct& product) {
  constexpr int64_t kFloats = 2048 / 4, kLeastRows = 32;
  return !api.IsVersion3() && !MayUseAvx512() && product.m >= kLeastRows && product.rhs.column == 1 &&
         product.rhs.row >= kFloats && product.rhs.row % kFloats == 0;
}

// Removes a last ReLU from `steps`. False if another is left.
template <class Step>
bool TakeRelu(std::vector<Step>& steps, bool* relu) {
  *relu = !steps.empty() && steps.back().op == EpilogueOp::kRelu;
  if (*relu) steps.pop_back();
  return std::none_of(steps.begin(), steps.end(), [](const Step& step) { return step.op == EpilogueOp::kRelu; });
}

// Small products use one thread, because waking oneDNN's threads takes longer.
int ThreadsFor(const MatrixProduct& product) {
  constexpr double kSmallFlop = 4e6;
  return Flop(product) < kSmallFlop ? 1 : Threads();
}

LibraryAnswer MakePart(const Api& api, const LibraryOptions& options, const MatrixProduct& product,
                       const ProductPart& part, int threads, bool relu) {
  const auto tensor = [&](const MatrixView& view, const Range& rows, const Range& columns) {
    Tensor tensor{kTypeF32, {rows.count, columns.count}, {view.row, view.column}};
    if (product.batch > 1) {
      tensor.dims.insert(tensor.dims.begin(), view.batch == 0 ? 1 : part.batch.count);
      tensor.strides.insert(tensor.strides.begin(), view.batch);
    }
    tensor.strides = Closed(tensor.dims, tensor.strides);
    tensor.offset = (part.batch.begin * view.batch + rows.begin * view.row + columns.begin * view.column) *
                    static_cast<int64_t>(sizeof(float));
    return tensor;
  };
  std::vector<BinaryStep> steps;
  for (const MatrixStep& step : product.epilogue) {
    const Range rows = step.strides.row != 0 ? part.rows : Range{},
                columns = step.strides.column != 0 ? part.columns : Range{};
    steps.push_back({BinaryAlgorithm(step.op), step.operand, step.constant, tensor(step.strides, rows, columns)});
  }
  const Range terms = {0, product.k};
  return MakeCall(api, options,
                  {.lhs = tensor(product.lhs, part.rows, terms),
                   .rhs = tensor(product.rhs, terms, part.columns),
                   .result = tensor(product.result, part.rows, part.columns),
                   .lhs_operand = product.lhs_operand,
                   .rhs_operand = product.rhs_operand,
                   .steps = std::move(steps),
                   .relu = relu},
                  threads);
}

std::string ReadWindow(const ConvolutionAttrs& attrs, Window* window) {
  for (const WindowDim& dim : attrs.window.dims) {
    if (dim.base_dilation != 1) return "its input is dilated";
    if (dim.reversed && dim.size > 1) return "its window is reversed";
    if (dim.pad_low < 0 || dim.pad_high < 0) return "it has negative padding";
    window->strides.push_back(dim.stride);
    window->dilates.push_back(dim.window_dilation - 1);
    window->pad_low.push_back(dim.pad_low);
    window->pad_high.push_back(dim.pad_high);
  }
  return "";
}

Tensor TensorOf(const ConvolutionTensor& tensor) { return {kTypeF32, tensor.dims, tensor.strides}; }

// Chooses strides for dimensions of size 1 by which oneDNN recognises formats.
Tensor WithFormat(Tensor tensor) {
  const bool channels_last = tensor.strides[1] == 1 || tensor.dims[1] == 1;
  const int64_t rank = static_cast<int64_t>(tensor.dims.size());
  std::vector<int64_t> order = {0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.insert(channels_last ? order.end() : order.begin() + 1, 1);
  int64_t next = 1;
  for (int64_t i = rank; i-- > 0;) {
    const int64_t d = order[i];
    if (tensor.dims[d] == 1) tensor.strides[d] = next;
    next = std::max(next, tensor.strides[d] * tensor.dims[d]);
  }
  return tensor;
}

Tensor WeightsOf(const ConvolutionTensor& tensor, int64_t groups) {
  Tensor weights = TensorOf(tensor);
  if (groups > 1) {
    weights.dims[0] /= groups;
    weights.dims.insert(weights.dims.begin(), groups);
    weights.strides.insert(weights.strides.begin(), weights.strides[0] * weights.dims[1]);
  }
  weights.strides = Closed(weights.dims, weights.strides);
  return weights;
}

std::vector<BinaryStep> StepsOf(const std::vector<EpilogueStep>& epilogue, const Contraction& contraction,
                                const DimLabels& labels) {
  std::vector<BinaryStep> steps;
  for (const EpilogueStep& step : epilogue) {
    const size_t rank = labels.out_spatial.size() + 2;
    Tensor operand{kTypeF32, std::vector<int64_t>(rank, 1), std::vector<int64_t>(rank, 1)};
    if (!step.view.dims.empty()) {
      operand = TensorOf(Ordered(step.view, labels.out_batch, labels.out_feature, labels.out_spatial));
      for (size_t d = 0; d < operand.dims.size(); ++d) {
        if (operand.strides[d] == 0) operand.dims[d] = 1;
      }
      operand = WithFormat(operand);
    }
    // In-place addition allows faster implementations.
    const bool in_place =
        step.op == EpilogueOp::kAdd && step.view.operand >= 0 && step.view.dims == contraction.result.dims &&
        step.view.strides == contraction.result.strides && std::ranges::none_of(steps, &BinaryStep::in_place);
    steps.push_back({BinaryAlgorithm(step.op), step.view.operand, step.view.constant, std::move(operand), in_place});
  }
  return steps;
}

}  // namespace

Result<std::string> OneDnnVersion(const std::vector<std::string>& search) { return TRY(GetApi(search))->VersionText(); }

Result<LibraryAnswer> OneDnnMatrixProduct(const MatrixProduct& original, const LibraryOptions* options) {
  MatrixProduct product = original;
  for (const PrimitiveType type : {product.lhs_type, product.rhs_type, product.result_type}) {
    if (type != PrimitiveType::kF32) return NotTaken(Str("hlokit uses oneDNN only for f32, not ", type));
  }
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return NotTaken("it is empty");
  bool relu;
  if (!TakeRelu(product.epilogue, &relu)) return NotTaken("a ReLU is not the last step of its epilogue");
  // oneDNN writes contiguous rows. For contiguous columns, computes D' = B' A'.
  if (product.result.column != 1 && product.n > 1) {
    const auto transpose = [](MatrixView& view) { std::swap(view.row, view.column); };
    std::swap(product.lhs, product.rhs);
    std::swap(product.lhs_operand, product.rhs_operand);
    std::swap(product.m, product.n);
    transpose(product.lhs);
    transpose(product.rhs);
    transpose(product.result);
    for (MatrixStep& step : product.epilogue) transpose(step.strides);
    if (product.result.column != 1 && product.n > 1)
      return NotTaken("neither rows nor columns of the result are contiguous");
  }
  if (options == nullptr) return LibraryAnswer{};
  const auto api = GetApi(options->search);
  if (!api) return NotTaken(api.error().message());
  if (options->library.empty() && IsSlowWithAvx2(**api, product))
    return NotTaken("the rows of its second operand are a multiple of 2 KiB apart, which is slow with AVX2");
  std::vector<ProductPart> parts = ProductPartsOf(product);
  if (parts.size() == 1) return MakePart(**api, *options, product, parts[0], ThreadsFor(product), relu);
  std::vector<std::unique_ptr<LibraryCall>> calls;
  for (const ProductPart& part : parts) {
    LibraryAnswer answer = MakePart(**api, *options, product, part, /*threads=*/1, /*relu=*/false);
    if (answer.call == nullptr) return answer;
    calls.push_back(std::move(answer.call));
  }
  const int64_t relu_elements = relu ? product.batch * product.m * product.n : 0;
  return LibraryAnswer{InParts(std::move(calls), relu_elements), ""};
}

Result<LibraryAnswer> OneDnnConvolution(const Contraction& contraction, const LibraryOptions* options) {
  const auto& attrs = contraction.product->attrs<ConvolutionAttrs>();
  for (const PrimitiveType type : {contraction.lhs.type, contraction.rhs.type, contraction.result.type}) {
    if (type != PrimitiveType::kF32) return NotTaken(Str("hlokit uses oneDNN only for f32, not ", type));
  }
  if (attrs.batch_group_count != 1) return NotTaken("batch_group_count is not 1");
  const DimLabels& labels = attrs.dim_labels;
  const size_t spatial = labels.lhs_spatial.size();
  if (spatial < 1 || spatial > 3) return NotTaken(Str("it has ", spatial, " spatial dimensions"));
  if (std::ranges::count(contraction.result.dims, 0) > 0) return NotTaken("it is empty");
  Window window;
  if (std::string why = ReadWindow(attrs, &window); !why.empty()) return NotTaken(std::move(why));
  std::vector<EpilogueStep> epilogue = contraction.epilogue;
  bool relu;
  if (!TakeRelu(epilogue, &relu)) return NotTaken("a ReLU is not the last step of its epilogue");
  const ConvolutionTensor source = Ordered(contraction.lhs, labels.lhs_batch, labels.lhs_feature, labels.lhs_spatial);
  const ConvolutionTensor weights =
      Ordered(contraction.rhs, labels.rhs_output_feature, labels.rhs_input_feature, labels.rhs_spatial);
  if (IsBroadcast(source) || IsBroadcast(weights)) return NotTaken("an operand is broadcast");
  if (options == nullptr) return LibraryAnswer{};
  const auto api = GetApi(options->search);
  if (!api) return NotTaken(api.error().message());
  const ConvolutionTensor result =
      Ordered(contraction.result, labels.out_batch, labels.out_feature, labels.out_spatial);
  return MakeCall(**api, *options,
                  {.lhs = WithFormat(TensorOf(source)),
                   .rhs = WeightsOf(weights, attrs.feature_group_count),
                   .result = WithFormat(TensorOf(result)),
                   .lhs_operand = contraction.lhs.operand,
                   .rhs_operand = contraction.rhs.operand,
                   .packs_rhs = true,
                   .steps = StepsOf(epilogue, contraction, labels),
                   .relu = relu,
                   .window = &window},
                  Threads());
}

}  // namespace hlo::gpu
