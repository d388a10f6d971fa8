// The forms of a call, in the order of preference:
//
//   heuristic_N   one graph of the convolution, its epilogue, and channel sums of the result
//   parts_N       a graph of the convolution, and a fusion of ours with an unsupported epilogue or the order of a
//                 gradient of weights. If there are sums, only they are left to the fusion
//
// N is the engine's number in cuDNN's order for the graph. Fusions of ours reorder weights and compute results from
// sums. Engines that cuDNN compiles for the graph are tried last unless the result is large.
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
using cudnn::OnDevice;
using cudnn::PreparedConvolution;

// Compiling an engine pays for results of at least this many bytes, because it only saves a pass over the result.
constexpr int64_t kWorthCompiling = 16 << 20;
constexpr std::string_view kHeuristic = "heuristic_", kParts = kCudnnParts;

Result<std::shared_ptr<const OwnPart>> PartOnce(OnDevice& on, std::unique_ptr<Module> module, Device& device) {
  return on.parts.Get(Fingerprint(*module), [&]() -> Result<std::shared_ptr<const OwnPart>> {
    return std::make_shared<const OwnPart>(TRY(OwnPart::Make(std::move(module), device)));
  });
}

struct CudnnCall : LibraryCall {
  CudnnCall(const Api& api, const PreparedConvolution& prepared, bool allow_tf32)
      : api(api), prepared(prepared), allow_tf32(allow_tf32) {}

  std::string how() const override { return Str("cuDNN ", api.VersionText(), " engine ", choice->engine); }
  bool is_whole() const override { return !finish && !sums; }
  std::string algorithm() const override { return Str(!is_whole() ? kParts : kHeuristic, choice->number); }
  std::vector<std::string> algorithms() const override {
    constexpr int kMostEngines = 8;
    std::vector<std::string> names;
    for (int i = 0; i < kMostEngines; ++i) {
      names.push_back(Str(kHeuristic, i));
      names.push_back(Str(kParts, i));
    }
    return names;
  }
  int64_t ScratchBytes() const override { return part_offset + part_bytes; }
  int64_t PackedBytes() const override { return pack ? ByteSize(prepared.problem.weights) : 0; }
  int64_t PackedOperand() const override { return pack ? prepared.problem.weights.operand : -1; }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override;
  Result<std::shared_ptr<const Choice>> ChoiceFor(OnDevice& on) const;

  static int64_t ByteSize(const ConvolutionTensor& tensor) {
    int64_t bytes = ByteWidth(tensor.type);
    for (const int64_t dim : tensor.dims) bytes *= dim;
    return bytes;
  }

  const Api& api;
  PreparedConvolution prepared;
  const bool allow_tf32;
  std::shared_ptr<const Choice> choice;
  std::shared_ptr<const OwnPart> pack, finish, sums, of_sums;
  std::vector<int64_t> part_results;
  // Scratch after the graph's workspace: the result for `finish`, the scratch of `sums`, or sums that are not results.
  int64_t part_offset = 0, part_bytes = 0, sum_bytes = 0;
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
    if (call_.sums) sums_ = TRY(on_->Load(call_.sums, device_));
    if (call_.of_sums) of_sums_ = TRY(on_->Load(call_.of_sums, device_));
    return {};
  }

  Status Pack(std::span<void* const> operands, void* packed) override {
    if (!call_.pack) return {};
    void* const results[] = {packed};
    return call_.pack->Launch(device_, pack_, operands.subspan(call_.prepared.problem.weights.operand, 1), results,
                              nullptr);
  }

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void* packed) override {
    TRY(device_.MakeCurrent());
    std::byte* const own = static_cast<std::byte*>(scratch) + call_.part_offset;
    const ConvolutionProblem& problem = call_.prepared.problem;
    const int64_t of_weights = problem.weights.operand;  // -1 if the result is a gradient of the weights.
    void* const unpacked = of_weights < 0 ? nullptr : operands[of_weights];
    const Given given{operands, call_.pack ? packed : unpacked, call_.finish ? own : results[problem.stored],
                      SumsAt(results, own)};
    std::vector<const void*> pointers;
    for (const cudnn::Slot& slot : choice_->graph.slots) pointers.push_back(PointerOf(slot, given));
    TRY(Execute(*on_, *choice_, pointers, scratch));
    std::vector<void*> more(operands.begin(), operands.end()), part_results;
    for (const int64_t i : call_.part_results) part_results.push_back(results[i]);
    if (call_.finish) {
      more.push_back(own);
      return call_.finish->Launch(device_, finish_, more, results, nullptr);
    }
    if (call_.sums) {
      more.push_back(results[problem.stored]);
      return call_.sums->Launch(device_, sums_, more, part_results, own);
    }
    if (!call_.of_sums) return {};
    more.insert(more.end(), given.sums.begin(), given.sums.end());
    return call_.of_sums->Launch(device_, of_sums_, more, part_results, nullptr);
  }

 private:
  struct Given {
    std::span<void* const> operands;
    void *weights, *result;
    std::vector<void*> sums;
  };

  std::vector<void*> SumsAt(std::span<void* const> results, std::byte* own) const {
    std::vector<void*> sums;
    for (const ResultSum& sum : call_.prepared.problem.sums) {
      sums.push_back(sum.result >= 0 ? results[sum.result] : own);
      if (sum.result < 0) own += call_.sum_bytes;
    }
    return sums;
  }

  static const void* PointerOf(const cudnn::Slot& slot, const Given& given) {
    using Source = cudnn::Slot::Source;
    switch (slot.source) {
      case Source::kOperand: return given.operands[slot.operand];
      case Source::kWeights: return given.weights;
      case Source::kConstant: return &slot.constant;
      case Source::kSum: return given.sums[slot.number];
      default: break;
    }
    return given.result;
  }

  const CudnnCall& call_;
  Device& device_;
  OnDevice* on_ = nullptr;
  std::shared_ptr<const Choice> choice_;
  OwnPart::Loaded pack_, finish_, sums_, of_sums_;
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
    return Str("hlokit does not use cuDNN for ", type);
  if (!problem.sums.empty() && type == PrimitiveType::kF32) return "hlokit uses cuDNN for sums only of 16-bit floats";
  // A depthwise convolution moves as many bytes as a copy and multiplies little, so a library gains nothing.
  if (problem.kind == ConvolutionKind::kFprop && problem.IsDepthwise())
    return "a depthwise convolution runs as a kernel of hlokit";
  return "";
}

