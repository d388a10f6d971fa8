#include "tests/doubles/cudnn_double.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "base/small_floats.h"
#include "tests/doubles/double.h"

namespace hlo::gpu {
namespace {

using namespace cudnn;  // NOLINT: its numbers.

CudnnDouble* the_double = nullptr;

enum { kOk = 0, kBadParameter = 2000, kNotSupported = 3000, kFailed = 4000 };
constexpr int64_t kWorkspaceBytes = 256;
constexpr int kGraphOfConfig = -1;  // This attribute does not exist in cuDNN.

template <class... Args>
bool Expect(bool holds, const Args&... what) {
  if (!holds) the_double->violated(doubles::Words("cuDNN: ", what...));
  return holds;
}

struct Node {
  int kind = 0;
  bool is_final = false;
  std::map<int, std::vector<std::byte>> attributes;
  int64_t engine = -1;     // The engine of an engine descriptor or its configuration.
  void* stream = nullptr;  // The stream of a handle.

  template <class T>
  std::vector<T> All(int attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), found->second.size());
    return values;
  }
  template <class T>
  T One(int attribute) const {
    const std::vector<T> all = All<T>(attribute);
    Expect(all.size() == 1, "attribute ", attribute, " of kind ", kind, " has ", all.size(), " values");
    return all.empty() ? T() : all[0];
  }
  Node& Ref(int attribute) const {
    auto* node = static_cast<Node*>(One<Handle>(attribute));
    Expect(node != nullptr && node->is_final, "attribute ", attribute, " of kind ", kind, " is not finalized");
    return *node;
  }
};

Node& NodeOf(Handle handle) { return *static_cast<Node*>(handle); }

bool Fails() { return ++the_double->calls == the_double->fail_at; }

size_t SizeOf(int type) {
  switch (type) {
    case kTypeBoolean: return sizeof(bool);
    case kTypeFloat: return sizeof(float);
    case kTypeInt64: return sizeof(int64_t);
    case kTypeChar: return 1;
    case kTypeHandle:
    case kTypePointer:
    case kTypeDescriptor: return sizeof(void*);
    default: return sizeof(int);
  }
}

int Create(int kind, Handle* handle) {
  if (Fails()) return kFailed;
  *handle = new Node{.kind = kind};
  ++the_double->alive;
  return kOk;
}

int Destroy(Handle handle) {
  delete static_cast<Node*>(handle);
  --the_double->alive;
  return kOk;
}

int Set(Handle handle, int attribute, int type, int64_t count, const void* values) {
  if (Fails()) return kFailed;
  Node& node = NodeOf(handle);
  Expect(!node.is_final, "attribute ", attribute, " comes late");
  const auto* bytes = static_cast<const std::byte*>(values);
  node.attributes[attribute].assign(bytes, bytes + count * SizeOf(type));
  return kOk;
}

std::vector<int64_t> Integers(const Node& node, int attribute) { return node.All<int64_t>(attribute); }

const std::map<int, std::vector<int>> kNeeded = {
    {kTensor, {kTensorType, kTensorDims, kTensorStrides, kTensorAlignment, kTensorId}},
    {kConvolution,
     {kConvolutionPrecision, kConvolutionMode, kConvolutionRank, kConvolutionStrides, kConvolutionDilations,
      kConvolutionPadLow, kConvolutionPadHigh}},
    {kConvolutionForward,
     {kForwardAlpha, kForwardBeta, kForwardConvolution, kForwardWeights, kForwardImages, kForwardOutputs}},
    {kConvolutionImages,
     {kImagesAlpha, kImagesBeta, kImagesConvolution, kImagesWeights, kImagesImages, kImagesOutputs}},
    {kConvolutionWeights,
     {kWeightsAlpha, kWeightsBeta, kWeightsConvolution, kWeightsWeights, kWeightsImages, kWeightsOutputs}},
    {kPointwise, {kPointwiseModeOf, kPointwisePrecision}},
    {kPointwiseOperation, {kPointwiseDescriptor, kPointwiseX, kPointwiseY}},
    {kMatmul, {kMatmulPrecision}},
    {kMatmulOperation, {kMatmulDescriptor, kMatmulA, kMatmulB, kMatmulC}},
    {kReduction, {kReductionOperatorOf, kReductionPrecision}},
    {kReductionOperation, {kReductionDescriptor, kReductionX, kReductionY}},
    {kReshapeOperation, {kReshapeX, kReshapeY}},
    {kStatisticsOperation, {kStatisticsModeOf, kStatisticsPrecision, kStatisticsX, kStatisticsSum, kStatisticsSquares}},
    {kOperationGraph, {kGraphOperations, kGraphHandle}},
    {kHeuristic, {kHeuristicGraph, kHeuristicModeOf}},
    {kPlan, {kPlanConfig, kPlanHandle}},
    {kVariantPack, {kVariantIds, kVariantPointers, kVariantWorkspace}},
};

