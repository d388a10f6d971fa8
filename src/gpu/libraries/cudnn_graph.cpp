#include "gpu/libraries/cudnn_graph.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace hlo::gpu::cudnn {
namespace {

using Dims = std::vector<int64_t>;

// The dimensions from outermost to innermost.
Dims Order(size_t rank, bool channels_last) {
  Dims order = {0};
  if (!channels_last) order.push_back(1);
  for (size_t d = 2; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  if (channels_last) order.push_back(1);
  return order;
}

Dims StridesOf(const Dims& dims, bool channels_last) {
  Dims strides(dims.size());
  const Dims order = Order(dims.size(), channels_last);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= dims[order[i]];
  }
  return strides;
}

Dims WithoutOnes(const Dims& order, const Dims& dims) {
  Dims left;
  std::ranges::copy_if(order, std::back_inserter(left), [&](int64_t d) { return dims[d] != 1; });
  return left;
}

bool HasChannelOrder(const ConvolutionTensor& tensor, bool channels_last) {
  return tensor.IsDense() &&
         OrderInMemory(tensor) == WithoutOnes(Order(tensor.dims.size(), channels_last), tensor.dims);
}

// Adds spatial dimensions of size 1, because cuDNN requires at least two.
void Widen(ConvolutionProblem& problem) {
  if (problem.spatial.size() >= 2) return;
  const auto widen = [](ConvolutionTensor& tensor) {
    if (tensor.dims.empty()) return;
    tensor.dims.insert(tensor.dims.begin() + 2, 1);
    tensor.strides.insert(tensor.strides.begin() + 2, 0);
  };
  for (ConvolutionTensor* tensor : {&problem.images, &problem.weights, &problem.outputs}) widen(*tensor);
  for (ConvolutionStep& step : problem.epilogue) widen(step.tensor);
  problem.spatial.insert(problem.spatial.begin(), ConvolutionDim());
}

struct OperationNames {
  Kind kind;
  Attribute alpha, beta, convolution, weights, images, outputs;
};
OperationNames NamesOf(ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::kDgrad:
      return {kConvolutionImages, kImagesAlpha,  kImagesBeta,   kImagesConvolution,
              kImagesWeights,     kImagesImages, kImagesOutputs};
    case ConvolutionKind::kWgrad:
      return {kConvolutionWeights, kWeightsAlpha,  kWeightsBeta,   kWeightsConvolution,
              kWeightsWeights,     kWeightsImages, kWeightsOutputs};
    default:
      return {kConvolutionForward, kForwardAlpha,  kForwardBeta,   kForwardConvolution,
              kForwardWeights,     kForwardImages, kForwardOutputs};
  }
}

PointwiseMode ModeOf(EpilogueOp op) {
  switch (op) {
    case EpilogueOp::kAdd: return kPointwiseAdd;
    case EpilogueOp::kSubtract: return kPointwiseSubtract;
    case EpilogueOp::kMultiply: return kPointwiseMultiply;
    case EpilogueOp::kRelu: break;
  }
  return kPointwiseRelu;
}

// In consecutive additions, moves whole arrays before vectors, because cuDNN has precompiled engines for this order.
// The f32 sum then has another order, but as many roundings of equally large numbers.
std::vector<ConvolutionStep> InItsOrder(std::vector<ConvolutionStep> steps, const ConvolutionTensor& result) {
  const auto adds = [](const ConvolutionStep& step) { return step.op == EpilogueOp::kAdd && step.tensor.operand >= 0; };
  for (auto first = steps.begin(); first != steps.end();) {
    if (!adds(*first)) {
      ++first;
      continue;
    }
    const auto last = std::find_if_not(first, steps.end(), adds);
    std::stable_partition(first, last, [&](const ConvolutionStep& step) { return step.tensor.dims == result.dims; });
    first = last;
  }
  return steps;
}

bool IsOfChannels(const Dims& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 1 && dims[i] != 1) return false;
  }
  return true;
}

class Builder {
 public:
  Builder(const Api& api, const Where& where, const PreparedConvolution& prepared)
      : api_(api), where_(where), prepared_(prepared), problem_(prepared.problem) {}

  Result<Graph> Build(bool with_epilogue) {
    std::vector<ConvolutionStep> steps;
    if (with_epilogue) steps = InItsOrder(problem_.epilogue, problem_.result());
    float alpha = 1;
    if (steps.size() == 1 && steps[0].op == EpilogueOp::kMultiply && steps[0].tensor.operand < 0) {
      alpha = static_cast<float>(steps[0].constant);
      steps.clear();
    }
    const Descriptor* value = TRY(AddResult(steps.empty()));
    TRY(AddConvolution(*value, alpha));
    for (const ConvolutionStep& step : steps) {
      const Descriptor* second = step.op == EpilogueOp::kRelu ? nullptr : TRY(AddOperand(step));
      const Descriptor* next = TRY(AddResult(&step == &steps.back()));
      TRY(AddPointwise(ModeOf(step.op), *value, second, *next));
      value = next;
    }
    if (with_epilogue && !problem_.sums.empty()) TRY(AddSums(*value));
    Descriptor& whole = Add(kOperationGraph);
    whole.Refer(kGraphOperations, operations_);
    if (where_.handle != nullptr) whole.Pointer(kGraphHandle, kTypeHandle, where_.handle);
    TRY(whole.Finalize());
    graph_.whole = &whole;
    return std::move(graph_);
  }