PreparedConvolution Read(const Contraction& contraction) {
  ConvolutionAnswer read = ReadConvolution(contraction);
  if (read.why_not.empty()) read.why_not = WhyNotAsked(read.problem);
  if (!read.why_not.empty()) return {.why_not = std::move(read.why_not)};
  PreparedConvolution prepared = cudnn::PrepareConvolution(read.problem);
  if (prepared.why_not.empty() && !prepared.channels_last && !read.problem.sums.empty())
    prepared.why_not = "its sums for each channel need the channels in the last dimension";
  return prepared;
}

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

struct Attempt {
  bool is_whole, may_compile;
};

// A key for choosing an engine. Calls with equal keys share one, so the key has the operand numbers that graphs use.
std::string KeyOf(const PreparedConvolution& prepared, bool with_epilogue) {
  const ConvolutionProblem& problem = prepared.problem;
  std::string key = Str(problem.kind, " ", problem.groups, prepared.channels_last, with_epilogue);
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
  for (const ResultSum& sum : problem.sums) key += sum.of_squares ? " squares" : " sums";
  return key;
}

Result<std::shared_ptr<const Choice>> CudnnCall::ChoiceFor(OnDevice& on) const {
  const bool with_epilogue = finish == nullptr;
  const auto make = [&](const cudnn::Where& where) { return MakeGraph(api, where, prepared, with_epilogue); };
  return ChoiceOn(on, choice, KeyOf(prepared, with_epilogue), make, prepared.problem.result().type, allow_tf32);
}

std::vector<Attempt> Attempts(const PreparedConvolution& prepared, const Wanted& wanted) {
  const bool is_whole_result = prepared.problem.kind != ConvolutionKind::kWgrad || !prepared.WeightsMove();
  const bool whole = is_whole_result && wanted.form != kParts;
  const bool is_more = !prepared.problem.epilogue.empty() || !prepared.problem.sums.empty();
  const bool parts = wanted.form == kParts || (wanted.form.empty() && (!is_whole_result || is_more));
  std::vector<Attempt> attempts;
  for (const bool may_compile : {false, true}) {
    if (!may_compile && (wanted.number >= 0 || CudnnCall::ByteSize(prepared.problem.result()) >= kWorthCompiling))
      continue;
    if (whole) attempts.push_back({true, may_compile});
    if (parts) attempts.push_back({false, may_compile});
  }
  return attempts;
}

Status AddSums(const Contraction& contraction, bool own_sums, OnDevice& on, Device& device, CudnnCall& call) {
  if (own_sums) {
    call.sums = TRY(PartOnce(on, cudnn::SumsModule(contraction), device));
    const int64_t results = contraction.product->computation().root().operand_count();
    for (int64_t i = 0; i < results; ++i) {
      if (i != contraction.stored) call.part_results.push_back(i);
    }
  } else if (auto of_sums = cudnn::OfSumsModule(contraction)) {
    call.of_sums = TRY(PartOnce(on, std::move(of_sums), device));
    call.part_results = contraction.of_sums;
  }
  return {};
}