int Finalize(Handle handle) {
  if (Fails()) return kFailed;
  Node& node = NodeOf(handle);
  for (const int attribute : kNeeded.at(node.kind)) {
    if (!node.attributes.contains(attribute)) return kBadParameter;
  }
  if (node.kind == kTensor && Integers(node, kTensorDims).size() != Integers(node, kTensorStrides).size())
    return kBadParameter;
  if (node.kind == kPlan && node.Ref(kPlanConfig).engine < 0) return kBadParameter;
  node.is_final = true;
  return kOk;
}

int GetWorkspace(const Node& plan, int64_t* bytes) {
  *bytes = plan.Ref(kPlanConfig).engine == 2 ? int64_t{1} << 40 : kWorkspaceBytes;
  return kOk;
}

int Get(Handle handle, int attribute, int /*type*/, int64_t count, int64_t* found, void* values) {
  if (Fails()) return kFailed;
  Node& node = NodeOf(handle);
  *found = 1;
  switch (attribute) {
    case kPlanWorkspace: return GetWorkspace(node, static_cast<int64_t*>(values));
    case kEngineIndex: *static_cast<int64_t*>(values) = node.engine; return kOk;
    case kEngineNumericalNotes:
      *found = node.engine <= 1;
      if (*found > 0) *static_cast<int*>(values) = node.engine == 0 ? kNondeterministic : kTensorCore;
      return kOk;
    case kEngineBehaviorNotes: *found = 0; return kOk;
    case kConfigEngine: NodeOf(*static_cast<Handle*>(values)).engine = node.engine; return kOk;
    case kHeuristicResults: break;
    default: return kNotSupported;
  }
  const auto operations = node.Ref(kHeuristicGraph).All<Handle>(kGraphOperations);
  const int last = NodeOf(operations.back()).kind;
  const bool has_sums = last == kStatisticsOperation || last == kReductionOperation;
  const bool is_refused =
      (operations.size() > 1 && !has_sums && !the_double->takes_epilogues) || (has_sums && !the_double->takes_sums);
  const bool is_first = node.One<int>(kHeuristicModeOf) == kModeA;
  *found = is_refused ? 0 : is_first ? 3 : 1;
  for (int64_t i = 0; i < std::min(count, *found); ++i) {
    Node& config = NodeOf(static_cast<Handle*>(values)[i]);
    config.engine = is_first ? i : 3;
    config.attributes[kGraphOfConfig] = node.attributes.at(kHeuristicGraph);
    config.is_final = true;
  }
  return kOk;
}

// ---- Execution ---------------------------------------------------------------------------------------------------

class Execution {
 public:
  explicit Execution(const Node& pack) {
    const std::vector<int64_t> ids = Integers(pack, kVariantIds);
    const std::vector<void*> pointers = pack.All<void*>(kVariantPointers);
    Expect(ids.size() == pointers.size(), ids.size(), " tensors and ", pointers.size(), " pointers");
    for (size_t i = 0; i < ids.size(); ++i)
      Expect(pointers_.emplace(ids[i], pointers[i]).second, "tensor ", ids[i], " has two pointers");
  }

  void Run(const Node& operation) {
    switch (operation.kind) {
      case kPointwiseOperation: return Pointwise(operation);
      case kMatmulOperation: return Matmul(operation);
      case kReductionOperation: return Reduce(operation);
      case kStatisticsOperation: return Statistics(operation);
      case kReshapeOperation: return Reshape(operation);
      case kConvolutionForward:
        return Convolution(operation, ConvolutionKind::kFprop, kForwardConvolution, kForwardImages, kForwardWeights,
                           kForwardOutputs, kForwardAlpha);
      case kConvolutionImages:
        return Convolution(operation, ConvolutionKind::kDgrad, kImagesConvolution, kImagesImages, kImagesWeights,
                           kImagesOutputs, kImagesAlpha);
      case kConvolutionWeights:
        return Convolution(operation, ConvolutionKind::kWgrad, kWeightsConvolution, kWeightsImages, kWeightsWeights,
                           kWeightsOutputs, kWeightsAlpha);
      default: Expect(false, "operation of kind ", operation.kind);
    }
  }

