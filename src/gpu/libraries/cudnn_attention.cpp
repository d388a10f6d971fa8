// The graph of an attention computes the formula of attention.h with scores in f32, minus their maximum over the keys.
// cuDNN 9 recognises an attention only with the log of the sum plus the maximum, so the graph also computes that.
// Shares are rounded to the operands' type, which the second product requires.
//
// The graph of the gradients (attention_gradient.h) has the order of cuDNN's own graph. cuDNN requires the sums of
// gradient * result in memory. A transposition is a reshape to existing strides. The gradients of queries are a single
// product, because sums to which blocks add in no fixed order would not be reproducible.
#include "gpu/libraries/cudnn_attention.h"

#include <bit>
#include <functional>
#include <utility>

#include "base/text.h"

namespace hlo::gpu {
namespace {

using cudnn::Api;
using cudnn::Descriptor;
using cudnn::Graph;
using cudnn::Slot;

using Dims = std::vector<int64_t>;

constexpr std::string_view kHeuristic = "heuristic_";

Dims PackedStrides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t next = 1;
  for (size_t d = dims.size(); d-- > 0; next *= dims[d]) strides[d] = next;
  return strides;
}

// Strides for cuDNN. A dimension of size 1 gets its stride in a packed tensor.
Dims StridesOf(const AttentionTensor& tensor) {
  Dims strides = tensor.strides;
  for (size_t d = strides.size(); d-- > 0;) {
    if (tensor.dims[d] == 1) strides[d] = d + 1 < strides.size() ? strides[d + 1] * tensor.dims[d + 1] : 1;
  }
  return strides;
}

// Swaps keys and terms, because cuDNN's product takes terms before keys.
AttentionTensor SwapLastTwo(AttentionTensor tensor) {
  std::swap(tensor.dims[2], tensor.dims[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

class Builder {
 public:
  Builder(const Api& api, const cudnn::Where& where) : api_(api), where_(where) {}

  Result<Graph> Build(const AttentionProblem& p) {
    const cudnn::DataType type = cudnn::TypeOf(p.result.type);
    const Dims all = {p.query.dims[0], p.heads(), p.queries(), p.keys()}, rows = {all[0], all[1], all[2], 1};
    const Descriptor* value = TRY(AddInside(all, cudnn::kFloat));
    TRY(AddMatmul(*TRY(AddOutside(p.query)), *TRY(AddOutside(SwapLastTwo(p.key))), *value));
    if (p.scale != 1) value = TRY(AddPointwise(cudnn::kPointwiseMultiply, *value, TRY(AddConstant(p.scale)), all));
    if (p.bias) value = TRY(AddPointwise(cudnn::kPointwiseAdd, *value, TRY(AddOutside(*p.bias)), all));
    if (p.masked) value = TRY(AddMask(*value, all, *p.masked));
    const Descriptor* const most = TRY(AddReduction(cudnn::kReduceMax, *value, rows));
    const Descriptor* const e = TRY(AddPointwise(
        cudnn::kPointwiseExp, *TRY(AddPointwise(cudnn::kPointwiseSubtract, *value, most, all)), nullptr, all));
    const Descriptor* const sum = TRY(AddReduction(cudnn::kReduceAdd, *e, rows));
    const Descriptor* const log = TRY(AddPointwise(cudnn::kPointwiseLog, *sum, nullptr, rows));
    TRY(AddPointwise(cudnn::kPointwiseAdd, *most, log, rows));
    const Descriptor* const share = TRY(AddPointwise(cudnn::kPointwiseDivide, *e, sum, all, type));
    TRY(AddMatmul(*share, *TRY(AddOutside(p.value)), *TRY(AddOutside(p.result))));
    return Finish();
  }

  Result<Graph> Build(const AttentionGradientProblem& p) {
    const cudnn::DataType type = cudnn::TypeOf(p.query.type);
    const Dims all = {p.query.dims[0], p.query.dims[1], p.queries(), p.keys()}, rows = {all[0], all[1], all[2], 1};
    const Descriptor* const query = TRY(AddOutside(p.query));
    const Descriptor* const key = TRY(AddOutside(SwapLastTwo(p.key)));
    const Descriptor* const gradient = TRY(AddOutside(p.gradient));
    // cuDNN recognises the sums by the multiplication that follows.
    const Descriptor* const products =
        TRY(AddPointwise(cudnn::kPointwiseMultiply, *gradient, TRY(AddOutside(p.result)), p.gradient.dims));
    const Descriptor* const row_sums = TRY(AddReduction(cudnn::kReduceAdd, *products, rows));
    const Descriptor* const sums =
        TRY(AddTensor(rows, PackedStrides(rows), cudnn::kFloat, Slot{Slot::Source::kScratch}));
    TRY(AddPointwiseInto(cudnn::kPointwiseMultiply, *row_sums, TRY(AddConstant(1)), *sums));

    const Descriptor* value = TRY(AddInside(all, cudnn::kFloat));
    TRY(AddMatmul(*query, *key, *value));
    const Descriptor* const scale = TRY(AddConstant(p.scale));
    value = TRY(AddPointwise(cudnn::kPointwiseMultiply, *value, scale, all));
    value = TRY(AddPointwise(cudnn::kPointwiseSubtract, *value, TRY(AddOutside(p.statistics)), all));
    if (p.masked) value = TRY(AddMask(*value, all, *p.masked));
    const Descriptor* const share = TRY(AddPointwise(cudnn::kPointwiseExp, *value, nullptr, all));
    TRY(AddMatmul(*TRY(AddTransposed(*share, all, type)), *gradient, *TRY(AddOutside(p.of_value, p.numbers[2]))));

    value = TRY(AddInside(all, cudnn::kFloat));
    TRY(AddMatmul(*gradient, *TRY(AddOutside(SwapLastTwo(p.value))), *value));
    value = TRY(AddPointwise(cudnn::kPointwiseSubtract, *value, sums, all));
    value = TRY(AddPointwise(cudnn::kPointwiseMultiply, *value, share, all));
    const Descriptor* const slope = TRY(AddPointwise(cudnn::kPointwiseMultiply, *value, scale, all));
    TRY(AddMatmul(*TRY(AddTransposed(*slope, all, type)), *query, *TRY(AddOutside(p.of_key, p.numbers[1]))));
    const Descriptor* const keys = TRY(AddTensor(p.key.dims, StridesOf(p.key), type, std::nullopt));
    TRY(AddReshape(*key, *keys));
    TRY(AddMatmul(*slope, *keys, *TRY(AddOutside(p.of_query, p.numbers[0]))));
    return Finish();
  }

 private:
  Result<Graph> Finish() {
    Descriptor& whole = Add(cudnn::kOperationGraph);
    whole.Refer(cudnn::kGraphOperations, operations_);
    if (where_.handle != nullptr) whole.Pointer(cudnn::kGraphHandle, cudnn::kTypeHandle, where_.handle);
    TRY(whole.Finalize());
    graph_.whole = &whole;
    return std::move(graph_);
  }

  Descriptor& Add(cudnn::Kind kind) { return graph_.parts.emplace_back(api_, kind); }

  Result<const Descriptor*> AddTensor(const Dims& dims, const Dims& strides, cudnn::DataType type,
                                      std::optional<Slot> slot) {
    Descriptor& tensor = Add(cudnn::kTensor);
    tensor.Word(cudnn::kTensorType, cudnn::kTypeDataType, type).Integers(cudnn::kTensorDims, dims);
    constexpr int64_t kAlignment = 16;
    tensor.Integers(cudnn::kTensorStrides, strides).Integer(cudnn::kTensorAlignment, kAlignment);
    if (slot) {
      graph_.slots.push_back(*slot);
      if (slot->source == Slot::Source::kConstant) tensor.Flag(cudnn::kTensorIsByValue, true);
      tensor.Integer(cudnn::kTensorId, std::ssize(graph_.slots));
    } else {
      constexpr int64_t kFirstInside = 1000;
      tensor.Flag(cudnn::kTensorIsVirtual, true).Integer(cudnn::kTensorId, kFirstInside + inside_++);
    }
    TRY(tensor.Finalize());
    return &tensor;
  }

  Result<const Descriptor*> AddInside(const Dims& dims, cudnn::DataType type) {
    return AddTensor(dims, PackedStrides(dims), type, std::nullopt);
  }
  Result<const Descriptor*> AddOutside(const AttentionTensor& tensor, int64_t result = 0) {
    const Slot slot = tensor.operand < 0 ? Slot{.source = Slot::Source::kResult, .number = result}
                                         : Slot{Slot::Source::kOperand, tensor.operand};
    return AddTensor(tensor.dims, StridesOf(tensor), cudnn::TypeOf(tensor.type), slot);
  }
  Result<const Descriptor*> AddConstant(double constant) {
    return AddTensor(Dims(4, 1), Dims(4, 1), cudnn::kFloat,
                     Slot{Slot::Source::kConstant, -1, static_cast<float>(constant)});
  }

  Status AddMatmul(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
    Descriptor& matmul = Add(cudnn::kMatmul);
    TRY(matmul.Word(cudnn::kMatmulPrecision, cudnn::kTypeDataType, cudnn::kFloat).Finalize());
    Descriptor& operation = Add(cudnn::kMatmulOperation);
    operation.Refer(cudnn::kMatmulA, a).Refer(cudnn::kMatmulB, b).Refer(cudnn::kMatmulC, c);
    TRY(operation.Refer(cudnn::kMatmulDescriptor, matmul).Finalize());
    operations_.push_back(&operation);
    return {};
  }

  Result<const Descriptor*> AddPointwise(cudnn::PointwiseMode mode, const Descriptor& x, const Descriptor* b,
                                         const Dims& dims, cudnn::DataType type = cudnn::kFloat,
                                         const Descriptor* t = nullptr, int64_t axis = -1) {
    const Descriptor* const y = TRY(AddInside(dims, type));
    TRY(AddPointwiseInto(mode, x, b, *y, t, axis));
    return y;
  }

  Status AddPointwiseInto(cudnn::PointwiseMode mode, const Descriptor& x, const Descriptor* b, const Descriptor& y,
                          const Descriptor* t = nullptr, int64_t axis = -1) {
    Descriptor& pointwise = Add(cudnn::kPointwise);
    pointwise.Word(cudnn::kPointwiseModeOf, cudnn::kTypePointwiseMode, mode);
    pointwise.Word(cudnn::kPointwisePrecision, cudnn::kTypeDataType,
                   mode == cudnn::kPointwiseIndex ? cudnn::kInt32 : cudnn::kFloat);
    if (axis >= 0) pointwise.Integer(cudnn::kPointwiseAxis, axis);
    TRY(pointwise.Finalize());
    Descriptor& operation = Add(cudnn::kPointwiseOperation);
    operation.Refer(cudnn::kPointwiseDescriptor, pointwise).Refer(cudnn::kPointwiseX, x);
    operation.Refer(cudnn::kPointwiseY, y);
    if (b != nullptr) operation.Refer(cudnn::kPointwiseB, *b);
    if (t != nullptr) operation.Refer(cudnn::kPointwiseT, *t);
    TRY(operation.Finalize());
    operations_.push_back(&operation);
    return {};
  }

  Status AddReshape(const Descriptor& x, const Descriptor& y) {
    Descriptor& operation = Add(cudnn::kReshapeOperation);
    TRY(operation.Refer(cudnn::kReshapeX, x).Refer(cudnn::kReshapeY, y).Finalize());
    operations_.push_back(&operation);
    return {};
  }
  // `all` is [batch, heads, queries, keys].
  Result<const Descriptor*> AddTransposed(const Descriptor& value, const Dims& all, cudnn::DataType type) {
    const Dims strides = PackedStrides(all);
    const Descriptor* const transposed = TRY(AddTensor(
        {all[0], all[1], all[3], all[2]}, {strides[0], strides[1], strides[3], strides[2]}, type, std::nullopt));
    TRY(AddReshape(value, *transposed));
    return transposed;
  }

  Result<const Descriptor*> AddMask(const Descriptor& value, const Dims& all, double masked) {
    const auto index = [&](int64_t axis) {
      return AddPointwise(cudnn::kPointwiseIndex, value, nullptr, all, cudnn::kInt32, nullptr, axis);
    };
    const Descriptor* const query = TRY(index(2));
    const Descriptor* const key = TRY(index(3));
    const Descriptor* const keeps = TRY(AddPointwise(cudnn::kPointwiseGreaterEqual, *query, key, all, cudnn::kBoolean));
    return AddPointwise(cudnn::kPointwiseSelect, value, TRY(AddConstant(masked)), all, cudnn::kFloat, keeps);
  }

  Result<const Descriptor*> AddReduction(cudnn::ReductionOperator op, const Descriptor& x, const Dims& rows) {
    Descriptor& reduction = Add(cudnn::kReduction);
    reduction.Word(cudnn::kReductionOperatorOf, cudnn::kTypeReductionOperator, op);
    TRY(reduction.Word(cudnn::kReductionPrecision, cudnn::kTypeDataType, cudnn::kFloat).Finalize());
    const Descriptor* const y = TRY(AddInside(rows, cudnn::kFloat));
    Descriptor& operation = Add(cudnn::kReductionOperation);
    operation.Refer(cudnn::kReductionX, x).Refer(cudnn::kReductionY, *y);
    TRY(operation.Refer(cudnn::kReductionDescriptor, reduction).Finalize());
    operations_.push_back(&operation);
    return y;
  }

  const Api& api_;
  const cudnn::Where& where_;
  Graph graph_;
  std::vector<const Descriptor*> operations_;
  int64_t inside_ = 0;
};

struct GraphRecipe {
  std::string key;
  std::function<Result<Graph>(const Api& api, const cudnn::Where& where)> make;
  PrimitiveType type;
  int64_t stored_bytes = 0;  // Scratch besides the workspace.
};

struct AttentionCall : LibraryCall {
  AttentionCall(const Api& api, GraphRecipe recipe, bool allow_tf32)
      : api(api), recipe(std::move(recipe)), allow_tf32(allow_tf32) {}

  std::string how() const override { return Str("cuDNN ", api.VersionText(), " attention, engine ", choice->engine); }
  std::string algorithm() const override { return Str(kHeuristic, choice->number); }
  std::vector<std::string> algorithms() const override {
    constexpr int kMostEngines = 8;
    std::vector<std::string> names;
    for (int i = 0; i < kMostEngines; ++i) names.push_back(Str(kHeuristic, i));
    return names;
  }
  int64_t WorkspaceOffset() const { return AlignedBytes(recipe.stored_bytes); }
  int64_t ScratchBytes() const override { return WorkspaceOffset() + choice->plan.workspace; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override;

  const Api& api;
  const GraphRecipe recipe;
  const bool allow_tf32;
  std::shared_ptr<const cudnn::Choice> choice;
};

class BoundAttentionCall : public BoundCall {
 public:
  BoundAttentionCall(const AttentionCall& call, std::shared_ptr<const cudnn::Choice> choice, Device& device,
                     const cudnn::OnDevice& on)
      : call_(call), choice_(std::move(choice)), device_(device), on_(on) {}

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void*) override {
    TRY(device_.MakeCurrent());
    std::vector<const void*> pointers;
    for (const Slot& slot : choice_->graph.slots) {
      switch (slot.source) {
        case Slot::Source::kOperand: pointers.push_back(operands[slot.operand]); break;
        case Slot::Source::kConstant: pointers.push_back(&slot.constant); break;
        case Slot::Source::kScratch: pointers.push_back(scratch); break;
        default: pointers.push_back(results[slot.number]);
      }
    }
    return Execute(on_, *choice_, pointers, static_cast<std::byte*>(scratch) + call_.WorkspaceOffset());
  }

 private:
  const AttentionCall& call_;
  const std::shared_ptr<const cudnn::Choice> choice_;
  Device& device_;
  const cudnn::OnDevice& on_;
};

LibraryAnswer No(std::string why) { return {nullptr, std::move(why)}; }

std::string WhyNotAsked(const AttentionProblem& problem) {
  const PrimitiveType type = problem.result.type;
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF16 && type != PrimitiveType::kBF16)
    return Str("hlokit does not use cuDNN for ", type);
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value}) {
    if (tensor->type != type) return "its operands and result differ in type";
  }
  if (problem.bias && problem.bias->type != type && problem.bias->type != PrimitiveType::kF32)
    return "its bias has another type";
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value, &problem.result}) {
    if (tensor->strides[3] > 1) return "the elements of a row are not contiguous";
  }
  if (problem.heads() % problem.key.dims[1] != 0 || problem.key.dims[1] != problem.value.dims[1])
    return "its heads cannot be divided evenly among the heads of keys and values";
  return "";
}

