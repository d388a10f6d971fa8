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
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
// Bytes of a result from which on an engine is compiled where a kernel of ours could go on: 10 us and more for the
// pass.
constexpr int64_t kWorthCompiling = 16 << 20;
constexpr std::string_view kHeuristic = "heuristic_", kParts = "parts_";

// An engine for a graph. Its descriptors are made of each other, and of a handle.
struct Choice {
  cudnn::Graph graph;
  cudnn::Descriptor config;
  cudnn::Plan plan;
  int64_t engine = 0, number = 0;
  Handle handle = nullptr;
  void* stream = nullptr;  // Of the handle.
};

// Things by key, each made once, whichever of several threads asks for it first; who asks meanwhile waits. What could
// not be made is not tried again.
template <class Key, class T>
class MadeOnce {
 public:
  using Made = Result<std::shared_ptr<const T>>;
  template <class Make>
  Made Get(const Key& key, const Make& make) {
    Entry* entry = nullptr;
    {
      const std::lock_guard lock(mutex_);
      std::unique_ptr<Entry>& there = entries_[key];
      if (there == nullptr) there = std::make_unique<Entry>();
      entry = there.get();
    }
    const std::lock_guard lock(entry->mutex);
    if (!entry->made) entry->made = make();
    return *entry->made;
  }
  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<Made> made;
  };
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Entry>> entries_;
};

// What is kept for a device: handles, and what was made for equal convolutions of the same module or of others.
class OnDevice {
 public:
  OnDevice(const Api& api, void* stream) : api(api), stream_(stream) {}
  ~OnDevice() {
    choices.Clear();
    for (const Handle handle : handles_) api.destroy(handle);
  }

  // A handle to make plans with, as long as it is held: at a time it is for one thread.
  using Lent = std::unique_ptr<void, std::function<void(Handle)>>;
  Result<Lent> Lend() {
    Handle handle = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        handle = idle_.back();
        idle_.pop_back();
      }
    }
    if (handle == nullptr) handle = TRY(Make());
    return Lent(handle, [this](Handle back) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(back);
    });
  }
  // To run a plan: by the handle that it was made with, where that queues on this device's stream.
  Handle HandleFor(const Choice& choice) {
    const std::lock_guard lock(mutex_);
    return choice.stream == stream_ ? choice.handle : handles_.front();
  }
  void* stream() const { return stream_; }

  Result<OwnPart::Loaded> Load(const std::shared_ptr<const OwnPart>& part, Device& device) {
    const std::lock_guard lock(mutex_);
    OwnPart::Loaded& loaded = loaded_[part];
    if (loaded.empty()) loaded = TRY(part->Load(device));
    return loaded;
  }

  const Api& api;
  MadeOnce<std::string, Choice> choices;
  MadeOnce<uint64_t, OwnPart> parts;  // By the fingerprint of their modules.

 private:
  Result<Handle> Make() {
    Handle made = nullptr;
    if (const int status = api.create(&made)) FAIL(api.Failed("cudnnCreate", status));
    {
      const std::lock_guard lock(mutex_);
      handles_.push_back(made);
    }
    if (const int status = api.set_stream(made, stream_)) FAIL(api.Failed("cudnnSetStream", status));
    return made;
  }

  void* const stream_;
  std::mutex mutex_;
  std::vector<Handle> handles_, idle_;
  std::map<std::shared_ptr<const OwnPart>, OwnPart::Loaded> loaded_;
};

Result<OnDevice*> On(const Api& api, Device& device) {
  return static_cast<OnDevice*>(TRY(device.LibraryState(&api, [&]() -> Result<std::shared_ptr<void>> {
    auto made = std::make_shared<OnDevice>(api, device.stream());
    TRY(made->Lend());  // The first.
    return made;
  })));
}

Result<std::shared_ptr<const OwnPart>> PartOnce(OnDevice& on, std::unique_ptr<Module> module, Device& device) {
  return on.parts.Get(Fingerprint(*module), [&]() -> Result<std::shared_ptr<const OwnPart>> {
    return std::make_shared<const OwnPart>(TRY(OwnPart::Make(std::move(module), device)));
  });
}

struct CudnnCall : LibraryCall {
  CudnnCall(const Api& api, const Laid& laid) : api(api), laid(laid) {}

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

  static int64_t ByteSize(const ConvolutionTensor& tensor) {
    int64_t bytes = ByteWidth(tensor.type);
    for (const int64_t dim : tensor.dims) bytes *= dim;
    return bytes;
  }

  const Api& api;
  const Laid laid;
  std::shared_ptr<const Choice> choice;
  std::shared_ptr<const OwnPart> pack, finish;  // Null: none.
  int64_t raw_offset = 0, raw_bytes = 0;  // In the scratch memory: what cuDNN gives, where a part of ours goes on.
};

class BoundCudnnCall : public BoundCall {
 public:
  BoundCudnnCall(const CudnnCall& call, Device& device) : call_(call), device_(device) {}

