// A call is, in the order of preference,
//
//   heuristic_N   one graph of the convolution and its epilogue
//   parts_N       a graph of the convolution alone, and behind it a fusion of ours with the rest: the epilogue that no
//                 engine takes, and the order of the result where it is the weights' gradient
//
// with engine N of cuDNN's own order for that graph. An engine that cuDNN compiles for the graph comes first only where
// the result is large. Weights are put into cuDNN's order first, by a fusion of ours, where they lie otherwise: once,
// as long as they do not change.
#include "gpu/libraries/cudnn.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "gpu/libraries/cudnn_choice.h"
#include "gpu/libraries/cudnn_graph.h"
#include "gpu/libraries/cudnn_parts.h"
#include "gpu/libraries/own_part.h"

namespace hlo::gpu {
namespace {

using cudnn::Api;
using cudnn::Choice;
using cudnn::Laid;
using cudnn::OnDevice;

// Bytes of a result from which on an engine is compiled where a kernel of ours could go on: 10 us and more for the
// pass.
constexpr int64_t kWorthCompiling = 16 << 20;
constexpr std::string_view kHeuristic = "heuristic_", kParts = "parts_";

Result<std::shared_ptr<const OwnPart>> PartOnce(OnDevice& on, std::unique_ptr<Module> module, Device& device) {
  return on.parts.Get(Fingerprint(*module), [&]() -> Result<std::shared_ptr<const OwnPart>> {
    return std::make_shared<const OwnPart>(TRY(OwnPart::Make(std::move(module), device)));
  });
}

struct CudnnCall : LibraryCall {
  CudnnCall(const Api& api, const Laid& laid, bool allow_tf32) : api(api), laid(laid), allow_tf32(allow_tf32) {}

  std::string how() const override { return Str("cuDNN ", api.VersionText(), " engine ", choice->engine); }
  std::string algorithm() const override { return Str(finish ? kParts : kHeuristic, choice->number); }
  std::vector<std::string> algorithms() const override {
    constexpr int kMostAsked = 8;
    std::vector<std::string> names;
    for (int i = 0; i < kMostAsked; ++i) {
      names.push_back(Str(kHeuristic, i));
      names.push_back(Str(kParts, i));
    }
    return names;
  }
  int64_t ScratchBytes() const override { return raw_offset + raw_bytes; }
  int64_t PackedBytes() const override { return pack ? ByteSize(laid.problem.weights) : 0; }
  int64_t PackedOperand() const override { return pack ? laid.problem.weights.operand : -1; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override;
  Result<std::shared_ptr<const Choice>> ChoiceFor(OnDevice& on) const;

  static int64_t ByteSize(const ConvolutionTensor& tensor) {
    int64_t bytes = ByteWidth(tensor.type);
    for (const int64_t dim : tensor.dims) bytes *= dim;
    return bytes;
  }

  const Api& api;
  const Laid laid;
  const bool allow_tf32;
  std::shared_ptr<const Choice> choice;
  std::shared_ptr<const OwnPart> pack, finish;  // Null: none.
  int64_t raw_offset = 0, raw_bytes = 0;  // In the scratch memory: what cuDNN gives, where a part of ours goes on.
};

class BoundCudnnCall : public BoundCall {
 public:
  BoundCudnnCall(const CudnnCall& call, Device& device) : call_(call), device_(device) {}