std::string WhyNotAsked(const AttentionGradientProblem& problem) {
  const PrimitiveType type = problem.query.type;
  if (type != PrimitiveType::kF16 && type != PrimitiveType::kBF16)
    return Str("hlokit does not use cuDNN for gradients of an attention in ", type);
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value, &problem.result,
                                        &problem.gradient, &problem.of_query, &problem.of_key, &problem.of_value}) {
    if (tensor->type != type) return "its operands and results differ in type";
    if (tensor->strides[3] > 1) return "the elements of a row are not contiguous";
  }
  return "";
}

std::string TextOf(const AttentionTensor& tensor) {
  return Str(" ", tensor.operand, ":", tensor.type, "[", Join(tensor.dims, ","), "]{", Join(tensor.strides, ","), "}");
}

GraphRecipe RecipeOf(const AttentionProblem& problem) {
  GraphRecipe recipe{
      .key = Str("attention ", std::bit_cast<uint64_t>(problem.scale)),
      .make = [problem](const Api& api, const cudnn::Where& where) { return Builder(api, where).Build(problem); },
      .type = problem.result.type};
  if (problem.masked) recipe.key += Str(" masked ", std::bit_cast<uint64_t>(*problem.masked));
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value, &problem.result})
    recipe.key += TextOf(*tensor);
  if (problem.bias) recipe.key += TextOf(*problem.bias);
  return recipe;
}

