// A device for autotuning's candidates. With `zones`, each allocation has a pattern before and after it, whose change
// shows that a candidate wrote outside its memory.
#ifndef HLO_GPU_RUNTIME_TUNING_GUARDED_DEVICE_H_
#define HLO_GPU_RUNTIME_TUNING_GUARDED_DEVICE_H_

#include <map>
#include <string>
#include <utility>

#include "gpu/device/device.h"

namespace hlo::gpu {

class GuardedDevice : public Device {
 public:
  GuardedDevice(Device& device, bool zones) : device_(device), zones_(zones) {}
  ~GuardedDevice() override;

  // Waits and checks all zones. Returns "", or a text such as "512 bytes behind an allocation of 4.0 KiB".
  Result<std::string> Violation();
  // Evicts this device's memory from caches. On a GPU, queues a write to other memory of at least twice the last-level
  // cache. Errors: kLimit if that memory cannot be allocated.
  Status EmptyCaches();
  // Most bytes of spilled registers among kernels loaded since the last call.
  int64_t TakeSpilledBytes() { return std::exchange(spilled_bytes_, 0); }
  // The bytes of a zone: as many as the allocation's, within limits.
  static int64_t ZoneBytes(int64_t bytes);

  std::string name() const override { return device_.name(); }
  std::string description() const override { return device_.description(); }
  std::string target() const override { return device_.target(); }
  DeviceDescription Describe() const override { return device_.Describe(); }
  bool IsHost() const override { return false; }

  Result<void*> Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  Status CopyIn(void* to, const void* from, int64_t bytes) override { return device_.CopyIn(to, from, bytes); }
  Status CopyOut(void* to, const void* from, int64_t bytes) override { return device_.CopyOut(to, from, bytes); }
  Status Copy(void* to, const void* from, int64_t bytes) override { return device_.Copy(to, from, bytes); }
  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    return device_.Fill(to, pattern, width, count);
  }
  Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                 std::span<const double> shares,
                                                                 kernel::CodeCache* kept) override {
    return device_.Compile(kernels, shares, kept);
  }
  Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) override;
  Status Launch(const LoadedKernel& kernel, std::span<void* const> arguments) override {
    return device_.Launch(kernel, arguments);
  }
  Status Synchronize() override { return device_.Synchronize(); }
  Status StartClock() override { return device_.StartClock(); }
  Result<std::optional<double>> StopClock() override { return device_.StopClock(); }
  void* stream() const override { return device_.stream(); }
  Status MakeCurrent() override { return device_.MakeCurrent(); }

 private:
  struct Allocation {
    void* all;
    int64_t bytes, zone;
  };

  Result<int64_t> Written(const void* zone, int64_t bytes);

  Device& device_;
  const bool zones_;
  std::map<void*, Allocation> allocations_;  // Keyed by the returned pointer.
  void* other_memory_ = nullptr;
  int64_t spilled_bytes_ = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_GUARDED_DEVICE_H_