 private:
  Descriptor& Add(Kind kind) { return graph_.parts.emplace_back(api_, kind); }

  Result<const Descriptor*> AddTensor(const Dims& dims, DataType type, std::optional<Slot> slot) {
    Descriptor& tensor = Add(kTensor);
    tensor.Word(kTensorType, kTypeDataType, type).Integers(kTensorDims, dims);
    tensor.Integers(kTensorStrides, StridesOf(dims, prepared_.channels_last));
    constexpr int64_t kAlignment = 16;
    tensor.Integer(kTensorAlignment, kAlignment);
    if (slot) {
      graph_.slots.push_back(*slot);
      if (slot->source == Slot::Source::kConstant) tensor.Flag(kTensorIsByValue, true);
      tensor.Integer(kTensorId, std::ssize(graph_.slots));
    } else {
      constexpr int64_t kFirstInside = 1000;
      tensor.Flag(kTensorIsVirtual, true).Integer(kTensorId, kFirstInside + inside_++);
    }
    TRY(tensor.Finalize());
    return &tensor;
  }

  // A step's result tensor. Only the last has the result's type, others are f32.
  Result<const Descriptor*> AddResult(bool is_last) {
    const ConvolutionTensor& result = problem_.result();
    if (!is_last) return AddTensor(result.dims, kFloat, std::nullopt);
    return AddTensor(result.dims, TypeOf(result.type), Slot{Slot::Source::kResult});
  }

  Result<const Descriptor*> AddSum(bool of_squares) {
    Dims dims(problem_.spatial.size() + 2, 1);
    dims[1] = problem_.result().dims[1];
    const auto place = std::ranges::find(problem_.sums, of_squares, &ResultSum::of_squares) - problem_.sums.begin();
    return AddTensor(dims, kFloat, Slot{.source = Slot::Source::kSum, .number = place});
  }

  // Adds the sums for each channel. cuDNN computes a sum of squares only together with the sum.
  Status AddSums(const Descriptor& value) {
    const auto squared = std::ranges::count(problem_.sums, true, &ResultSum::of_squares);
    if (squared > 1 || std::ssize(problem_.sums) - squared != 1)
      FAIL(DeviceError("R018", "hlokit uses cuDNN only for one sum of the elements and one of their squares"));
    const Descriptor* const sum = TRY(AddSum(false));
    if (squared == 1) {
      const Descriptor* const squares = TRY(AddSum(true));
      Descriptor& operation = Add(kStatisticsOperation);
      operation.Word(kStatisticsModeOf, kTypeStatisticsMode, kSumAndSquares);
      operation.Word(kStatisticsPrecision, kTypeDataType, kFloat);
      operation.Refer(kStatisticsX, value).Refer(kStatisticsSum, *sum).Refer(kStatisticsSquares, *squares);
      TRY(operation.Finalize());
      operations_.push_back(&operation);
      return {};
    }
    Descriptor& reduction = Add(kReduction);
    reduction.Word(kReductionOperatorOf, kTypeReductionOperator, kReduceAdd);
    TRY(reduction.Word(kReductionPrecision, kTypeDataType, kFloat).Finalize());
    Descriptor& operation = Add(kReductionOperation);
    operation.Refer(kReductionX, value).Refer(kReductionY, *sum);
    TRY(operation.Refer(kReductionDescriptor, reduction).Finalize());
    operations_.push_back(&operation);
    return {};
  }

  Result<const Descriptor*> AddOperand(const ConvolutionStep& step) {
    if (step.tensor.operand < 0) {
      return AddTensor(Dims(problem_.spatial.size() + 2, 1), kFloat,
                       Slot{Slot::Source::kConstant, -1, static_cast<float>(step.constant)});
    }
    // Engine 4 of cuDNN 9.14 misreads a vector along rows as a vector along channels.
    if (step.tensor.dims != problem_.result().dims && !IsOfChannels(step.tensor.dims))
      FAIL(DeviceError("R018", "an operand of its epilogue has neither all elements nor one for each channel"));
    if (!HasChannelOrder(step.tensor, prepared_.channels_last))
      FAIL(DeviceError("R018", "an operand of its epilogue has another memory order than the result"));
    return AddTensor(step.tensor.dims, TypeOf(step.tensor.type), Slot{Slot::Source::kOperand, step.tensor.operand});
  }