GraphRecipe RecipeOf(const AttentionGradientProblem& problem) {
  constexpr int64_t kBytes = 4;
  const std::vector<int64_t>& dims = problem.query.dims;
  GraphRecipe recipe{
      .key = Str("gradient of attention ", std::bit_cast<uint64_t>(problem.scale)),
      .make = [problem](const Api& api, const cudnn::Where& where) { return Builder(api, where).Build(problem); },
      .type = problem.query.type,
      .stored_bytes = dims[0] * dims[1] * dims[2] * kBytes};
  if (problem.masked) recipe.key += Str(" masked ", std::bit_cast<uint64_t>(*problem.masked));
  for (const AttentionTensor* tensor :
       {&problem.query, &problem.key, &problem.value, &problem.result, &problem.gradient, &problem.statistics,
        &problem.of_query, &problem.of_key, &problem.of_value})
    recipe.key += TextOf(*tensor);
  for (const int64_t number : problem.numbers) recipe.key += Str(" ", number);
  return recipe;
}

Result<std::unique_ptr<BoundCall>> AttentionCall::Bind(Device& device) const {
  TRY(device.MakeCurrent());
  cudnn::OnDevice& on = *TRY(On(api, device));
  const auto make = [&](const cudnn::Where& where) { return recipe.make(api, where); };
  auto bound = TRY(ChoiceOn(on, choice, recipe.key, make, recipe.type, allow_tf32));
  return std::make_unique<BoundAttentionCall>(*this, std::move(bound), device, on);
}