  Status Prepare() {
    TRY(device_.MakeCurrent());
    on_ = TRY(On(call_.api, device_));
    choice_ = TRY(call_.ChoiceFor(*on_));
    if (call_.pack) pack_ = TRY(on_->Load(call_.pack, device_));
    if (call_.finish) finish_ = TRY(on_->Load(call_.finish, device_));
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
    for (const cudnn::Slot& slot : choice_->graph.slots) pointers.push_back(PointerOf(slot, operands, raw, packed));
    TRY(Execute(*on_, *choice_, pointers, scratch));
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
  OnDevice* on_ = nullptr;
  std::shared_ptr<const Choice> choice_;
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

// One way to have it made.
struct Attempt {
  bool with_epilogue, may_compile;
};

// Equal: what was found for one holds for the other. Operands are numbered in graphs.
std::string KeyOf(const Laid& laid, bool with_epilogue) {
  const ConvolutionProblem& problem = laid.problem;
  std::string key = Str(problem.kind, " ", problem.groups, laid.channels_last, with_epilogue);
  const auto add = [&](const ConvolutionTensor& tensor) {
    key += Str(" ", tensor.operand, ":", tensor.type, "[", Join(tensor.dims, ","), "]");
  };
  for (const ConvolutionTensor* tensor : {&problem.images, &problem.weights, &problem.outputs}) add(*tensor);
  for (const ConvolutionDim& dim : problem.spatial)
    key += Str(" ", dim.stride, "/", dim.dilation, "/", dim.pad_low, "/", dim.pad_high);
  if (!with_epilogue) return key;
  for (const ConvolutionStep& step : problem.epilogue) {
    key += Str(" ", static_cast<int>(step.op), "=", std::bit_cast<uint64_t>(step.constant));
    add(step.tensor);
    key += Join(step.tensor.strides, ",");
  }
  return key;
}

Result<std::shared_ptr<const Choice>> CudnnCall::ChoiceFor(OnDevice& on) const {
  const bool with_epilogue = finish == nullptr;
  const auto make = [&](const cudnn::Where& where) { return MakeGraph(api, where, laid, with_epilogue); };
  return ChoiceOn(on, choice, KeyOf(laid, with_epilogue), make, laid.problem.result().type, allow_tf32);
}

// In the order of preference. Compiling takes cuDNN about a second; what it may save is a pass over the result.
std::vector<Attempt> Attempts(const Laid& laid, const Wanted& wanted) {
  const bool is_whole_result = laid.problem.kind != ConvolutionKind::kWgrad || !laid.WeightsMove();
  const bool whole = is_whole_result && wanted.form != kParts;
  const bool parts =
      wanted.form == kParts || (wanted.form.empty() && (!is_whole_result || !laid.problem.epilogue.empty()));
  std::vector<Attempt> attempts;
  for (const bool may_compile : {false, true}) {
    if (!may_compile && (wanted.number >= 0 || CudnnCall::ByteSize(laid.problem.result()) >= kWorthCompiling)) continue;
    if (whole) attempts.push_back({true, may_compile});
    if (parts) attempts.push_back({false, may_compile});
  }
  return attempts;
}

Result<LibraryAnswer> MakeCall(const Api& api, const Contraction& contraction, const Laid& laid, Device& device,
                               const LibraryOptions& options) {
  const Wanted wanted = ReadAlgorithm(options.algorithm);
  if (!wanted.is_known)
    return No(Str("there is no algorithm '", Escaped(options.algorithm), "' for it; they are called ", kHeuristic,
                  "0, ", kParts, "0 and so on"));
  TRY(device.MakeCurrent());
  OnDevice& on = *TRY(On(api, device));
  auto call = std::make_unique<CudnnCall>(api, laid, options.allow_tf32);
  std::string why_not = "cuDNN gives weights in an order of its own";
  for (const Attempt& attempt : Attempts(laid, wanted)) {
    std::unique_ptr<Module> finish = attempt.with_epilogue ? nullptr : cudnn::FinishModule(contraction, laid);
    if (!attempt.with_epilogue && finish == nullptr) continue;
    const auto make = [&](const cudnn::Where& where) { return MakeGraph(api, where, laid, attempt.with_epilogue); };
    const cudnn::Terms terms{laid.problem.result().type, attempt.may_compile, wanted.number};
    auto choice = ChooseOnce(on, KeyOf(laid, attempt.with_epilogue), make, terms, options);
    if (!choice) {
      cudnn::NotePassedOver(options.notes, "a graph of cuDNN", choice.error());
      why_not = choice.error().message();
      continue;
    }
    call->choice = std::move(*choice);
    call->raw_offset = call->choice->plan.workspace;
    if (finish != nullptr) {
      call->finish = TRY(PartOnce(on, std::move(finish), device));
      call->raw_offset = (call->raw_offset + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
      call->raw_bytes = CudnnCall::ByteSize(laid.problem.result());
    }
    if (laid.problem.kind != ConvolutionKind::kWgrad && laid.WeightsMove())
      call->pack = TRY(PartOnce(on, cudnn::PackModule(laid), device));
    return LibraryAnswer{std::move(call), ""};
  }
  return No(std::move(why_not));
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
  if (!laid.why_not.empty()) FAIL(DeviceError("R018", laid.why_not));
  const auto make = [&](const cudnn::Where& where) { return MakeGraph(api, where, laid, with_epilogue); };
  return cudnn::EnginesFor(make, problem.result().type, /*compiles=*/false, device_json, options);
}

}  // namespace hlo::gpu