  // Adds the memory that Run accesses. Run writes the last tensor of a row of kTensors, and both sums of statistics.
  void AddTouched(const Node& operation, std::vector<CudnnDouble::Touched>& touched) const {
    static const std::map<int, std::vector<int>> kTensors = {
        {kPointwiseOperation, {kPointwiseX, kPointwiseB, kPointwiseT, kPointwiseY}},
        {kMatmulOperation, {kMatmulA, kMatmulB, kMatmulC}},
        {kReductionOperation, {kReductionX, kReductionY}},
        {kReshapeOperation, {kReshapeX, kReshapeY}},
        {kStatisticsOperation, {kStatisticsX, kStatisticsSum, kStatisticsSquares}},
        {kConvolutionForward, {kForwardImages, kForwardWeights, kForwardOutputs}},
        {kConvolutionImages, {kImagesOutputs, kImagesWeights, kImagesImages}},
        {kConvolutionWeights, {kWeightsOutputs, kWeightsImages, kWeightsWeights}}};
    const auto found = kTensors.find(operation.kind);
    if (found == kTensors.end()) return;
    for (const int attribute : found->second) {
      if (!operation.attributes.contains(attribute)) continue;
      const Node& tensor = operation.Ref(attribute);
      const auto pointer = pointers_.find(tensor.One<int64_t>(kTensorId));
      if (pointer == pointers_.end() || Flag(tensor, kTensorIsByValue)) continue;
      const bool writes = attribute == found->second.back() || attribute == kStatisticsSum;
      touched.push_back({pointer->second, Bytes(tensor), writes});
    }
  }

  // Checks that each given pointer belongs to a tensor of the graph.
  void End() const { Expect(used_.size() == pointers_.size(), pointers_.size(), " pointers for ", used_.size()); }

 private:
  // The number of elements from the first to the last one, including gaps.
  static int64_t Extent(const Node& tensor) {
    const std::vector<int64_t> dims = Integers(tensor, kTensorDims), strides = Integers(tensor, kTensorStrides);
    int64_t extent = 1;
    for (size_t d = 0; d < dims.size(); ++d) extent += (dims[d] - 1) * strides[d];
    return extent;
  }

  static bool Flag(const Node& tensor, int attribute) {
    return tensor.attributes.contains(attribute) && tensor.One<uint8_t>(attribute) != 0;
  }

  // The elements of a tensor in its own strides, so a dense tensor is read in memory order.
  ConvolutionArray Read(const Node& tensor) {
    ConvolutionArray array{Integers(tensor, kTensorDims), Integers(tensor, kTensorStrides), {}};
    array.elements.resize(Extent(tensor));
    const int64_t id = tensor.One<int64_t>(kTensorId);
    if (Flag(tensor, kTensorIsVirtual)) {
      Expect(inside_.contains(id), "tensor ", id, " is read before it is written");
      array.elements = inside_[id];
      return array;
    }
    const void* data = Pointer(tensor, id);
    if (data == nullptr) return array;
    for (size_t i = 0; i < array.elements.size(); ++i) {
      switch (tensor.One<int>(kTensorType)) {
        case kFloat: array.elements[i] = static_cast<const float*>(data)[i]; break;
        case kBFloat16: array.elements[i] = BF16ToFloat(static_cast<const uint16_t*>(data)[i]); break;
        default: array.elements[i] = F16ToFloat(static_cast<const uint16_t*>(data)[i]);
      }
    }
    return array;
  }

  void Write(const Node& tensor, std::vector<double> elements) {
    const int64_t id = tensor.One<int64_t>(kTensorId);
    if (Flag(tensor, kTensorIsVirtual)) {
      const int type = tensor.One<int>(kTensorType);
      for (double& element : elements) {
        if (type == kBFloat16) element = BF16ToFloat(FloatToBF16(static_cast<float>(element)));
        if (type == kHalf) element = F16ToFloat(FloatToF16(static_cast<float>(element)));
      }
      inside_[id] = std::move(elements);
      return;
    }
    void* data = Pointer(tensor, id);
    if (data == nullptr) return;
    const ConvolutionArray places{Integers(tensor, kTensorDims), Integers(tensor, kTensorStrides), {}};
    ForEachIndex(places.dims, [&](const std::vector<int64_t>& index) {
      const int64_t i = At(places, index);
      const auto value = static_cast<float>(elements[i]);
      switch (tensor.One<int>(kTensorType)) {
        case kFloat: static_cast<float*>(data)[i] = value; break;
        case kBFloat16: static_cast<uint16_t*>(data)[i] = FloatToBF16(value); break;
        default: static_cast<uint16_t*>(data)[i] = FloatToF16(value);
      }
    });
  }