Result<LibraryAnswer> MakeCall(const Api& api, GraphRecipe recipe, Device& device, const LibraryOptions& options) {
  cudnn::Terms terms{recipe.type};
  if (!options.algorithm.empty() &&
      !(options.algorithm.starts_with(kHeuristic) &&
        ParseInt(std::string_view(options.algorithm).substr(kHeuristic.size()), &terms.number) && terms.number >= 0))
    return No(Str("there is no algorithm '", Escaped(options.algorithm), "' for it; the algorithms are called ",
                  kHeuristic, "0 and so on"));
  TRY(device.MakeCurrent());
  cudnn::OnDevice& on = *TRY(On(api, device));
  auto call = std::make_unique<AttentionCall>(api, std::move(recipe), options.allow_tf32);
  const auto make = [&](const cudnn::Where& where) { return call->recipe.make(api, where); };
  auto choice = ChooseOnce(on, call->recipe.key, make, terms, options);
  if (!choice) {
    cudnn::NotePassedOver(options.notes, "a graph of cuDNN", choice.error());
    return No(choice.error().message());
  }
  call->choice = std::move(*choice);
  return LibraryAnswer{std::move(call), ""};
}

template <class Problem>
Result<LibraryAnswer> AnswerFor(const Problem& problem, Device& device, const LibraryOptions& options, const Api& api) {
  std::string why_not = WhyNotAsked(problem);
  if (!why_not.empty()) return No(std::move(why_not));
  auto answer = MakeCall(api, RecipeOf(problem), device, options);
  if (answer) return answer;
  cudnn::NotePassedOver(options.notes, "cuDNN's attention", answer.error());
  return No(answer.error().message());
}