void PlaceParts(CudnnCall& call) {
  const ConvolutionProblem& problem = call.prepared.problem;
  call.sum_bytes = AlignedBytes(problem.result().dims[1] * ByteWidth(PrimitiveType::kF32));
  const int64_t inside = std::ranges::count(problem.sums, -1, &ResultSum::result);
  call.part_bytes = call.finish ? CudnnCall::ByteSize(problem.result())
                    : call.sums ? call.sums->ScratchBytes()
                                : inside * call.sum_bytes;
  call.part_offset = call.part_bytes > 0 ? AlignedBytes(call.choice->plan.workspace) : call.choice->plan.workspace;
}

Result<LibraryAnswer> MakeCall(const Api& api, const Contraction& contraction, const PreparedConvolution& prepared,
                               Device& device, const LibraryOptions& options) {
  const Wanted wanted = ReadAlgorithm(options.algorithm);
  if (!wanted.is_known)
    return No(Str("there is no algorithm '", Escaped(options.algorithm), "' for it; the algorithms are called ",
                  kHeuristic, "0, ", kParts, "0 and so on"));
  TRY(device.MakeCurrent());
  OnDevice& on = *TRY(On(api, device));
  auto call = std::make_unique<CudnnCall>(api, prepared, options.allow_tf32);
  std::string why_not = "cuDNN stores the gradient of weights in another memory order";
  for (const Attempt& attempt : Attempts(prepared, wanted)) {
    const bool own_sums = !attempt.is_whole && !prepared.problem.sums.empty();
    const bool with_epilogue = attempt.is_whole || own_sums;
    call->prepared = prepared;
    if (own_sums) call->prepared.problem.sums.clear();
    std::unique_ptr<Module> finish = with_epilogue ? nullptr : cudnn::FinishModule(contraction, prepared);
    if (!with_epilogue && finish == nullptr) continue;
    const auto make = [&](const cudnn::Where& where) { return MakeGraph(api, where, call->prepared, with_epilogue); };
    const cudnn::Terms terms{prepared.problem.result().type, attempt.may_compile, wanted.number};
    auto choice = ChooseOnce(on, KeyOf(call->prepared, with_epilogue), make, terms, options);
    if (!choice) {
      cudnn::NotePassedOver(options.notes, "a graph of cuDNN", choice.error());
      why_not = choice.error().message();
      continue;
    }
    call->choice = std::move(*choice);
    if (finish != nullptr) call->finish = TRY(PartOnce(on, std::move(finish), device));
    if (!prepared.problem.sums.empty()) TRY(AddSums(contraction, own_sums, on, device, *call));
    PlaceParts(*call);
    if (prepared.problem.kind != ConvolutionKind::kWgrad && prepared.WeightsMove())
      call->pack = TRY(PartOnce(on, cudnn::PackModule(prepared), device));
    return LibraryAnswer{std::move(call), ""};
  }
  return No(std::move(why_not));
}

}  // namespace

Result<std::string> CudnnVersion(const std::vector<std::string>& search) {
  return TRY(cudnn::GetApi(search))->VersionText();
}

Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device* device, const LibraryOptions& options) {
  const PreparedConvolution prepared = Read(contraction);
  if (device == nullptr || !prepared.why_not.empty()) return No(prepared.why_not);
  const auto api = cudnn::GetApi(options.search);
  if (!api) return No(api.error().message());
  return CudnnConvolution(contraction, *device, options, **api);
}

Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device& device, const LibraryOptions& options,
                                       const Api& api) {
  const PreparedConvolution prepared = Read(contraction);
  if (!prepared.why_not.empty()) return No(prepared.why_not);
  auto answer = MakeCall(api, contraction, prepared, device, options);
  if (answer) return answer;
  cudnn::NotePassedOver(options.notes, "cuDNN", answer.error());
  return No(answer.error().message());
}

Result<std::vector<CudnnEngine>> CudnnEngines(const ConvolutionProblem& problem, bool with_epilogue,
                                              const std::string& device_json, const LibraryOptions& options) {
  const Api& api = *TRY(cudnn::GetApi(options.search));
  const PreparedConvolution prepared = cudnn::PrepareConvolution(problem);
  if (!prepared.why_not.empty()) FAIL(DeviceError("R018", prepared.why_not));
  const auto make = [&](const cudnn::Where& where) { return MakeGraph(api, where, prepared, with_epilogue); };
  return cudnn::EnginesFor(make, problem.result().type, /*compiles=*/false, device_json, options);
}

}  // namespace hlo::gpu
