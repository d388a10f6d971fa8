// A call is, in the order of preference,
//
//   heuristic_N   one graph of the convolution and its epilogue
//   parts_N       a graph of the convolution alone, and behind it a fusion of ours with the rest: the epilogue that no
//                 engine takes, and the order of the result where it is the weights' gradient
//
// with engine N of cuDNN's own order for that graph. Weights are put into cuDNN's order first, by a fusion of ours,
// where they lie otherwise: once, as long as they do not change.
#include "gpu/libraries/cudnn.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "gpu/libraries/cudnn_graph.h"
#include "gpu/libraries/cudnn_parts.h"
#include "gpu/libraries/own_part.h"

namespace hlo::gpu {
namespace {

using cudnn::Api;
using cudnn::Handle;
using cudnn::Laid;

constexpr int64_t kMostWorkspace = int64_t{1} << 30;
// Of engines that would do, but whose plan cannot be made: each may be compiled, for a second.
constexpr int kMostFailures = 4;
constexpr std::string_view kHeuristic = "heuristic_", kParts = "parts_";

Result<Handle> GetHandle(const Api& api, Device& device) {
  return device.LibraryState(&api, [&]() -> Result<std::shared_ptr<void>> {
    Handle made = nullptr;
    if (const int status = api.create(&made)) FAIL(api.Failed("cudnnCreate", status));
    std::shared_ptr<void> handle(made, api.destroy);
    if (const int status = api.set_stream(made, device.stream())) FAIL(api.Failed("cudnnSetStream", status));
    return handle;
  });
}

struct CudnnCall : LibraryCall {
  CudnnCall(const Api& api, const Laid& laid) : api(api), laid(laid) {}

  std::string how() const override { return Str("cuDNN ", api.VersionText(), " engine ", engine); }
  std::string algorithm() const override { return Str(finish ? kParts : kHeuristic, number); }
  int64_t ScratchBytes() const override { return raw_offset + raw_bytes; }
  int64_t PackedBytes() const override { return pack ? ByteSize(laid.problem.weights) : 0; }
  int64_t PackedOperand() const override { return pack ? laid.problem.weights.operand : -1; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override;

  static int64_t ByteSize(const ConvolutionTensor& tensor) {
    int64_t bytes = ByteWidth(tensor.type);
    for (const int64_t dim : tensor.dims) bytes *= dim;
    return bytes;
  }

  const Api& api;
  const Laid laid;
  // Made of each other.
  std::optional<cudnn::Graph> graph;
  std::optional<cudnn::Descriptor> config;
  std::optional<cudnn::Plan> plan;
  std::optional<OwnPart> pack, finish;
  int64_t engine = 0, number = 0;
  int64_t raw_offset = 0, raw_bytes = 0;  // In the scratch memory: what cuDNN gives, where a part of ours goes on.
};

class BoundCudnnCall : public BoundCall {
 public:
  BoundCudnnCall(const CudnnCall& call, Device& device) : call_(call), device_(device) {}

  Status Prepare() {
    TRY(device_.MakeCurrent());
    handle_ = TRY(GetHandle(call_.api, device_));
    if (call_.pack) pack_ = TRY(call_.pack->Load(device_));
    if (call_.finish) finish_ = TRY(call_.finish->Load(device_));
    return {};
  }

  Status Pack(std::span<void* const> operands, void* packed) override {
    if (!call_.pack) return {};
    return call_.pack->Launch(device_, pack_, operands.subspan(call_.laid.problem.weights.operand, 1), packed);
  }

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void* packed) override {
    TRY(device_.MakeCurrent());
    void* const raw = call_.finish ? static_cast<std::byte*>(scratch) + call_.raw_offset : results[0];
    std::vector<const void*> pointers;
    std::vector<int64_t> ids;
    for (const cudnn::Slot& slot : call_.graph->slots) {
      pointers.push_back(PointerOf(slot, operands, raw, packed));
      ids.push_back(std::ssize(pointers));
    }
    cudnn::Descriptor pack(call_.api, cudnn::kVariantPack);
    pack.Set(cudnn::kVariantPointers, cudnn::kTypePointer, std::ssize(pointers), pointers.data());
    pack.Integers(cudnn::kVariantIds, ids).Pointer(cudnn::kVariantWorkspace, cudnn::kTypePointer, scratch);
    TRY(pack.Finalize());
    if (const int status = call_.api.execute(handle_, call_.plan->plan.handle(), pack.handle()))
      FAIL(call_.api.Failed("cudnnBackendExecute", status));
    if (!call_.finish) return {};
    std::vector<void*> with_raw(operands.begin(), operands.end());
    with_raw.push_back(raw);
    return call_.finish->Launch(device_, finish_, with_raw, results[0]);
  }

