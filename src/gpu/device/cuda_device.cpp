// A CUDA device through the driver's API, which compiles kernels from PTX.
//
// All work is queued on one stream of the primary context. Any later call can report errors of the work.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "gpu/device/cuda_driver.h"
#include "gpu/device/cuda_graph.h"
#include "gpu/device/cupti.h"
#include "gpu/device/device.h"
#include "gpu/device/emulated.h"
#include "gpu/device/shared_library.h"
#include "gpu/kernel/nvptx.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

constexpr int kOldestDriver = 12030;  // The first driver with PTX 8.3.
// The first drivers with conditional nodes, and with switch nodes, which have several branches.
constexpr int kDecidingDriver = 12040, kSwitchingDriver = 12080;
constexpr int kLeastThatWaits = 90;  // From sm_90 on, kernels can wait for their predecessors.

struct CudaCode : KernelCode {
  kernel::Ptx ptx;
  std::string name;
  int64_t blocks = 1, threads = 32;
  std::vector<size_t> first_arguments;
};

struct CudaKernel : LoadedKernel {
  CudaKernel(const Driver& driver, CudaHandle context) : driver(driver), context(context) {}
  ~CudaKernel() override {
    if (module == nullptr) return;
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    driver.Ended("cuModuleUnload", driver.unload_module(module));
  }

  int64_t spilled_bytes() const override {
    int bytes = 0;
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    return driver.ask_function(&bytes, kLocalBytes, function) == 0 ? bytes : 0;
  }

  const Driver& driver;
  CudaHandle context;
  CudaHandle module = nullptr, function = nullptr;
  unsigned blocks = 1, threads = 32, dynamic_shared = 0;
  bool waits = false;
  std::vector<size_t> first_arguments;
  std::string name;
};

