// A device runs kernels: it has memory, launches and one queue of work. There are two kinds. The host runs the
// vectorised lowering of kernels on our threads. A CUDA device is used through the driver's API (cuda_device.cpp).
//
// One thread queues work in order. On the host all work is done when the call returns.
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

class ActivityLog;  // Defined in activity_log.h.

// Every allocation, and every buffer within one, starts at a multiple of this number of bytes.
constexpr int64_t kBufferAlignment = 256;
// Rounds up to kBufferAlignment.
constexpr int64_t AlignedBytes(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}
// The alignment that host kernels assume for arguments, and that bytes of a Literal have.
constexpr int64_t kHostAlignment = 64;

// The code of a kernel for one kind of device (Device::target). It is made once and loaded on each device.
class KernelCode {
 public:
  virtual ~KernelCode() = default;
  virtual double compile_seconds() const { return 0; }  // 0 if it was cached or is not known.
  virtual bool was_kept() const { return false; }       // It came from the cache on disk.
};

// Code on a device. A launch needs one pointer for each parameter of the kernel. Belongs to its device.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual int64_t spilled_bytes() const { return 0; }  // Spilled registers of each thread; 0 if none or unknown.
};

// Recorded work that can be queued again with the same pointers. Belongs to its device.
class Recording {
 public:
  virtual ~Recording() = default;
};

// The decisions that a device can make in a recording: none, loops and branches with one node each, or also branches
// with one node for a whole conditional.
enum class Decisions : uint8_t { kNone, kOneByOne, kWithSwitch };

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;  // "cpu" or "cuda:0"
  virtual std::string description()
      const = 0;  // Such as "AVX-512, 16 threads" or "NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, driver 570.86".
  virtual std::string target() const = 0;  // The target of its code: "AVX-512", "sm_90".
  // A description for planners: the nearest row of ir/devices.def with the device's own numbers where known.
  virtual DeviceDescription Describe() const = 0;
  // Whether its memory is the process's memory, so that pointers can be accessed here and arguments need no copy.
  virtual bool IsHost() const = 0;

  // Returns at least one byte, aligned to kBufferAlignment, with undefined contents. Errors: kLimit if there is not
  // enough memory.
  virtual Result<void*> Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory) = 0;

  // Copies from and to the process's memory after all earlier work. Returns when done.
  virtual Status CopyIn(void* to, const void* from, int64_t bytes) = 0;
  virtual Status CopyOut(void* to, const void* from, int64_t bytes) = 0;
  // Queued. The ranges must not overlap.
  virtual Status Copy(void* to, const void* from, int64_t bytes) = 0;
  // Queued. Writes the low `width` bytes (1, 2, 4 or 8) of `pattern` `count` times.
  virtual Status Fill(void* to, uint64_t pattern, int width, int64_t count) = 0;

  // Compiles kernels for target() on all threads, equal ones once. Returns one result for each. `shares` are the known
  // parts of the run time; kernels with a small share may be compiled faster to slower code. Empty means full effort.
  // `kept` is a cache of code of other processes (gpu/kernel/code_cache.h), or null.
  virtual Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                         std::span<const double> shares,
                                                                         kernel::CodeCache* kept) = 0;
  // Loads code for this target on this device. Returns one result for each.
  virtual Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) = 0;
  // Queued. `arguments` has one pointer for each parameter, in order.
  virtual Status Launch(const LoadedKernel& kernel, std::span<void* const> arguments) = 0;

  // Whether work can be recorded, which makes queueing it again cheaper.
  virtual bool Records() const { return false; }
  // Until EndRecording, launches, copies on the device, fills and library calls are recorded instead of executed.
  // Nothing may wait. If one of them fails, call DropRecording.
  virtual Status BeginRecording() { return {}; }
  // Ends an incomplete recording.
  virtual void DropRecording() {}
  virtual Result<std::shared_ptr<const Recording>> EndRecording() { return nullptr; }
  // If RecordsOrder, the caller can choose the predecessors of the next recorded node. They are nodes that LastRecorded
  // returned at some point, or none for the start. Otherwise each node follows the previous one.
  using RecordedNodes = std::vector<void*>;
  virtual bool RecordsOrder() const { return false; }
  virtual Result<RecordedNodes> LastRecorded() { return RecordedNodes(); }
  virtual Status RecordAfter(const RecordedNodes& /*nodes*/) { return {}; }
  // Allows recorded kernels to start before the preceding kernels have ended and to wait in their code. Returns false
  // if that is impossible or was already off.
  virtual bool SetEarlyLaunches(bool /*on*/) { return false; }
  // Queued.
  virtual Status Replay(const Recording& /*recording*/) { return {}; }

  // Loops and branches in a recording that the device decides. `first`, `next` and `set` are kernels that set
  // conditions (gpu/runtime/conditions.h). A launch of `set` gets the handles and then `arguments`.
  struct ConditionLaunch {
    const LoadedKernel& kernel;
    std::span<void* const> arguments;
    size_t handle_at = 0;  // The number of arguments before the handle.

    std::vector<void*> With(void* handle) const {
      std::vector<void*> all(arguments.begin(), arguments.end());
      all.insert(all.begin() + static_cast<ptrdiff_t>(handle_at), handle);
      return all;
    }
  };
  virtual Decisions Decides() const { return Decisions::kNone; }
  virtual std::string WhyHostDecides() const { return "this device cannot evaluate conditions in a graph"; }
  // Records a loop over the work that `body` queues. `first` sets its condition before the loop, and `next` at the end
  // of each trip.
  virtual Status RecordWhile(const ConditionLaunch& /*first*/, const ConditionLaunch& /*next*/,
                             const std::function<Status()>& /*body*/) {
    return {};
  }
  // Records a conditional. Each function queues the work of a branch; null is an empty branch. With kWithSwitch, `set`
  // sets one condition to the branch number. With kOneByOne, it sets one condition for each branch.
  virtual Status RecordBranches(const LoadedKernel& /*set*/, std::span<void* const> /*arguments*/,
                                std::span<const std::function<Status()>> /*branches*/) {
    return {};
  }

  // Waits for all queued work. At the latest, this call or a later one returns its errors.
  virtual Status Synchronize() = 0;

  // The time of the work queued between the calls, in milliseconds on the device's clock. StopClock waits for it.
  // nullopt if the device has no clock of its own.
  virtual Status StartClock() { return {}; }
  virtual Result<std::optional<double>> StopClock() { return std::nullopt; }
  // The log with the times of queued work; null on a host. Errors: the reason why there is none.
  virtual Result<ActivityLog*> Log() { return nullptr; }

  // The CUstream that libraries use; null on the host.
  virtual void* stream() const { return nullptr; }
  // Directs library calls of this thread to this device from now on. The device's own functions do so themselves.
  virtual Status MakeCurrent() { return {}; }
  // The state of a library for this device, such as its handle. Made on first use and destroyed with the device.
  Result<void*> LibraryState(const void* library, const std::function<Result<std::shared_ptr<void>>()>& make);

 protected:
  // The device's destructor must call it first.
  void EndLibraryStates() { library_states_.clear(); }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<void>> library_states_;
};

// Opens "cpu" or "host", "cuda", "gpu" or "cuda:1". `search` are folders to search for the driver first. Errors
// (kDevice): R010 no driver, R011 no such device, R012 too old, each with the places tried. Other names: an F-code
// (kUsage).
Result<std::unique_ptr<Device>> OpenDevice(std::string_view platform, const std::vector<std::string>& search = {});

std::unique_ptr<Device> OpenHostDevice();
Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const std::vector<std::string>& search = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_DEVICE_H_