  Result<const Descriptor*> AddSide(const ConvolutionTensor& tensor, const Descriptor& result) {
    if (&tensor == &problem_.result()) return &result;
    if (&tensor == &problem_.weights) return AddTensor(tensor.dims, TypeOf(tensor.type), Slot{Slot::Source::kWeights});
    return AddTensor(tensor.dims, TypeOf(tensor.type), Slot{Slot::Source::kOperand, tensor.operand});
  }

  Status AddConvolution(const Descriptor& result, float alpha) {
    Dims strides, dilations, low, high;
    for (const ConvolutionDim& dim : problem_.spatial) {
      strides.push_back(dim.stride);
      dilations.push_back(dim.dilation);
      low.push_back(dim.pad_low);
      high.push_back(dim.pad_high);
    }
    Descriptor& convolution = Add(kConvolution);
    convolution.Word(kConvolutionPrecision, kTypeDataType, kFloat);
    convolution.Word(kConvolutionMode, kTypeConvolutionMode, kCrossCorrelation);
    convolution.Integer(kConvolutionRank, std::ssize(problem_.spatial));
    convolution.Integers(kConvolutionStrides, strides).Integers(kConvolutionDilations, dilations);
    convolution.Integers(kConvolutionPadLow, low).Integers(kConvolutionPadHigh, high);
    TRY(convolution.Finalize());
    const OperationNames names = NamesOf(problem_.kind);
    const Descriptor* images = TRY(AddSide(problem_.images, result));
    const Descriptor* weights = TRY(AddSide(problem_.weights, result));
    const Descriptor* outputs = TRY(AddSide(problem_.outputs, result));
    Descriptor& operation = Add(names.kind);
    operation.Refer(names.convolution, convolution);
    operation.Refer(names.images, *images).Refer(names.weights, *weights).Refer(names.outputs, *outputs);
    operation.Real(names.alpha, alpha).Real(names.beta, 0);
    TRY(operation.Finalize());
    operations_.push_back(&operation);
    return {};
  }

  Status AddPointwise(PointwiseMode mode, const Descriptor& value, const Descriptor* second, const Descriptor& result) {
    Descriptor& pointwise = Add(kPointwise);
    pointwise.Word(kPointwiseModeOf, kTypePointwiseMode, mode).Word(kPointwisePrecision, kTypeDataType, kFloat);
    if (mode == kPointwiseRelu) pointwise.Word(kPointwiseNan, kTypeNanPropagation, kPropagateNan);
    TRY(pointwise.Finalize());
    Descriptor& operation = Add(kPointwiseOperation);
    operation.Refer(kPointwiseDescriptor, pointwise).Refer(kPointwiseX, value).Refer(kPointwiseY, result);
    if (second != nullptr) operation.Refer(kPointwiseB, *second);
    TRY(operation.Finalize());
    operations_.push_back(&operation);
    return {};
  }

  const Api& api_;
  const Where& where_;
  const PreparedConvolution& prepared_;
  const ConvolutionProblem& problem_;
  Graph graph_;
  std::vector<const Descriptor*> operations_;
  int64_t inside_ = 0;
};

struct NoteReason {
  NumericalNote note;
  std::string_view why_not;
};
constexpr NoteReason kNotWanted[] = {
    {kNondeterministic, "it is not deterministic"},
    {kReducedPrecisionReduction, "it adds up in fewer bits"},
    {kDownConvertInputs, "it takes its operands in fewer bits"},
    {kFft, "its transforms lose precision"},
    {kWinograd, "its transforms lose precision"},
    {kWinograd4x4, "its transforms lose precision"},
    {kWinograd6x6, "its transforms lose precision"},
    {kWinograd13x13, "its transforms lose precision"},
};

}  // namespace

DataType TypeOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16: return kHalf;
    case PrimitiveType::kBF16: return kBFloat16;
    default: CHECK(type == PrimitiveType::kF32, type); return kFloat;
  }
}

bool PreparedConvolution::WeightsMove() const {
  return weights_order != weights_in_memory ||
         std::ranges::any_of(problem.spatial, [](const ConvolutionDim& dim) { return dim.flipped; });
}

PreparedConvolution PrepareConvolution(const ConvolutionProblem& problem) {
  PreparedConvolution prepared{problem};
  Widen(prepared.problem);
  const ConvolutionProblem& wide = prepared.problem;
  if (wide.spatial.size() > 3) {
    prepared.why_not = Str("it has ", wide.spatial.size(), " spatial dimensions, and cuDNN takes at most 3");
    return prepared;
  }
  const auto both = [&](bool channels_last) {
    return HasChannelOrder(wide.images, channels_last) && HasChannelOrder(wide.outputs, channels_last);
  };
  prepared.channels_last = both(true);
  if (!prepared.channels_last && !both(false))
    prepared.why_not = "its channels are neither the last nor the first dimension";
  if (!wide.weights.IsDense()) prepared.why_not = "its weights are not dense";
  prepared.weights_order = WithoutOnes(Order(wide.weights.dims.size(), prepared.channels_last), wide.weights.dims);
  prepared.weights_in_memory = OrderInMemory(wide.weights);
  return prepared;
}