  // The memory of a tensor. Null after a violation if the memory is not complete.
  void* Pointer(const Node& tensor, int64_t id) {
    Expect(pointers_.contains(id), "no pointer for tensor ", id);
    used_.insert(id);
    void* const data = pointers_[id];
    if (!Expect(data != nullptr, "tensor ", id, " is nowhere") || Flag(tensor, kTensorIsByValue)) return data;
    const int64_t alignment = tensor.One<int64_t>(kTensorAlignment);
    Expect(reinterpret_cast<uintptr_t>(data) % alignment == 0, "tensor ", id, " is no multiple of ", alignment);
    return the_double->is_memory == nullptr || the_double->is_memory(data, Bytes(tensor)) ? data : nullptr;
  }

  static size_t Bytes(const Node& tensor) { return Extent(tensor) * (tensor.One<int>(kTensorType) == kFloat ? 4 : 2); }

  void Convolution(const Node& operation, ConvolutionKind kind, int convolution, int images, int weights, int outputs,
                   int alpha) {
    const Node& window = operation.Ref(convolution);
    const auto strides = Integers(window, kConvolutionStrides), dilations = Integers(window, kConvolutionDilations),
               low = Integers(window, kConvolutionPadLow), high = Integers(window, kConvolutionPadHigh);
    ConvolutionProblem problem{.kind = kind};
    for (size_t i = 0; i < strides.size(); ++i) problem.spatial.push_back({strides[i], dilations[i], low[i], high[i]});
    const Node &image = operation.Ref(images), &weight = operation.Ref(weights), &output = operation.Ref(outputs);
    const Node& result = kind == ConvolutionKind::kFprop ? output : kind == ConvolutionKind::kDgrad ? image : weight;
    const auto read = [&](const Node& tensor) {
      if (&tensor != &result) return Read(tensor);
      ConvolutionArray zeros{Integers(tensor, kTensorDims), Integers(tensor, kTensorStrides), {}};
      zeros.elements.resize(Extent(tensor));
      return zeros;
    };
    ConvolutionArray x = read(image), w = read(weight), y = read(output);
    problem.groups = x.dims[1] / w.dims[1];
    Convolve(problem, x, w, y);
    ConvolutionArray& sum = &result == &output ? y : &result == &image ? x : w;
    for (double& element : sum.elements) element *= operation.One<float>(alpha);
    Write(result, std::move(sum.elements));
  }

  // Calls f(index) for each element. The last dimension changes fastest.
  template <class F>
  static void ForEachIndex(const std::vector<int64_t>& dims, const F& f) {
    std::vector<int64_t> index(dims.size());
    for (;;) {
      f(index);
      size_t d = index.size();
      while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
      if (d == 0) return;
    }
  }
  // The offset of an element. A dimension of size 1 is broadcast.
  static int64_t At(const ConvolutionArray& array, const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += array.dims[d] == 1 ? 0 : index[d] * array.strides[d];
    return at;
  }
  // An array of zeros with the strides of `tensor`.
  static ConvolutionArray Empty(const Node& tensor) {
    ConvolutionArray array{Integers(tensor, kTensorDims), Integers(tensor, kTensorStrides), {}};
    array.elements.resize(Extent(tensor));
    return array;
  }

  static double Apply(int mode, double x, double b, double t, int64_t index) {
    switch (mode) {
      case kPointwiseAdd: return x + b;
      case kPointwiseMultiply: return x * b;
      case kPointwiseSubtract: return x - b;
      case kPointwiseDivide: return x / b;
      case kPointwiseExp: return std::exp(x);
      case kPointwiseLog: return std::log(x);
      case kPointwiseRelu: return x > 0 ? x : 0;
      case kPointwiseGreaterEqual: return x >= b;
      case kPointwiseIndex: return static_cast<double>(index);
      case kPointwiseSelect: return t != 0 ? x : b;
      default: Expect(false, "pointwise mode ", mode); return 0;
    }
  }