  Status Prepare() {
    TRY(device_.MakeCurrent());
    OnDevice& on = *TRY(On(call_.api, device_));
    handle_ = on.HandleFor(*call_.choice);
    if (call_.pack) pack_ = TRY(on.Load(call_.pack, device_));
    if (call_.finish) finish_ = TRY(on.Load(call_.finish, device_));
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
    for (const cudnn::Slot& slot : call_.choice->graph.slots) {
      pointers.push_back(PointerOf(slot, operands, raw, packed));
      ids.push_back(std::ssize(pointers));
    }
    cudnn::Descriptor pack(call_.api, cudnn::kVariantPack);
    pack.Set(cudnn::kVariantPointers, cudnn::kTypePointer, std::ssize(pointers), pointers.data());
    pack.Integers(cudnn::kVariantIds, ids).Pointer(cudnn::kVariantWorkspace, cudnn::kTypePointer, scratch);
    TRY(pack.Finalize());
    if (const int status = call_.api.execute(handle_, call_.choice->plan.plan.handle(), pack.handle()))
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

// One way to have it made.
struct Attempt {
  bool with_epilogue, may_compile;
};

// Equal: what was found for one holds for the other. Operands are numbered in graphs.
std::string KeyOf(const Laid& laid, const Attempt& attempt, const LibraryOptions& options) {
  const ConvolutionProblem& problem = laid.problem;
  std::string key = Str(problem.kind, " ", problem.groups, laid.channels_last, attempt.with_epilogue,
                        attempt.may_compile, options.allow_tf32, " ", options.algorithm);
  const auto add = [&](const ConvolutionTensor& tensor) {
    key += Str(" ", tensor.operand, ":", tensor.type, "[", Join(tensor.dims, ","), "]");
  };
  for (const ConvolutionTensor* tensor : {&problem.images, &problem.weights, &problem.outputs}) add(*tensor);
  for (const ConvolutionDim& dim : problem.spatial)
    key += Str(" ", dim.stride, "/", dim.dilation, "/", dim.pad_low, "/", dim.pad_high);
  if (!attempt.with_epilogue) return key;
  for (const ConvolutionStep& step : problem.epilogue) {
    key += Str(" ", static_cast<int>(step.op), "=", std::bit_cast<uint64_t>(step.constant));
    add(step.tensor);
    key += Join(step.tensor.strides, ",");
  }
  return key;
}

// The first engine that may be taken and whose plan can be made, or the one of that number. Error: why there is none.
Result<std::shared_ptr<const Choice>> Choose(OnDevice& on, const Laid& laid, const Attempt& attempt,
                                             const LibraryOptions& options, int64_t number) {
  const OnDevice::Lent handle = TRY(on.Lend());
  const cudnn::Where where{.handle = handle.get()};
  cudnn::Graph graph = TRY(MakeGraph(on.api, where, laid, attempt.with_epilogue));
  std::vector<cudnn::Descriptor> all = Configurations(on.api, where, graph);
  std::string why_not = "it has no engine for it";
  if (number >= std::ssize(all)) why_not = Str("there are ", all.size(), " engines for it");
  int failures = 0;
  for (int64_t i = std::max<int64_t>(number, 0); i < std::ssize(all) && failures < kMostFailures; ++i) {
    if (number >= 0 && i > number) break;
    const cudnn::Engine engine = Describe(on.api, all[i], laid.problem.result().type, options.allow_tf32);
    const auto no = [&](std::string_view why) { why_not = Str("engine ", engine.index, ": ", why); };
    if (!engine.why_not.empty()) {
      no(engine.why_not);
      continue;
    }
    if (engine.is_compiled && !attempt.may_compile) {
      no("it is compiled for the graph");
      continue;
    }
    auto plan = MakePlan(on.api, where, all[i]);
    if (!plan) {
      no(plan.error().message());
      ++failures;
      continue;
    }
    if (plan->workspace > kMostWorkspace) {
      no(Str("it takes ", plan->workspace, " bytes of workspace"));
      continue;
    }
    return std::make_shared<const Choice>(
        Choice{std::move(graph), std::move(all[i]), std::move(*plan), engine.index, i, handle.get(), on.stream()});
  }
  FAIL(DeviceError("R015", std::move(why_not)));
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
  auto call = std::make_unique<CudnnCall>(api, laid);
  std::string why_not = "cuDNN gives weights in an order of its own";
  for (const Attempt& attempt : Attempts(laid, wanted)) {
    std::unique_ptr<Module> finish = attempt.with_epilogue ? nullptr : cudnn::FinishModule(contraction, laid);
    if (!attempt.with_epilogue && finish == nullptr) continue;
    auto choice = on.choices.Get(KeyOf(laid, attempt, options),
                                 [&] { return Choose(on, laid, attempt, options, wanted.number); });
    if (!choice) {
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