 private:
  const void* PointerOf(const cudnn::Slot& slot, std::span<void* const> operands, void* raw, void* packed) const {
    using Source = cudnn::Slot::Source;
    switch (slot.source) {
      case Source::kOperand: return operands[slot.operand];
      case Source::kWeights: return call_.pack ? packed : operands[call_.laid.problem.weights.operand];
      case Source::kConstant: return &slot.constant;
      case Source::kResult: break;
    }
    return raw;
  }

  const CudnnCall& call_;
  Device& device_;
  Handle handle_ = nullptr;
  OwnPart::Loaded pack_, finish_;
};

Result<std::unique_ptr<BoundCall>> CudnnCall::Bind(Device& device) const {
  auto bound = std::make_unique<BoundCudnnCall>(*this, device);
  TRY(bound->Prepare());
  return bound;
}

LibraryAnswer No(std::string why) { return {nullptr, std::move(why)}; }

std::string WhyNotAsked(const ConvolutionProblem& problem) {
  const PrimitiveType type = problem.result().type;
  for (const ConvolutionTensor* tensor : {&problem.images, &problem.weights, &problem.outputs}) {
    if (tensor->type != type) return "its operands and result differ in type";
  }
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF16 && type != PrimitiveType::kBF16)
    return Str("cuDNN is not asked for ", type);
  // As many bytes as a copy moves, and hardly anything to multiply.
  if (problem.kind == ConvolutionKind::kFprop && problem.IsDepthwise())
    return "a convolution of each channel by itself is a kernel of ours";
  return "";
}

Laid Read(const Contraction& contraction) {
  ConvolutionAnswer read = ReadConvolution(contraction);
  if (read.why_not.empty()) read.why_not = WhyNotAsked(read.problem);
  if (read.why_not.empty()) return cudnn::Lay(read.problem);
  return {.why_not = std::move(read.why_not)};
}

// "parts_2" is number 2 of the graphs without the epilogue; "heuristic_2" of those with it. Empty: any.
struct Wanted {
  std::string_view form;
  int64_t number = -1;
  bool is_known = true;
};
Wanted ReadAlgorithm(std::string_view algorithm) {
  if (algorithm.empty()) return {};
  Wanted wanted{.is_known = false};
  for (const std::string_view form : {kHeuristic, kParts}) {
    if (!algorithm.starts_with(form)) continue;
    wanted.form = form;
    wanted.is_known = ParseInt(algorithm.substr(form.size()), &wanted.number) && wanted.number >= 0;
  }
  return wanted;
}

// The first engine that may be taken and whose plan can be made, or the one of that number. "" or why there is none.
Result<std::string> ChooseEngine(const cudnn::Where& where, cudnn::Graph graph, const LibraryOptions& options,
                                 int64_t number, CudnnCall& call) {
  std::vector<cudnn::Descriptor> all = Configurations(call.api, where, graph);
  if (number >= std::ssize(all)) return Str("there are ", all.size(), " engines for it");
  std::string why_not = "it has no engine for it";
  int failures = 0;
  for (int64_t i = std::max<int64_t>(number, 0); i < std::ssize(all) && failures < kMostFailures; ++i) {
    if (number >= 0 && i > number) break;
    const cudnn::Engine engine = Describe(call.api, all[i], call.laid.problem.result().type, options.allow_tf32);
    if (!engine.why_not.empty()) {
      why_not = Str("engine ", engine.index, ": ", engine.why_not);
      continue;
    }
    auto plan = MakePlan(call.api, where, all[i]);
    if (!plan) {
      why_not = Str("engine ", engine.index, ": ", plan.error().message());
      ++failures;
      continue;
    }
    if (plan->workspace > kMostWorkspace) {
      why_not = Str("engine ", engine.index, " takes ", plan->workspace, " bytes of workspace");
      continue;
    }
    call.plan.emplace(std::move(*plan));
    call.config.emplace(std::move(all[i]));
    call.graph.emplace(std::move(graph));
    call.engine = engine.index;
    call.number = i;
    return "";
  }
  return why_not;
}

Result<LibraryAnswer> MakeCall(const Api& api, const Contraction& contraction, const Laid& laid, Device& device,
                               const LibraryOptions& options) {
  const Wanted wanted = ReadAlgorithm(options.algorithm);
  if (!wanted.is_known)
    return No(Str("there is no algorithm '", Escaped(options.algorithm), "' for it; they are called ", kHeuristic,
                  "0, ", kParts, "0 and so on"));
  TRY(device.MakeCurrent());
  const cudnn::Where where{.handle = TRY(GetHandle(api, device))};
  auto call = std::make_unique<CudnnCall>(api, laid);
  const bool moves = laid.WeightsMove(), is_weights = laid.problem.kind == ConvolutionKind::kWgrad;
  if (!is_weights && moves) call->pack = TRY(OwnPart::Make(cudnn::PackModule(laid), device));
  std::string why_not = "cuDNN gives weights in an order of its own";
  if (wanted.form != kParts && !(is_weights && moves)) {
    auto graph = MakeGraph(api, where, laid, true);
    why_not =
        graph ? TRY(ChooseEngine(where, std::move(*graph), options, wanted.number, *call)) : graph.error().message();
    if (why_not.empty()) {
      call->raw_offset = call->plan->workspace;
      return LibraryAnswer{std::move(call), ""};
    }
    if (wanted.form == kHeuristic || laid.problem.epilogue.empty()) return No(why_not);
  }
  std::unique_ptr<Module> finish = cudnn::FinishModule(contraction, laid);
  if (finish == nullptr) return No(why_not);
  auto graph = MakeGraph(api, where, laid, false);
  if (!graph) return No(graph.error().message());
  why_not = TRY(ChooseEngine(where, std::move(*graph), options, wanted.number, *call));
  if (!why_not.empty()) return No(why_not);
  call->finish = TRY(OwnPart::Make(std::move(finish), device));
  call->raw_offset = (call->plan->workspace + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  call->raw_bytes = CudnnCall::ByteSize(laid.problem.result());
  return LibraryAnswer{std::move(call), ""};
}

}  // namespace

Result<std::string> CudnnVersion(const std::vector<std::string>& search) {
  return TRY(cudnn::GetApi(search))->VersionText();
}

Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device* device, const LibraryOptions& options) {
  const Laid laid = Read(contraction);
  if (device == nullptr || !laid.why_not.empty()) return No(laid.why_not);
  const auto api = cudnn::GetApi(options.search);
  if (!api) return No(api.error().message());
  return CudnnConvolution(contraction, *device, options, **api);
}

Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device& device, const LibraryOptions& options,
                                       const Api& api) {
  const Laid laid = Read(contraction);
  if (!laid.why_not.empty()) return No(laid.why_not);
  auto answer = MakeCall(api, contraction, laid, device, options);
  if (!answer) return No(answer.error().message());
  return answer;
}