  void Pointwise(const Node& operation) {
    const Node& pointwise = operation.Ref(kPointwiseDescriptor);
    const int mode = pointwise.One<int>(kPointwiseModeOf);
    const bool is_unary =
        mode == kPointwiseRelu || mode == kPointwiseExp || mode == kPointwiseLog || mode == kPointwiseIndex;
    Expect(operation.attributes.contains(kPointwiseB) != is_unary, "pointwise mode ", mode, " has b, or none");
    Expect(operation.attributes.contains(kPointwiseT) == (mode == kPointwiseSelect), "mode ", mode, " has t, or none");
    const int64_t axis = mode == kPointwiseIndex ? pointwise.One<int64_t>(kPointwiseAxis) : 0;
    const Node& result = operation.Ref(kPointwiseY);
    const ConvolutionArray x = Read(operation.Ref(kPointwiseX));
    const ConvolutionArray b = is_unary ? x : Read(operation.Ref(kPointwiseB));
    const ConvolutionArray t = mode == kPointwiseSelect ? Read(operation.Ref(kPointwiseT)) : x;
    ConvolutionArray y = Empty(result);
    ForEachIndex(y.dims, [&](const std::vector<int64_t>& index) {
      y.elements[At(y, index)] =
          Apply(mode, x.elements[At(x, index)], b.elements[At(b, index)], t.elements[At(t, index)], index[axis]);
    });
    Write(result, std::move(y.elements));
  }

  // b may have fewer heads than a. Each head of b then belongs to several consecutive heads of a.
  void Matmul(const Node& operation) {
    const ConvolutionArray a = Read(operation.Ref(kMatmulA)), b = Read(operation.Ref(kMatmulB));
    ConvolutionArray c = Empty(operation.Ref(kMatmulC));
    const bool fits = a.dims.size() == 4 && b.dims.size() == 4 && c.dims.size() == 4 && a.dims[3] == b.dims[2] &&
                      c.dims[2] == a.dims[2] && c.dims[3] == b.dims[3] && a.dims[0] == b.dims[0] &&
                      c.dims[0] == a.dims[0] && c.dims[1] == a.dims[1] && a.dims[1] % b.dims[1] == 0;
    if (!Expect(fits, "the dimensions of a product do not fit")) return;
    ForEachIndex(c.dims, [&](const std::vector<int64_t>& index) {
      double sum = 0;
      for (int64_t k = 0; k < a.dims[3]; ++k) {
        const int64_t head = index[1] / (a.dims[1] / b.dims[1]);
        sum += a.elements[At(a, {index[0], index[1], index[2], k})] * b.elements[At(b, {index[0], head, k, index[3]})];
      }
      c.elements[At(c, index)] = sum;
    });
    Write(operation.Ref(kMatmulC), std::move(c.elements));
  }

  void Reduce(const Node& operation) {
    const int op = operation.Ref(kReductionDescriptor).One<int>(kReductionOperatorOf);
    Expect(op == kReduceAdd || op == kReduceMax, "reduction ", op);
    const ConvolutionArray x = Read(operation.Ref(kReductionX));
    ConvolutionArray y = Empty(operation.Ref(kReductionY));
    std::ranges::fill(y.elements, op == kReduceAdd ? 0 : -std::numeric_limits<double>::infinity());
    ForEachIndex(x.dims, [&](const std::vector<int64_t>& index) {
      double& sum = y.elements[At(y, index)];
      const double term = x.elements[At(x, index)];
      sum = op == kReduceAdd ? sum + term : std::max(sum, term);
    });
    Write(operation.Ref(kReductionY), std::move(y.elements));
  }

  void Reshape(const Node& operation) {
    ConvolutionArray x = Read(operation.Ref(kReshapeX));
    const Node& result = operation.Ref(kReshapeY);
    if (!Expect(std::ssize(x.elements) == Extent(result), "a reshape changes how much there is")) return;
    Write(result, std::move(x.elements));
  }

  void Statistics(const Node& operation) {
    Expect(operation.One<int>(kStatisticsModeOf) == kSumAndSquares, "another mode of statistics");
    const ConvolutionArray x = Read(operation.Ref(kStatisticsX));
    ConvolutionArray sum = Empty(operation.Ref(kStatisticsSum)), squares = Empty(operation.Ref(kStatisticsSquares));
    ForEachIndex(x.dims, [&](const std::vector<int64_t>& index) {
      const double term = x.elements[At(x, index)];
      sum.elements[At(sum, index)] += term;
      squares.elements[At(squares, index)] += term * term;
    });
    Write(operation.Ref(kStatisticsSum), std::move(sum.elements));
    Write(operation.Ref(kStatisticsSquares), std::move(squares.elements));
  }

