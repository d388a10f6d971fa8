// The graph, all of its values but the four tensors kept inside:
//
//   scores  = query * key            [batch, heads, queries, keys], f32; heads of keys may be fewer, as long as they
//   divide scaled  = scores * scale + bias masked  = keys at or before the query: scaled; else the mask's constant e =
//   exp(masked - max over keys) result  = (e / sum over keys of e) * value
//
// The log of the sum plus the maximum is part of it, though nobody reads it: without, cuDNN 9 knows no attention in it.
// The shares are of the operands' type, as the second product wants them.
#include "gpu/libraries/cudnn_attention.h"

#include <bit>
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

class Builder {
 public:
  Builder(const Api& api, const cudnn::Where& where, const AttentionProblem& problem)
      : api_(api), where_(where), problem_(problem) {}

  Result<Graph> Build() {
    const AttentionProblem& p = problem_;
    const cudnn::DataType type = cudnn::TypeOf(p.result.type);
    const Dims all = {p.query.dims[0], p.heads(), p.queries(), p.keys()}, rows = {all[0], all[1], all[2], 1};
    AttentionTensor key = p.key;  // Terms before keys, as the product wants them.
    std::swap(key.dims[2], key.dims[3]);
    std::swap(key.strides[2], key.strides[3]);
    const Descriptor* value = TRY(AddInside(all, cudnn::kFloat));
    TRY(AddMatmul(*TRY(AddOutside(p.query)), *TRY(AddOutside(key)), *value));
    if (p.scale != 1) value = TRY(AddPointwise(cudnn::kPointwiseMultiply, *value, TRY(AddConstant(p.scale)), all));
    if (p.bias) value = TRY(AddPointwise(cudnn::kPointwiseAdd, *value, TRY(AddOutside(*p.bias)), all));
    if (p.masked) value = TRY(AddMask(*value, all));
    const Descriptor* const most = TRY(AddReduction(cudnn::kReduceMax, *value, rows));
    const Descriptor* const e = TRY(AddPointwise(
        cudnn::kPointwiseExp, *TRY(AddPointwise(cudnn::kPointwiseSubtract, *value, most, all)), nullptr, all));
    const Descriptor* const sum = TRY(AddReduction(cudnn::kReduceAdd, *e, rows));
    const Descriptor* const log = TRY(AddPointwise(cudnn::kPointwiseLog, *sum, nullptr, rows));
    TRY(AddPointwise(cudnn::kPointwiseAdd, *most, log, rows));
    const Descriptor* const share = TRY(AddPointwise(cudnn::kPointwiseDivide, *e, sum, all, type));
    TRY(AddMatmul(*share, *TRY(AddOutside(p.value)), *TRY(AddOutside(p.result))));
    Descriptor& whole = Add(cudnn::kOperationGraph);
    whole.Refer(cudnn::kGraphOperations, operations_);
    if (where_.handle != nullptr) whole.Pointer(cudnn::kGraphHandle, cudnn::kTypeHandle, where_.handle);
    TRY(whole.Finalize());
    graph_.whole = &whole;
    return std::move(graph_);
  }

 private:
  Descriptor& Add(cudnn::Kind kind) { return graph_.parts.emplace_back(api_, kind); }