Result<std::vector<CudnnEngine>> CudnnEngines(const ConvolutionProblem& problem, bool with_epilogue,
                                              const std::string& device_json, const LibraryOptions& options) {
  const Api& api = *TRY(cudnn::GetApi(options.search));
  const Laid laid = cudnn::Lay(problem);
  if (!laid.why_not.empty()) FAIL(DeviceError("R015", laid.why_not));
  cudnn::Descriptor description(api, cudnn::kDeviceProperties);
  description.Set(cudnn::kDeviceJson, cudnn::kTypeChar, std::ssize(device_json), device_json.data());
  TRY(description.Finalize());
  const cudnn::Where where{.description = &description};
  const cudnn::Graph graph = TRY(MakeGraph(api, where, laid, with_epilogue));
  std::vector<CudnnEngine> engines;
  for (const cudnn::Descriptor& config : Configurations(api, where, graph)) {
    const cudnn::Engine engine = Describe(api, config, problem.result().type, options.allow_tf32);
    engines.push_back({engine.index, engine.is_compiled, engine.why_not});
    if (!engine.why_not.empty() || engine.is_compiled) continue;
    if (const auto plan = MakePlan(api, where, config); !plan) engines.back().why_not = plan.error().message();
  }
  return engines;
}

}  // namespace hlo::gpu
