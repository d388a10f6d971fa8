#include "gpu/libraries/cudnn_choice.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace hlo::gpu::cudnn {
namespace {

constexpr int64_t kMostWorkspace = int64_t{1} << 30;
// The search ends after this many failed plans, because making a plan may compile an engine, which is slow.
constexpr int kMostFailures = 4;
constexpr std::string_view kNotLoaded = "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER";

Result<std::shared_ptr<const Choice>> Choose(const OnDevice& on, Graph graph, const Where& where, const Terms& terms,
                                             const LibraryOptions& options) {
  std::vector<Descriptor> all = Configurations(on.api, where, graph, options.notes);
  std::string why_not = "cuDNN has no engine for it";
  const int64_t number = terms.number;
  if (number >= std::ssize(all)) why_not = Str("cuDNN has only ", all.size(), " engines for it");
  int failures = 0;
  for (int64_t i = std::max<int64_t>(number, 0); i < std::ssize(all) && failures < kMostFailures; ++i) {
    if (number >= 0 && i > number) break;
    const Engine engine = Describe(on.api, all[i], terms.type, options.allow_tf32, options.notes);
    const auto no = [&](std::string_view why) { why_not = Str("engine ", engine.index, ": ", why); };
    if (!engine.why_not.empty()) {
      no(engine.why_not);
      continue;
    }
    if (engine.is_compiled && !terms.may_compile) {
      no("it would have to be compiled for the graph");
      continue;
    }
    auto plan = MakePlan(on.api, where, all[i]);
    if (!plan) {
      no(plan.error().message());
      NotePassedOver(options.notes, Str("engine ", engine.index, " of cuDNN"), plan.error());
      ++failures;
      continue;
    }
    if (plan->workspace > kMostWorkspace) {
      no(Str("it takes ", plan->workspace, " bytes of workspace"));
      continue;
    }
    return std::make_shared<const Choice>(
        Choice{std::move(graph), std::move(all[i]), std::move(*plan), engine.index, i, where.handle});
  }
  FAIL(DeviceError("R018", std::move(why_not)));
}

}  // namespace

OnDevice::~OnDevice() {
  choices.Clear();
  for (const Handle handle : handles_) {
    if (const int status = api.destroy(handle)) VLOG(0, api.Failed("cudnnDestroy", status).message());
  }
}

Result<OnDevice::Lent> OnDevice::Lend() {
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

Result<Handle> OnDevice::Make() {
  Handle made = nullptr;
  if (const int status = api.create(&made)) FAIL(api.Failed("cudnnCreate", status));
  {
    const std::lock_guard lock(mutex_);
    handles_.push_back(made);
  }
  if (const int status = api.set_stream(made, stream_)) FAIL(api.Failed("cudnnSetStream", status));
  return made;
}

bool OnDevice::Owns(Handle handle) {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(handles_, handle) != handles_.end();
}

Result<OwnPart::Loaded> OnDevice::Load(const std::shared_ptr<const OwnPart>& part, Device& device) {
  const std::lock_guard lock(mutex_);
  OwnPart::Loaded& loaded = loaded_[part];
  if (loaded.empty()) loaded = TRY(part->Load(device));
  return loaded;
}

Result<OnDevice*> On(const Api& api, Device& device) {
  return static_cast<OnDevice*>(TRY(device.LibraryState(&api, [&]() -> Result<std::shared_ptr<void>> {
    auto made = std::make_shared<OnDevice>(api, device.stream());
    TRY(made->Lend());
    return made;
  })));
}

Result<std::shared_ptr<const Choice>> ChooseOnce(OnDevice& on, const std::string& key,
                                                 const std::function<Result<Graph>(const Where&)>& make,
                                                 const Terms& terms, const LibraryOptions& options) {
  return on.choices.Get(Str(key, " ", terms.may_compile, options.allow_tf32, " ", terms.number),
                        [&]() -> Result<std::shared_ptr<const Choice>> {
                          const OnDevice::Lent handle = TRY(on.Lend());
                          const Where where{.handle = handle.get()};
                          return Choose(on, TRY(make(where)), where, terms, options);
                        });
}

Result<std::shared_ptr<const Choice>> ChoiceOn(OnDevice& on, const std::shared_ptr<const Choice>& choice,
                                               const std::string& key,
                                               const std::function<Result<Graph>(const Where&)>& make,
                                               PrimitiveType type, bool allow_tf32) {
  if (on.Owns(choice->handle)) return choice;
  auto same = TRY(ChooseOnce(on, key, make, {.type = type, .number = choice->number}, {.allow_tf32 = allow_tf32}));
  if (same->engine == choice->engine && same->plan.workspace <= choice->plan.workspace) return same;
  FAIL(DeviceError("R018", Str("engine ", choice->engine, " of cuDNN is a different one on this device")));
}

Status Execute(const OnDevice& on, const Choice& choice, const std::vector<const void*>& pointers, void* workspace) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < pointers.size(); ++i) ids.push_back(static_cast<int64_t>(i) + 1);
  Descriptor pack(on.api, kVariantPack);
  pack.Set(kVariantPointers, kTypePointer, std::ssize(pointers), pointers.data());
  pack.Integers(kVariantIds, ids).Pointer(kVariantWorkspace, kTypePointer, workspace);
  TRY(pack.Finalize());
  if (const int status = on.api.execute(choice.handle, choice.plan.plan.handle(), pack.handle()))
    FAIL(on.api.Failed("cudnnBackendExecute", status));
  return {};
}

Result<std::vector<CudnnEngine>> EnginesFor(const std::function<Result<Graph>(const Where&)>& make, PrimitiveType type,
                                            bool compiles, const std::string& device_json,
                                            const LibraryOptions& options) {
  const Api& api = *TRY(GetApi(options.search));
  Descriptor description(api, kDeviceProperties);
  description.Set(kDeviceJson, kTypeChar, std::ssize(device_json), device_json.data());
  TRY(description.Finalize());
  const Where where{.description = &description};
  const Graph graph = TRY(make(where));
  std::vector<CudnnEngine> engines;
  for (const Descriptor& config : Configurations(api, where, graph, nullptr)) {
    const Engine engine = Describe(api, config, type, options.allow_tf32, nullptr);
    engines.push_back({engine.index, engine.is_compiled, engine.why_not});
    if (!engine.why_not.empty() || (engine.is_compiled && !compiles)) continue;
    const auto plan = MakePlan(api, where, config);
    // Without a device, the code of compiled engines cannot be loaded. This failure is not a refusal.
    const bool is_refused =
        !plan && !(engine.is_compiled && plan.error().message().find(kNotLoaded) != std::string::npos);
    if (is_refused) engines.back().why_not = plan.error().message();
  }
  return engines;
}

}  // namespace hlo::gpu::cudnn