template <class Problem>
Result<LibraryAnswer> AnswerFor(const Problem& problem, Device* device, const LibraryOptions& options) {
  std::string why_not = WhyNotAsked(problem);
  if (device == nullptr || !why_not.empty()) return No(std::move(why_not));
  const auto api = cudnn::GetApi(options.search);
  if (!api) return No(api.error().message());
  return AnswerFor(problem, *device, options, **api);
}

template <class Problem>
Result<std::vector<CudnnEngine>> EnginesOf(const Problem& problem, const std::string& device_json,
                                           const LibraryOptions& options) {
  const std::string why_not = WhyNotAsked(problem);
  if (!why_not.empty()) FAIL(DeviceError("R018", why_not));
  const Api& api = *TRY(cudnn::GetApi(options.search));
  const GraphRecipe recipe = RecipeOf(problem);
  const auto make = [&](const cudnn::Where& where) { return recipe.make(api, where); };
  return cudnn::EnginesFor(make, recipe.type, /*compiles=*/true, device_json, options);
}

std::string WhyNotByRule(PrimitiveType type, int64_t queries, int64_t score_count) {
  constexpr int64_t kFewQueries = 64, kFewBytes = 1 << 20;
  if (ByteWidth(type) != 2) return "without autotuning, cuDNN is used only for 16-bit floats";
  if (queries >= kFewQueries || 2 * score_count >= kFewBytes) return "";
  return Str("without autotuning, cuDNN is used only from ", kFewQueries, " queries or a MiB of scores on");
}

}  // namespace