  Result<const Descriptor*> AddTensor(const Dims& dims, const Dims& strides, cudnn::DataType type,
                                      std::optional<Slot> slot) {
    Descriptor& tensor = Add(cudnn::kTensor);
    tensor.Word(cudnn::kTensorType, cudnn::kTypeDataType, type).Integers(cudnn::kTensorDims, dims);
    constexpr int64_t kAlignment = 16;  // Buffers have more (kBufferAlignment); cuDNN asks for no more.
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
  // A dimension of size 1 has the stride that it would have in a packed tensor of what is inside of it.
  Result<const Descriptor*> AddOutside(const AttentionTensor& tensor) {
    Dims strides = tensor.strides;
    for (size_t d = strides.size(); d-- > 0;) {
      if (tensor.dims[d] == 1) strides[d] = d + 1 < strides.size() ? strides[d + 1] * tensor.dims[d + 1] : 1;
    }
    const Slot slot = tensor.operand < 0 ? Slot{Slot::Source::kResult} : Slot{Slot::Source::kOperand, tensor.operand};
    return AddTensor(tensor.dims, strides, cudnn::TypeOf(tensor.type), slot);
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
    Descriptor& pointwise = Add(cudnn::kPointwise);
    pointwise.Word(cudnn::kPointwiseModeOf, cudnn::kTypePointwiseMode, mode);
    pointwise.Word(cudnn::kPointwisePrecision, cudnn::kTypeDataType,
                   mode == cudnn::kPointwiseIndex ? cudnn::kInt32 : cudnn::kFloat);
    if (axis >= 0) pointwise.Integer(cudnn::kPointwiseAxis, axis);
    TRY(pointwise.Finalize());
    const Descriptor* const y = TRY(AddInside(dims, type));
    Descriptor& operation = Add(cudnn::kPointwiseOperation);
    operation.Refer(cudnn::kPointwiseDescriptor, pointwise).Refer(cudnn::kPointwiseX, x);
    operation.Refer(cudnn::kPointwiseY, *y);
    if (b != nullptr) operation.Refer(cudnn::kPointwiseB, *b);
    if (t != nullptr) operation.Refer(cudnn::kPointwiseT, *t);
    TRY(operation.Finalize());
    operations_.push_back(&operation);
    return y;
  }

  Result<const Descriptor*> AddMask(const Descriptor& value, const Dims& all) {
    const auto index = [&](int64_t axis) {
      return AddPointwise(cudnn::kPointwiseIndex, value, nullptr, all, cudnn::kInt32, nullptr, axis);
    };
    const Descriptor* const query = TRY(index(2));
    const Descriptor* const key = TRY(index(3));
    const Descriptor* const keeps = TRY(AddPointwise(cudnn::kPointwiseGreaterEqual, *query, key, all, cudnn::kBoolean));
    return AddPointwise(cudnn::kPointwiseSelect, value, TRY(AddConstant(*problem_.masked)), all, cudnn::kFloat, keeps);
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
  const AttentionProblem& problem_;
  Graph graph_;
  std::vector<const Descriptor*> operations_;
  int64_t inside_ = 0;
};

struct AttentionCall : LibraryCall {
  AttentionCall(const Api& api, const AttentionProblem& problem, bool allow_tf32)
      : api(api), problem(problem), allow_tf32(allow_tf32) {}

  std::string how() const override { return Str("cuDNN ", api.VersionText(), " attention, engine ", choice->engine); }
  std::string algorithm() const override { return Str(kHeuristic, choice->number); }
  std::vector<std::string> algorithms() const override {
    constexpr int kMostAsked = 8;
    std::vector<std::string> names;
    for (int i = 0; i < kMostAsked; ++i) names.push_back(Str(kHeuristic, i));
    return names;
  }
  int64_t ScratchBytes() const override { return choice->plan.workspace; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override;

  const Api& api;
  const AttentionProblem problem;
  const bool allow_tf32;
  std::shared_ptr<const cudnn::Choice> choice;
};

class BoundAttentionCall : public BoundCall {
 public:
  BoundAttentionCall(std::shared_ptr<const cudnn::Choice> choice, Device& device, const cudnn::OnDevice& on)
      : choice_(std::move(choice)), device_(device), on_(on) {}

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void*) override {
    TRY(device_.MakeCurrent());
    std::vector<const void*> pointers;
    for (const Slot& slot : choice_->graph.slots) {
      switch (slot.source) {
        case Slot::Source::kOperand: pointers.push_back(operands[slot.operand]); break;
        case Slot::Source::kConstant: pointers.push_back(&slot.constant); break;
        default: pointers.push_back(results[0]);
      }
    }
    return Execute(on_, *choice_, pointers, scratch);
  }

 private:
  const std::shared_ptr<const cudnn::Choice> choice_;
  Device& device_;
  const cudnn::OnDevice& on_;
};

LibraryAnswer No(std::string why) { return {nullptr, std::move(why)}; }

std::string WhyNotAsked(const AttentionProblem& problem) {
  const PrimitiveType type = problem.result.type;
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF16 && type != PrimitiveType::kBF16)
    return Str("cuDNN is not asked for ", type);
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value}) {
    if (tensor->type != type) return "its operands and result differ in type";
  }
  if (problem.bias && problem.bias->type != type && problem.bias->type != PrimitiveType::kF32)
    return "its bias is of another type";
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value, &problem.result}) {
    if (tensor->strides[3] > 1) return "the terms of a row do not follow each other";
  }
  if (problem.heads() % problem.key.dims[1] != 0 || problem.key.dims[1] != problem.value.dims[1])
    return "its heads are not shared evenly";
  return "";
}