Result<Graph> MakeGraph(const Api& api, const Where& where, const PreparedConvolution& prepared, bool with_epilogue) {
  return Builder(api, where, prepared).Build(with_epilogue);
}

void NotePassedOver(Notes notes, std::string_view what, const Error& error) {
  if (notes != nullptr && error.code() != "R018") notes->push_back(Str(what, " is not used: ", error.message()));
}

Engine Describe(const Api& api, const Descriptor& config, PrimitiveType type, bool allow_tf32, Notes notes) {
  Engine engine;
  const Descriptor described(api, kEngine);
  Handle handle = described.handle();
  constexpr int64_t kMostNotes = 64;
  int numerical[kMostNotes] = {}, behavior[kMostNotes] = {};
  int64_t numerical_count = 0, behavior_count = 0;
  const auto ask = [&]() -> Status {
    TRY(described.Made());
    TRY(config.Get(kConfigEngine, kTypeDescriptor, 1, &handle));
    TRY(described.Get(kEngineIndex, kTypeInt64, 1, &engine.index));
    numerical_count = TRY(described.Get(kEngineNumericalNotes, kTypeNumericalNote, kMostNotes, numerical));
    behavior_count = TRY(described.Get(kEngineBehaviorNotes, kTypeBehaviorNote, kMostNotes, behavior));
    return {};
  };
  if (const Status asked = ask(); !asked) {
    NotePassedOver(notes, "an engine of cuDNN", asked.error());
    engine.why_not = "cuDNN does not describe its properties";
    return engine;
  }
  for (const int note : std::span(numerical).first(std::min(numerical_count, kMostNotes))) {
    const auto found = std::ranges::find(kNotWanted, note, &NoteReason::note);
    if (found != std::end(kNotWanted)) engine.why_not = found->why_not;
    if (note == kTensorCore && type == PrimitiveType::kF32 && !allow_tf32) engine.why_not = "it multiplies in tf32";
  }
  for (const int note : std::span(behavior).first(std::min(behavior_count, kMostNotes)))
    engine.is_compiled |= note == kRuntimeCompilation;
  return engine;
}

namespace {

Result<std::vector<Descriptor>> ConfigurationsOf(const Api& api, const Where& where, const Graph& graph,
                                                 HeuristicMode mode) {
  Descriptor heuristic(api, kHeuristic);
  heuristic.Refer(kHeuristicGraph, *graph.whole).Word(kHeuristicModeOf, kTypeHeuristicMode, mode);
  if (where.description != nullptr) heuristic.Refer(kHeuristicDevice, *where.description);
  TRY(heuristic.Finalize());
  const int64_t count = TRY(heuristic.Get(kHeuristicResults, kTypeDescriptor, 0, nullptr));
  std::vector<Descriptor> found;
  std::vector<Handle> handles;
  for (int64_t i = 0; i < count; ++i) {
    handles.push_back(found.emplace_back(api, kEngineConfig).handle());
    TRY(found.back().Made());
  }
  const int64_t given = TRY(heuristic.Get(kHeuristicResults, kTypeDescriptor, count, handles.data()));
  while (std::ssize(found) > given) found.pop_back();
  return found;
}

}  // namespace

std::vector<Descriptor> Configurations(const Api& api, const Where& where, const Graph& graph, Notes notes) {
  std::vector<Descriptor> configurations;
  for (const HeuristicMode mode : {kModeA, kFallback}) {
    auto found = ConfigurationsOf(api, where, graph, mode);
    if (!found) NotePassedOver(notes, "a heuristic of cuDNN", found.error());
    else std::ranges::move(*found, std::back_inserter(configurations));
  }
  return configurations;
}

Result<Plan> MakePlan(const Api& api, const Where& where, const Descriptor& config) {
  Plan plan{Descriptor(api, kPlan)};
  plan.plan.Refer(kPlanConfig, config);
  if (where.handle != nullptr) plan.plan.Pointer(kPlanHandle, kTypeHandle, where.handle);
  if (where.description != nullptr) plan.plan.Refer(kPlanDevice, *where.description);
  TRY(plan.plan.Finalize());
  if (TRY(plan.plan.Get(kPlanWorkspace, kTypeInt64, 1, &plan.workspace)) != 1)
    FAIL(DeviceError("R015", "cuDNN does not say how much workspace its plan takes"));
  return plan;
}

}  // namespace hlo::gpu::cudnn
