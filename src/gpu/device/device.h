// A device, the host or a CUDA device, has memory and runs kernels. One thread queues work, which runs in order. On the
// host, calls return when the work is done.
#ifndef HLO_GPU_DEVICE_DEVICE_H_
#define HLO_GPU_DEVICE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"
#include "ir/device_description.h"

namespace hlo::kernel {
class CodeCache;
}

namespace hlo::gpu {

class ActivityLog;

// Alignment of allocations and of buffers within them, in bytes.
constexpr int64_t kBufferAlignment = 256;
constexpr int64_t AlignedBytes(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}
// Alignment of a Literal's bytes, which host kernels assume.
constexpr int64_t kHostAlignment = 64;

// The code of a kernel for one Device::target.
class KernelCode {
 public:
  virtual ~KernelCode() = default;
  virtual double compile_seconds() const { return 0; }  // 0 if cached or unknown.
  virtual bool was_kept() const { return false; }       // From the cache on disk.
};

class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual int64_t spilled_bytes() const { return 0; }  // Per thread; 0 if unknown.
};

// Recorded work of one device, to be queued again with the same pointers.
class Recording {
 public:
  virtual ~Recording() = default;
};

// Control flow in recordings. kNone: none. kOneByOne: loops, and a node for each branch. kWithSwitch: loops, and one
// node for all branches.
enum class Decisions : uint8_t { kNone, kOneByOne, kWithSwitch };

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;         // "cpu" or "cuda:0"
  virtual std::string description() const = 0;  // "AVX-512, 16 threads".
  virtual std::string target() const = 0;       // "AVX-512", "sm_90".
  // The nearest row of ir/devices.def, with the device's own numbers.
  virtual DeviceDescription Describe() const = 0;
  // Whether device memory is memory of the process.
  virtual bool IsHost() const = 0;

  // Allocates at least one byte, aligned to kBufferAlignment. Error: R020 (kLimit) if memory is short.
  virtual Result<void*> Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory) = 0;

  // Copies between process and device after all earlier work, and waits.
  virtual Status CopyIn(void* to, const void* from, int64_t bytes) = 0;
  virtual Status CopyOut(void* to, const void* from, int64_t bytes) = 0;
  // Queues a copy within the device. Ranges must not overlap.
  virtual Status Copy(void* to, const void* from, int64_t bytes) = 0;
  // Queues a fill with `count` copies of the low `width` bytes (1, 2, 4, 8) of `pattern`.
  virtual Status Fill(void* to, uint64_t pattern, int width, int64_t count) = 0;

  // Compiles on all threads, and equal kernels once. `shares`, possibly empty, and `kept`, possibly null, are as in
  // kernel::CompileHost (gpu/codegen/host.h).
  virtual Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                         std::span<const double> shares,
                                                                         kernel::CodeCache* kept) = 0;
  virtual Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) = 0;
  // `arguments` are the pointers of Kernel::Arguments.
  virtual Status Launch(const LoadedKernel& kernel, std::span<void* const> arguments) = 0;

  virtual bool Records() const { return false; }
  // Until EndRecording, work and library calls are recorded, not executed, and no call may wait. After a failure, call
  // DropRecording.
  virtual Status BeginRecording() { return {}; }
  virtual void DropRecording() {}
  virtual Result<std::shared_ptr<const Recording>> EndRecording() { return nullptr; }
  // If RecordsOrder is true, RecordAfter sets the next node's predecessors: nodes from LastRecorded, or none. Otherwise
  // each node follows the previous one.
  using RecordedNodes = std::vector<void*>;
  virtual bool RecordsOrder() const { return false; }
  virtual Result<RecordedNodes> LastRecorded() { return RecordedNodes(); }
  virtual Status RecordAfter(const RecordedNodes& /*nodes*/) { return {}; }
  // If `on`, recorded kernels may start before their predecessors have ended, and wait for them in their code. Returns
  // the previous setting.
  virtual bool SetEarlyLaunches(bool /*on*/) { return false; }
  virtual Status Replay(const Recording& /*recording*/) { return {}; }

  // A launch of a kernel that sets a condition (gpu/runtime/conditions.h).
  struct ConditionLaunch {
    const LoadedKernel& kernel;
    std::span<void* const> arguments;
    size_t handle_at = 0;  // Number of arguments before the handle.

    std::vector<void*> With(void* handle) const {
      std::vector<void*> all(arguments.begin(), arguments.end());
      all.insert(all.begin() + static_cast<ptrdiff_t>(handle_at), handle);
      return all;
    }
  };
  virtual Decisions Decides() const { return Decisions::kNone; }
  virtual std::string WhyHostDecides() const { return "this device cannot evaluate conditions in a graph"; }
  // Records a loop. `first` sets the condition before the loop, `next` after each trip.
  virtual Status RecordWhile(const ConditionLaunch& /*first*/, const ConditionLaunch& /*next*/,
                             const std::function<Status()>& /*body*/) {
    return {};
  }
  // Records a conditional. Each function in `branches` queues one branch, which is empty if the function is null. `set`
  // gets the handles of the conditions and then `arguments`. With kWithSwitch it sets one condition to the branch
  // number. Otherwise each branch has a condition.
  virtual Status RecordBranches(const LoadedKernel& /*set*/, std::span<void* const> /*arguments*/,
                                std::span<const std::function<Status()>> /*branches*/) {
    return {};
  }

  // Waits for queued work and returns its errors.
  virtual Status Synchronize() = 0;

  // StopClock waits for the work queued since StartClock and returns its milliseconds. nullopt without a clock.
  virtual Status StartClock() { return {}; }
  virtual Result<std::optional<double>> StopClock() { return std::nullopt; }
  // The log of the device's work, null on the host. Error: why there is no log.
  virtual Result<ActivityLog*> Log() { return nullptr; }

  // The libraries' CUstream, null on the host.
  virtual void* stream() const { return nullptr; }
  // Directs library calls of this thread to this device.
  virtual Status MakeCurrent() { return {}; }
  // A library's state for this device, such as a handle, made on first use and destroyed with the device. `library` is
  // an address that identifies the library.
  Result<void*> LibraryState(const void* library, const std::function<Result<std::shared_ptr<void>>()>& make);

 protected:
  // A destructor must call this first if library states use the device.
  void EndLibraryStates() { library_states_.clear(); }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<void>> library_states_;
};

// Opens "cpu", "host", "cuda", "gpu" or "cuda:1". Searches the driver in `search` first. Errors: R010 no driver, R011
// no device, R012 too old, F004 other names.
Result<std::unique_ptr<Device>> OpenDevice(std::string_view platform, const std::vector<std::string>& search = {});

std::unique_ptr<Device> OpenHostDevice();
Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const std::vector<std::string>& search = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_DEVICE_H_
