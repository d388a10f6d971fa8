// A CUDA device through the driver's API, which compiles kernels from PTX.
//
// All work is queued on one stream of the primary context. Any later call can report errors of the work.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/device/cuda_driver.h"
#include "gpu/device/cuda_graph.h"
#include "gpu/device/cuda_info.h"
#include "gpu/device/cuda_kernels.h"
#include "gpu/device/cupti.h"
#include "gpu/device/device.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu {
namespace {

// The first drivers with conditional nodes, and with switch nodes, which have several branches.
constexpr int kDecidingDriver = 12040, kSwitchingDriver = 12080;
constexpr int kLeastThatWaits = 90;  // From sm_90 on, kernels can wait for their predecessors.

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
    device_ = TRY(FindCudaDevice(driver_, ordinal_));
    TRY(driver_.Check("cuDevicePrimaryCtxRetain", driver_.primary_context(&context_, device_.handle)));
    TRY(driver_.Check("cuCtxSetCurrent", driver_.set_context(context_)));
    TRY(driver_.Check("cuStreamCreate", driver_.stream_create(&stream_, kStreamNonBlocking)));
    recorder_ = std::make_unique<CudaRecorder>(driver_, context_, stream_);
    return {};
  }

  std::string name() const override { return CudaName(ordinal_); }
  std::string description() const override { return device_.Text(); }
  std::string target() const override { return device_.Arch(); }
  DeviceDescription Describe() const override { return device_.Describe(); }

  bool IsHost() const override { return false; }
  void* stream() const override { return stream_; }

  Status MakeCurrent() override {
    TRY(driver_.Check("cuCtxSetCurrent", driver_.set_context(context_)));
    return {};
  }

  Result<void*> Allocate(int64_t bytes) override {
    TRY(MakeCurrent());
    DevicePointer memory = 0;
    const Status32 status = driver_.allocate(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (status == kCudaOutOfMemory) {
      size_t free = 0, total = 0;
      driver_.memory_info(&free, &total);
      FAIL(LimitError("R020", Str("no memory for ", HumanBytes(static_cast<double>(bytes)), " on ", name(), ": ",
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
    TRY(driver_.Check("cuMemcpyHtoDAsync", driver_.copy_in(Address(to), from, bytes, stream_)));
    return Synchronize();
  }

  Status CopyOut(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    TRY(driver_.Check("cuMemcpyDtoHAsync", driver_.copy_out(to, Address(from), bytes, stream_)));
    return Synchronize();
  }

  Status Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    TRY(driver_.Check("cuMemcpyDtoDAsync", driver_.copy(Address(to), Address(from), bytes, stream_)));
    return {};
  }

  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    if (count == 0) return {};
    TRY(MakeCurrent());
    const auto low = static_cast<uint32_t>(pattern), high = static_cast<uint32_t>(pattern >> 32);
    if (width == 1) TRY(driver_.Check("cuMemsetD8Async", driver_.fill8(Address(to), low, count, stream_)));
    if (width == 2) TRY(driver_.Check("cuMemsetD16Async", driver_.fill16(Address(to), low, count, stream_)));
    if (width == 4) TRY(driver_.Check("cuMemsetD32Async", driver_.fill32(Address(to), low, count, stream_)));
    if (width != 8) return {};
    if (low == high) {
      TRY(driver_.Check("cuMemsetD32Async", driver_.fill32(Address(to), low, 2 * count, stream_)));
      return {};
    }
    TRY(driver_.Check("cuMemsetD2D32Async", driver_.fill32_rows(Address(to), 8, low, 1, count, stream_)));
    TRY(driver_.Check("cuMemsetD2D32Async", driver_.fill32_rows(Address(to) + 4, 8, high, 1, count, stream_)));
    return {};
  }

  Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                 std::span<const double>, kernel::CodeCache*) override {
    return CompileKernels(driver_, kernels, device_.Arch());
  }
  Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) override {
    return LoadKernels(driver_, context_, code);
  }

  Status Launch(const LoadedKernel& loaded, std::span<void* const> arguments) override {
    const auto& kernel = static_cast<const CudaKernel&>(loaded);
    TRY(MakeCurrent());
    if (!is_recording_ || !launches_early_ || !kernel.waits) return Queue(kernel, arguments, stream_, parameters_);
    return recorder_->Early([&] { return Queue(kernel, arguments, stream_, parameters_); });
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
    if (!RecordsOrder() || device_.compute < kLeastThatWaits) return false;
    return std::exchange(launches_early_, on);
  }

  Status Replay(const Recording& recording) override {
    TRY(MakeCurrent());
    return recorder_->Launch(recording);
  }

  Decisions Decides() const override {
    if (!driver_.lacks.empty() || device_.version < kDecidingDriver) return Decisions::kNone;
    return device_.version < kSwitchingDriver ? Decisions::kOneByOne : Decisions::kWithSwitch;
  }

  std::string WhyHostDecides() const override {
    if (device_.version >= kDecidingDriver) return Str("the CUDA driver has no ", driver_.lacks);
    return Str("the CUDA driver is for CUDA ", device_.VersionText(), ", but loops and branches in graphs need CUDA ",
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
      if (*event == nullptr) TRY(driver_.Check("cuEventCreate", driver_.create_event(event, 0)));
    }
    TRY(driver_.Check("cuEventRecord", driver_.record_event(started_, stream_)));
    return {};
  }

  Result<std::optional<double>> StopClock() override {
    TRY(MakeCurrent());
    TRY(driver_.Check("cuEventRecord", driver_.record_event(stopped_, stream_)));
    TRY(driver_.Check("cuEventSynchronize", driver_.synchronize_event(stopped_)));
    float ms = 0;
    TRY(driver_.Check("cuEventElapsedTime", driver_.elapsed_ms(&ms, started_, stopped_)));
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
    TRY(driver_.Check("cuStreamSynchronize", driver_.stream_synchronize(stream_)));
    return {};
  }

 private:
  const Driver& driver_;
  int ordinal_;
  std::vector<std::string> search_;
  CudaDeviceInfo device_;
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
