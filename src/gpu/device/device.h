// Where kernels run: memory, launches, one queue of work. Two kinds exist: the host, which runs the kernels' vectorised
// lowering on our threads, and a CUDA device through the driver's API (cuda_device.cpp).
//
// Work is queued in order by one thread. On the host everything is done when the call returns.
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

class ActivityLog;  // activity_log.h

// Every allocation, and every buffer within one, starts at a multiple of this.
constexpr int64_t kBufferAlignment = 256;
// Up to that.
constexpr int64_t AlignedBytes(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}
// What host kernels assume of an argument; the alignment of a Literal's bytes.
constexpr int64_t kHostAlignment = 64;

// A kernel as code for one kind of device (Device::target): made once, loaded on each device that runs it.
class KernelCode {
 public:
  virtual ~KernelCode() = default;
  virtual double compile_seconds() const { return 0; }  // 0: it was there already, or is not known.
  virtual bool was_kept() const { return false; }       // It came out of the cache on disk.
};

// Code on a device, to be launched with one pointer for each parameter of the kernel. Belongs to its device.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual int64_t spilled_bytes() const { return 0; }  // Registers that each thread keeps in memory; 0: or not known.
};

// Work that was queued once, to be queued again with the same pointers. Belongs to its device.
class Recording {
 public:
  virtual ~Recording() = default;
};

// What a device decides about in what it records: nothing; loops and branches, of which it has each as a node of its
// own; or branches as one node for all of a conditional.
enum class Decisions : uint8_t { kNone, kOneByOne, kWithSwitch };

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;  // "cpu", "cuda:0".
  virtual std::string description()
      const = 0;  // "AVX-512, 16 threads"; "NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, driver 570.86".
  virtual std::string target() const = 0;  // What its code is made for: "AVX-512", "sm_90".
  // What planners would know of it: the row nearest to it (ir/devices.def), with its own numbers where they are known.
  virtual DeviceDescription Describe() const = 0;
  // Its memory is the process's memory: pointers may be read and written here, and arguments need no copy.
  virtual bool IsHost() const = 0;

  // At least one byte, aligned to kBufferAlignment. Contents undefined. Errors: kLimit when there is no such memory.
  virtual Result<void*> Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory) = 0;

  // From and to the process's memory; done when the call returns, after all that was queued before.
  virtual Status CopyIn(void* to, const void* from, int64_t bytes) = 0;
  virtual Status CopyOut(void* to, const void* from, int64_t bytes) = 0;
  // Queued. The ranges do not overlap.
  virtual Status Copy(void* to, const void* from, int64_t bytes) = 0;
  // Queued. `count` times the low `width` bytes (1, 2, 4 or 8) of `pattern`.
  virtual Status Fill(void* to, uint64_t pattern, int width, int64_t count) = 0;

  // Kernels to code for target(), on all threads; equal ones once. One result for each. `shares`: which part of a run
  // each of them takes, as far as known; what takes little may become slower code that is sooner made. Empty: all
  // count. `kept`: code that other processes made (gpu/kernel/code_cache.h); null: none is.
  virtual Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                         std::span<const double> shares,
                                                                         kernel::CodeCache* kept) = 0;
  // Code of this target onto this device. One result for each.
  virtual Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) = 0;
  // Queued. One pointer for each parameter, in order.
  virtual Status Launch(const LoadedKernel& kernel, std::span<void* const> arguments) = 0;

  // Whether what it is given can be recorded: queued again as one, which costs less than one by one.
  virtual bool Records() const { return false; }
  // From here to EndRecording launches, copies on the device, fills and calls of libraries are kept, not done; nothing
  // may be waited for. When one of them fails DropRecording must be called.
  virtual Status BeginRecording() { return {}; }
  // Instead of EndRecording, where what was to be kept is not whole.
  virtual void DropRecording() {}
  virtual Result<std::shared_ptr<const Recording>> EndRecording() { return nullptr; }
  // Where it can be told, what is recorded comes after what it is told, not after what was queued before it: after the
  // nodes that it gave for a point of the recording; after none: at the begin.
  using RecordedNodes = std::vector<void*>;
  virtual bool RecordsOrder() const { return false; }
  virtual Result<RecordedNodes> LastRecorded() { return RecordedNodes(); }
  virtual Status RecordAfter(const RecordedNodes& /*nodes*/) { return {}; }
  // Kernels that are recorded may begin before the kernels before them have ended, and wait in their code. False: they
  // cannot, or that was off already.
  virtual bool SetEarlyLaunches(bool /*on*/) { return false; }
  // Queued.
  virtual Status Replay(const Recording& /*recording*/) { return {}; }

  // Loops and branches in what is recorded, where it decides about them. `first`, `next` and `set` are kernels that set
  // conditions (gpu/runtime/conditions.h); a launch of `set` is given the handles, then `arguments`.
  struct ConditionLaunch {
    const LoadedKernel& kernel;
    std::span<void* const> arguments;
    size_t handle_at = 0;  // So many arguments come before the handle.

    std::vector<void*> With(void* handle) const {
      std::vector<void*> all(arguments.begin(), arguments.end());
      all.insert(all.begin() + static_cast<ptrdiff_t>(handle_at), handle);
      return all;
    }
  };
  virtual Decisions Decides() const { return Decisions::kNone; }
  virtual std::string WhyHostDecides() const { return "this device decides about nothing"; }
  // As long as its condition, which `first` sets before it and `next` at the end of each trip: what `body` queues.
  virtual Status RecordWhile(const ConditionLaunch& /*first*/, const ConditionLaunch& /*next*/,
                             const std::function<Status()>& /*body*/) {
    return {};
  }
  // What one of `branches` queues; null: nothing. kWithSwitch: `set` sets one condition, to the number of the branch;
  // kOneByOne: one for each of them.
  virtual Status RecordBranches(const LoadedKernel& /*set*/, std::span<void* const> /*arguments*/,
                                std::span<const std::function<Status()>> /*branches*/) {
    return {};
  }

  // Waits for all that was queued. Errors of queued work come out here (or at a later call) at the latest.
  virtual Status Synchronize() = 0;

  // What is queued between these, in milliseconds on the device's own clock; StopClock waits for it. Nothing where it
  // has no clock but the process's.
  virtual Status StartClock() { return {}; }
  virtual Result<std::optional<double>> StopClock() { return std::nullopt; }
  // What tells, after it, when what was queued ran. Null: nothing does, on a host. Errors: why there is none.
  virtual Result<ActivityLog*> Log() { return nullptr; }

  // What libraries queue their work on: the CUstream; null on the host.
  virtual void* stream() const { return nullptr; }
  // From here on calls of libraries on this thread go to this device. Its own functions see to that themselves.
  virtual Status MakeCurrent() { return {}; }
  // What a library keeps for this device, its handle: made when it is first asked for, ended with the device.
  Result<void*> LibraryState(const void* library, const std::function<Result<std::shared_ptr<void>>()>& make);

 protected:
  // By what the device's own end must come after.
  void EndLibraryStates() { library_states_.clear(); }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<void>> library_states_;
};

// "cpu" and "host"; "cuda", "gpu", "cuda:1". `search`: folders in which the driver is looked for first. Errors: R010 no
// driver, R011 no such device, R012 too old; each names what was tried (kDevice). F-code for another name (kUsage).
Result<std::unique_ptr<Device>> OpenDevice(std::string_view platform, const std::vector<std::string>& search = {});

std::unique_ptr<Device> OpenHostDevice();
Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const std::vector<std::string>& search = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_DEVICE_H_