// Operands are numbered in graphs.
std::string KeyOf(const AttentionProblem& problem) {
  std::string key = Str("attention ", std::bit_cast<uint64_t>(problem.scale));
  if (problem.masked) key += Str(" masked ", std::bit_cast<uint64_t>(*problem.masked));
  const auto add = [&](const AttentionTensor& tensor) {
    key +=
        Str(" ", tensor.operand, ":", tensor.type, "[", Join(tensor.dims, ","), "]{", Join(tensor.strides, ","), "}");
  };
  for (const AttentionTensor* tensor : {&problem.query, &problem.key, &problem.value, &problem.result}) add(*tensor);
  if (problem.bias) add(*problem.bias);
  return key;
}

Result<std::unique_ptr<BoundCall>> AttentionCall::Bind(Device& device) const {
  TRY(device.MakeCurrent());
  cudnn::OnDevice& on = *TRY(On(api, device));
  const auto make = [&](const cudnn::Where& where) { return MakeAttentionGraph(api, where, problem); };
  auto bound = TRY(ChoiceOn(on, choice, KeyOf(problem), make, problem.result.type, allow_tf32));
  return std::make_unique<BoundAttentionCall>(std::move(bound), device, on);
}

Result<LibraryAnswer> MakeCall(const Api& api, const AttentionProblem& problem, Device& device,
                               const LibraryOptions& options) {
  cudnn::Terms terms{problem.result.type};
  if (!options.algorithm.empty() &&
      !(options.algorithm.starts_with(kHeuristic) &&
        ParseInt(std::string_view(options.algorithm).substr(kHeuristic.size()), &terms.number) && terms.number >= 0))
    return No(Str("there is no algorithm '", Escaped(options.algorithm), "' for it; they are called ", kHeuristic,
                  "0 and so on"));
  TRY(device.MakeCurrent());
  cudnn::OnDevice& on = *TRY(On(api, device));
  const auto make = [&](const cudnn::Where& where) { return MakeAttentionGraph(api, where, problem); };
  auto call = std::make_unique<AttentionCall>(api, problem, options.allow_tf32);
  auto choice = ChooseOnce(on, KeyOf(problem), make, terms, options);
  if (!choice) {
    cudnn::NotePassedOver(options.notes, "a graph of cuDNN", choice.error());
    return No(choice.error().message());
  }
  call->choice = std::move(*choice);
  return LibraryAnswer{std::move(call), ""};
}

}  // namespace

std::string WhyNotByRule(const AttentionProblem& problem) {
  constexpr int64_t kFewQueries = 64, kFewBytes = 1 << 20;
  if (ByteWidth(problem.query.type) != 2) return "without a measurement cuDNN takes 16-bit floats only";
  if (problem.queries() >= kFewQueries || 2 * problem.score_count() >= kFewBytes) return "";
  return Str("without a measurement cuDNN takes none of fewer than ", kFewQueries, " queries and a MiB of scores");
}

Result<Graph> MakeAttentionGraph(const Api& api, const cudnn::Where& where, const AttentionProblem& problem) {
  return Builder(api, where, problem).Build();
}

Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device* device, const LibraryOptions& options) {
  std::string why_not = WhyNotAsked(problem);
  if (device == nullptr || !why_not.empty()) return No(std::move(why_not));
  const auto api = cudnn::GetApi(options.search);
  if (!api) return No(api.error().message());
  return CudnnAttention(problem, *device, options, **api);
}

Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device& device, const LibraryOptions& options,
                                     const Api& api) {
  std::string why_not = WhyNotAsked(problem);
  if (!why_not.empty()) return No(std::move(why_not));
  auto answer = MakeCall(api, problem, device, options);
  if (answer) return answer;
  cudnn::NotePassedOver(options.notes, "cuDNN's attention", answer.error());
  return No(answer.error().message());
}

Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionProblem& problem, const std::string& device_json,
                                                       const LibraryOptions& options) {
  const std::string why_not = WhyNotAsked(problem);
  if (!why_not.empty()) FAIL(DeviceError("R018", why_not));
  const Api& api = *TRY(cudnn::GetApi(options.search));
  const auto make = [&](const cudnn::Where& where) { return MakeAttentionGraph(api, where, problem); };
  return cudnn::EnginesFor(make, problem.result.type, /*compiles=*/true, device_json, options);
}

}  // namespace hlo::gpu