  std::map<int64_t, void*> pointers_;
  std::set<int64_t> used_;
  std::map<int64_t, std::vector<double>> inside_;
};

int Execute(Handle handle, Handle plan, Handle pack) {
  if (Fails()) return kFailed;
  ++the_double->executions;
  Expect(NodeOf(plan).is_final && NodeOf(pack).is_final, "what is executed is not finalized");
  Expect(NodeOf(plan).One<Handle>(kPlanHandle) == handle, "the plan is of another handle");
  void* const workspace = NodeOf(pack).One<void*>(kVariantWorkspace);
  int64_t workspace_bytes = 0;
  GetWorkspace(NodeOf(plan), &workspace_bytes);
  Expect(workspace != nullptr, "there is no workspace");
  if (the_double->is_memory != nullptr && !the_double->is_memory(workspace, workspace_bytes)) return kBadParameter;
  const auto operations = NodeOf(plan).Ref(kPlanConfig).Ref(kGraphOfConfig).All<Handle>(kGraphOperations);
  const std::function<void()> run = [execution = Execution(NodeOf(pack)), operations]() mutable {
    Execution own = execution;  // The operation may run again, so it works on a copy.
    for (const Handle operation : operations) own.Run(NodeOf(operation));
    own.End();
  };
  if (the_double->enqueue != nullptr) {
    std::vector<CudnnDouble::Touched> touched = {{workspace, static_cast<size_t>(workspace_bytes), true}};
    const Execution execution(NodeOf(pack));
    for (const Handle operation : operations) execution.AddTouched(NodeOf(operation), touched);
    return the_double->enqueue(NodeOf(handle).stream, run, touched);
  }
  run();
  return kOk;
}

void Meet(const ConvolutionProblem& problem, ConvolutionArray& images, ConvolutionArray& weights,
          ConvolutionArray& outputs, size_t i, int64_t image, int64_t weight, int64_t output) {
  if (i == problem.spatial.size()) {
    double &x = images.elements[image], &w = weights.elements[weight], &y = outputs.elements[output];
    switch (problem.kind) {
      case ConvolutionKind::kDgrad: x += w * y; break;
      case ConvolutionKind::kWgrad: w += x * y; break;
      default: y += x * w;
    }
    return;
  }
  const size_t d = i + 2;
  const ConvolutionDim& dim = problem.spatial[i];
  for (int64_t r = 0; r < weights.dims[d]; ++r) {
    for (int64_t p = 0; p < outputs.dims[d]; ++p) {
      const int64_t h = p * dim.stride + r * dim.dilation - dim.pad_low;
      if (h < 0 || h >= images.dims[d]) continue;
      Meet(problem, images, weights, outputs, i + 1, image + h * images.strides[d], weight + r * weights.strides[d],
           output + p * outputs.strides[d]);
    }
  }
}

}  // namespace

void Convolve(const ConvolutionProblem& problem, ConvolutionArray& images, ConvolutionArray& weights,
              ConvolutionArray& outputs) {
  for (int64_t n = 0; n < outputs.dims[0]; ++n) {
    for (int64_t k = 0; k < weights.dims[0]; ++k) {
      const int64_t group = k / (weights.dims[0] / problem.groups);
      for (int64_t c = 0; c < weights.dims[1]; ++c) {
        Meet(problem, images, weights, outputs, 0,
             n * images.strides[0] + (group * weights.dims[1] + c) * images.strides[1],
             k * weights.strides[0] + c * weights.strides[1], n * outputs.strides[0] + k * outputs.strides[1]);
      }
    }
  }
}

cudnn::Api CudnnDouble::api() {
  the_double = this;
  cudnn::Api api;
  api.version = [] { return size_t{90000}; };
  api.status_string = [](int) { return "a status"; };
  api.last_error = [](char* words, size_t) { std::strcpy(words, "the double's words"); };
  api.create = [](Handle* handle) { return Create(-1, handle); };
  api.destroy = Destroy;
  api.set_stream = [](Handle handle, void* stream) {
    if (Fails()) return int{kFailed};
    NodeOf(handle).stream = stream;
    return int{kOk};
  };
  api.descriptor_create = Create;
  api.descriptor_destroy = Destroy;
  api.descriptor_set = Set;
  api.descriptor_get = Get;
  api.finalize = Finalize;
  api.execute = Execute;
  return api;
}

}  // namespace hlo::gpu