std::string WhyNotByRule(const AttentionProblem& problem) {
  return WhyNotByRule(problem.query.type, problem.queries(), problem.score_count());
}
std::string WhyNotByRule(const AttentionGradientProblem& problem) {
  return WhyNotByRule(problem.query.type, problem.queries(), problem.score_count());
}

Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device* device, const LibraryOptions& options) {
  return AnswerFor(problem, device, options);
}
Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device& device, const LibraryOptions& options,
                                     const Api& api) {
  return AnswerFor(problem, device, options, api);
}
Result<LibraryAnswer> CudnnAttentionGradient(const AttentionGradientProblem& problem, Device* device,
                                             const LibraryOptions& options) {
  return AnswerFor(problem, device, options);
}
Result<LibraryAnswer> CudnnAttentionGradient(const AttentionGradientProblem& problem, Device& device,
                                             const LibraryOptions& options, const Api& api) {
  return AnswerFor(problem, device, options, api);
}

Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionProblem& problem, const std::string& device_json,
                                                       const LibraryOptions& options) {
  return EnginesOf(problem, device_json, options);
}
Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionGradientProblem& problem,
                                                       const std::string& device_json, const LibraryOptions& options) {
  return EnginesOf(problem, device_json, options);
}

}  // namespace hlo::gpu