DevicePointer Address(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

class CudaDevice : public Device {
 public:
  CudaDevice(const Driver& driver, int ordinal, std::vector<std::string> search)
      : driver_(driver), ordinal_(ordinal), search_(std::move(search)) {}

  // Making the primary context is slow, so it stays until the process ends.
  ~CudaDevice() override {
    if (context_ != nullptr) driver_.Ended("cuCtxSetCurrent", driver_.set_context(context_));
    EndLibraryStates();
    log_ = nullptr;
    for (const CudaHandle event : {started_, stopped_}) {
      if (event != nullptr) driver_.Ended("cuEventDestroy", driver_.destroy_event(event));
    }
    recorder_ = nullptr;
    if (stream_ != nullptr) driver_.Ended("cuStreamDestroy", driver_.stream_destroy(stream_));
  }

  Status Open() {
    CUDA_TRY("cuDriverGetVersion", driver_.driver_version(&version_));
    if (version_ < kOldestDriver) {
      FAIL(DeviceError("R012", Str("the CUDA driver is too old: it is for CUDA ", VersionText(),
                                   ", but kernels need CUDA ", kOldestDriver / 1000, ".3")));
    }
    const Status32 status = driver_.init(0);
    if (status == kCudaNoDevice) FAIL(NoDevice(0));
    if (status != 0) FAIL(driver_.Failed("cuInit", status));
    int count = 0;
    CUDA_TRY("cuDeviceGetCount", driver_.device_count(&count));
    if (ordinal_ >= count) FAIL(NoDevice(count));
    CUDA_TRY("cuDeviceGet", driver_.device_get(&device_, ordinal_));
    char name[256] = {};
    CUDA_TRY("cuDeviceGetName", driver_.device_name(name, sizeof name, device_));
    device_name_ = name;
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&multiprocessors_, kMultiprocessors, device_));
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&cache_, kCacheBytes, device_));
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&shared_memory_, kSharedBytes, device_));
    int major = 0, minor = 0;
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&major, kComputeMajor, device_));
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&minor, kComputeMinor, device_));
    compute_ = 10 * major + minor;
    if (compute_ < 80)
      FAIL(DeviceError("R012",
                       Str(name_text(), " '", device_name_, "' is sm_", compute_, "; kernels need sm_80 or later")));
    CUDA_TRY("cuDeviceTotalMem", driver_.device_total_memory(&total_memory_, device_));
    CUDA_TRY("cuDevicePrimaryCtxRetain", driver_.primary_context(&context_, device_));
    CUDA_TRY("cuCtxSetCurrent", driver_.set_context(context_));
    CUDA_TRY("cuStreamCreate", driver_.stream_create(&stream_, kStreamNonBlocking));
    recorder_ = std::make_unique<CudaRecorder>(driver_, context_, stream_);
    return {};
  }

  std::string name() const override { return name_text(); }

  std::string description() const override {
    return Str(device_name_, ", sm_", compute_, ", ", multiprocessors_, " SMs, ",
               HumanBytes(static_cast<double>(total_memory_)), ", driver for CUDA ", VersionText());
  }

  std::string target() const override { return Arch(); }

  DeviceDescription Describe() const override {
    DeviceDescription device = NearestDevice(device_name_, compute_);
    device.compute_capability = compute_;
    device.multiprocessors = multiprocessors_;
    device.shared_memory_bytes = shared_memory_;
    device.memory_bytes = static_cast<int64_t>(total_memory_);
    device.cache_bytes = cache_;
    return device;
  }

  bool IsHost() const override { return false; }
  void* stream() const override { return stream_; }

  Status MakeCurrent() override {
    CUDA_TRY("cuCtxSetCurrent", driver_.set_context(context_));
    return {};
  }

  Result<void*> Allocate(int64_t bytes) override {
    TRY(MakeCurrent());
    DevicePointer memory = 0;
    const Status32 status = driver_.allocate(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (status == kCudaOutOfMemory) {
      size_t free = 0, total = 0;
      driver_.memory_info(&free, &total);
      FAIL(LimitError("R020", Str("no memory for ", HumanBytes(static_cast<double>(bytes)), " on ", name_text(), ": ",
                                  HumanBytes(static_cast<double>(free)), " of ", HumanBytes(static_cast<double>(total)),
                                  " are free")));
    }
    if (status != 0)
      FAIL(driver_.Failed("cuMemAlloc", status, Str("allocating ", HumanBytes(static_cast<double>(bytes)))));
    return reinterpret_cast<void*>(memory);
  }

  void Free(void* memory) override {
    driver_.Ended("cuCtxSetCurrent", driver_.set_context(context_));
    driver_.Ended("cuMemFree", driver_.free(Address(memory)));
  }

  Status CopyIn(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    CUDA_TRY("cuMemcpyHtoDAsync", driver_.copy_in(Address(to), from, bytes, stream_));
    return Synchronize();
  }

  Status CopyOut(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    CUDA_TRY("cuMemcpyDtoHAsync", driver_.copy_out(to, Address(from), bytes, stream_));
    return Synchronize();
  }

  Status Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    CUDA_TRY("cuMemcpyDtoDAsync", driver_.copy(Address(to), Address(from), bytes, stream_));
    return {};
  }

  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    if (count == 0) return {};
    TRY(MakeCurrent());
    const auto low = static_cast<uint32_t>(pattern), high = static_cast<uint32_t>(pattern >> 32);
    if (width == 1) CUDA_TRY("cuMemsetD8Async", driver_.fill8(Address(to), low, count, stream_));
    if (width == 2) CUDA_TRY("cuMemsetD16Async", driver_.fill16(Address(to), low, count, stream_));
    if (width == 4) CUDA_TRY("cuMemsetD32Async", driver_.fill32(Address(to), low, count, stream_));
    if (width != 8) return {};
    if (low == high) {
      CUDA_TRY("cuMemsetD32Async", driver_.fill32(Address(to), low, 2 * count, stream_));
      return {};
    }
    CUDA_TRY("cuMemsetD2D32Async", driver_.fill32_rows(Address(to), 8, low, 1, count, stream_));
    CUDA_TRY("cuMemsetD2D32Async", driver_.fill32_rows(Address(to) + 4, 8, high, 1, count, stream_));
    return {};
  }

  Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                 std::span<const double>, kernel::CodeCache*) override {
    std::map<kernel::KernelHash, std::shared_ptr<const KernelCode>> code_of;
    std::vector<std::shared_ptr<const KernelCode>> code;
    std::vector<kernel::Ptx> ptx = TRY(kernel::EmitPtx(kernels, {.arch = Arch()}));
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto& one = code_of[kernel::Hash(*kernels[i])];
      if (one == nullptr) {
        if (driver_.is_double) KeepForEmulator(ptx[i], *kernels[i]);
        one = CodeOf(*kernels[i], std::move(ptx[i]));
      }
      code.push_back(one);
    }
    return code;
  }

  Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) override {
    std::map<const KernelCode*, size_t> first;
    std::vector<size_t> same_as(code.size()), todo;
    for (size_t i = 0; i < code.size(); ++i) {
      const auto [at, is_new] = first.emplace(code[i].get(), i);
      same_as[i] = at->second;
      if (is_new) todo.push_back(i);
    }
    std::vector<std::shared_ptr<const LoadedKernel>> loaded(code.size());
    TRY(OnAllThreads(todo, [&](size_t i) -> Status {
      loaded[i] = TRY(LoadOne(static_cast<const CudaCode&>(*code[i])));
      return {};
    }));
    for (size_t i = 0; i < code.size(); ++i) loaded[i] = loaded[same_as[i]];
    return loaded;
  }

  Status Launch(const LoadedKernel& loaded, std::span<void* const> arguments) override {
    const auto& kernel = static_cast<const CudaKernel&>(loaded);
    TRY(MakeCurrent());
    if (!is_recording_ || !launches_early_ || !kernel.waits) return Queue(kernel, arguments);
    return recorder_->Early([&] { return Queue(kernel, arguments); });
  }

  bool Records() const override { return true; }

  Status BeginRecording() override {
    TRY(MakeCurrent());
    TRY(recorder_->Begin());
    is_recording_ = true;
    return {};
  }

  void DropRecording() override {
    is_recording_ = false;
    driver_.Ended("cuCtxSetCurrent", driver_.set_context(context_));
    recorder_->Drop();
  }

  Result<std::shared_ptr<const Recording>> EndRecording() override {
    is_recording_ = false;
    if (Status current = MakeCurrent(); !current) {
      recorder_->Drop();
      return std::unexpected(std::move(current).error());
    }
    return recorder_->End();
  }

  bool RecordsOrder() const override { return driver_.set_dependencies != nullptr && driver_.capture_info != nullptr; }
  Result<RecordedNodes> LastRecorded() override { return recorder_->Last(); }
  Status RecordAfter(const RecordedNodes& nodes) override { return recorder_->After(nodes); }
  bool SetEarlyLaunches(bool on) override {
    if (!RecordsOrder() || compute_ < kLeastThatWaits) return false;
    return std::exchange(launches_early_, on);
  }

  Status Replay(const Recording& recording) override {
    TRY(MakeCurrent());
    return recorder_->Launch(recording);
  }

  Decisions Decides() const override {
    if (!driver_.lacks.empty() || version_ < kDecidingDriver) return Decisions::kNone;
    return version_ < kSwitchingDriver ? Decisions::kOneByOne : Decisions::kWithSwitch;
  }

  std::string WhyHostDecides() const override {
    if (version_ >= kDecidingDriver) return Str("the CUDA driver has no ", driver_.lacks);
    return Str("the CUDA driver is for CUDA ", VersionText(), ", but loops and branches in graphs need CUDA ",
               kDecidingDriver / 1000, ".", kDecidingDriver % 1000 / 10);
  }

  Status RecordWhile(const ConditionLaunch& first, const ConditionLaunch& next,
                     const std::function<Status()>& body) override {
    void* const condition = TRY(recorder_->MakeCondition());
    TRY(Launch(first.kernel, first.With(condition)));
    const auto trip = [&]() -> Status {
      TRY(body());
      return Launch(next.kernel, next.With(condition));
    };
    return recorder_->Add(kWhileNode, condition, std::array<std::function<Status()>, 1>{trip});
  }

  Status RecordBranches(const LoadedKernel& set, std::span<void* const> arguments,
                        std::span<const std::function<Status()>> branches) override {
    const bool one_node = Decides() == Decisions::kWithSwitch;
    std::vector<void*> all;
    for (size_t i = 0; i < (one_node ? 1 : branches.size()); ++i) all.push_back(TRY(recorder_->MakeCondition()));
    const std::vector<void*> conditions = all;
    all.insert(all.end(), arguments.begin(), arguments.end());
    // A branch may overwrite the selector, so all conditions are set before the first branch runs.
    TRY(Launch(set, all));
    if (one_node) return recorder_->Add(kSwitchNode, conditions.front(), branches);
    for (size_t i = 0; i < branches.size(); ++i) TRY(recorder_->Add(kIfNode, conditions[i], branches.subspan(i, 1)));
    return {};
  }

  Status StartClock() override {
    TRY(MakeCurrent());
    for (CudaHandle* event : {&started_, &stopped_}) {
      if (*event == nullptr) CUDA_TRY("cuEventCreate", driver_.create_event(event, 0));
    }
    CUDA_TRY("cuEventRecord", driver_.record_event(started_, stream_));
    return {};
  }

  Result<std::optional<double>> StopClock() override {
    TRY(MakeCurrent());
    CUDA_TRY("cuEventRecord", driver_.record_event(stopped_, stream_));
    CUDA_TRY("cuEventSynchronize", driver_.synchronize_event(stopped_));
    float ms = 0;
    CUDA_TRY("cuEventElapsedTime", driver_.elapsed_ms(&ms, started_, stopped_));
    return ms;
  }

  Result<ActivityLog*> Log() override {
    if (log_ != nullptr) return log_.get();
    if (!RecordsOrder() || driver_.node_dependencies == nullptr)
      FAIL(DeviceError("R017", "the CUDA driver cannot list the nodes of a graph"));
    TRY(MakeCurrent());
    log_ = TRY(OpenCupti(search_, {.watch = [this](bool on) { recorder_->ListNodes(on); },
                                   .take_new = [this] { return recorder_->TakeNew(); }}));
    return log_.get();
  }

  Status Synchronize() override {
    TRY(MakeCurrent());
    CUDA_TRY("cuStreamSynchronize", driver_.stream_synchronize(stream_));
    return {};
  }

 private:
  Status Queue(const CudaKernel& kernel, std::span<void* const> arguments) {
    // A group of arrays is one parameter with several pointers.
    parameters_.clear();
    for (const size_t first : kernel.first_arguments) parameters_.push_back(const_cast<void**>(&arguments[first]));
    const Status32 status = driver_.launch(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1,
                                           kernel.dynamic_shared, stream_, parameters_.data(), nullptr);
    if (status != 0) {
      FAIL(driver_.Failed("cuLaunchKernel", status,
                          Str("launching '", kernel.name, "' with ", kernel.blocks, " blocks of ", kernel.threads)));
    }
    return {};
  }

  std::string name_text() const { return Str("cuda:", ordinal_); }
  std::string VersionText() const { return Str(version_ / 1000, ".", version_ % 1000 / 10); }

  Error NoDevice(int count) const {
    return DeviceError("R011",
                       Str("no ", name_text(), ": the CUDA driver finds ", count, count == 1 ? " device" : " devices"))
        .Hint("--platform=cpu runs the program on this machine without a GPU");
  }

  // Newer devices get PTX for sm_90.
  std::string Arch() const { return Str("sm_", std::min(compute_, 90)); }

  static Status OnAllThreads(const std::vector<size_t>& items, const std::function<Status(size_t)>& work) {
    std::vector<Status> done(items.size());
    ParallelFor(std::ssize(items), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) done[i] = work(items[i]);
    });
    for (Status& one : done) TRY(std::move(one));
    return {};
  }

  static std::shared_ptr<const KernelCode> CodeOf(const kernel::Kernel& kernel, kernel::Ptx ptx) {
    auto code = std::make_shared<CudaCode>();
    code->ptx = std::move(ptx);
    code->name = kernel.name;
    code->blocks = kernel.blocks;
    code->threads = kernel.threads;
    const std::vector<kernel::KernelArgument> arguments = kernel.Arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].member == 0) code->first_arguments.push_back(i);
    }
    return code;
  }

  Result<std::shared_ptr<const LoadedKernel>> LoadOne(const CudaCode& code) {
    auto loaded = std::make_shared<CudaKernel>(driver_, context_);
    loaded->name = code.name;
    loaded->blocks = static_cast<unsigned>(code.blocks);
    loaded->threads = static_cast<unsigned>(code.threads);
    loaded->first_arguments = code.first_arguments;
    loaded->dynamic_shared = static_cast<unsigned>(code.ptx.dynamic_shared_bytes);
    loaded->waits = code.ptx.waits;
    TRY(MakeCurrent());  // Contexts are set per thread.
    char log[4096] = {};
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    if (const Status32 status = driver_.load_module(&loaded->module, code.ptx.text.c_str(), 2, options, values)) {
      loaded->module = nullptr;
      Error error = driver_.Failed("cuModuleLoadDataEx", status, Str("loading '", code.name, "'"));
      if (log[0] != 0) error.diagnostics.back().notes.push_back({Str("the driver says: ", Trim(log)), {}});
      FAIL(std::move(error));
    }
    if (const Status32 status = driver_.get_function(&loaded->function, loaded->module, code.ptx.entry.c_str()))
      FAIL(driver_.Failed("cuModuleGetFunction", status, Str("loading '", code.name, "'")));
    if (code.ptx.dynamic_shared_bytes <= kStaticSharedBytes) return loaded;
    if (const Status32 status = driver_.function_attribute(loaded->function, kMaxDynamicShared,
                                                           static_cast<int>(code.ptx.dynamic_shared_bytes)))
      FAIL(driver_.Failed("cuFuncSetAttribute", status, Str("loading '", code.name, "'")));
    return loaded;
  }

  const Driver& driver_;
  int ordinal_;
  std::vector<std::string> search_;
  int device_ = 0;
  int version_ = 0;
  int compute_ = 0;
  int multiprocessors_ = 0, cache_ = 0, shared_memory_ = 0;
  size_t total_memory_ = 0;
  std::string device_name_;
  CudaHandle context_ = nullptr, stream_ = nullptr;
  std::unique_ptr<CudaRecorder> recorder_;
  bool is_recording_ = false, launches_early_ = false;
  std::unique_ptr<ActivityLog> log_;
  CudaHandle started_ = nullptr, stopped_ = nullptr;
  std::vector<void*> parameters_;
};

}  // namespace

Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const std::vector<std::string>& search) {
  auto device = std::make_unique<CudaDevice>(*TRY(OpenOnce<LoadDriver>(search)), ordinal, search);
  TRY(device->Open());
  return device;
}

}  // namespace hlo::gpu
