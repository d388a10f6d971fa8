// A fusion that our kernels compute before or after a library call, planned and emitted like others.
#ifndef HLO_GPU_LIBRARIES_OWN_PART_H_
#define HLO_GPU_LIBRARIES_OWN_PART_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/emitters/emitter.h"
#include "ir/module.h"

namespace hlo::gpu {

class OwnPart {
 public:
  using Loaded = std::vector<std::shared_ptr<const LoadedKernel>>;

  // The root of `module` is a fusion or another instruction that computes, with parameters as operands. Error
  // (kUnsupported): its kernels need more than operands, results and scratch memory.
  static Result<OwnPart> Make(std::unique_ptr<Module> module, Device& device);

  Result<Loaded> Load(Device& device) const { return device.Load(code_); }
  int64_t ScratchBytes() const { return scratch_bytes_; }
  // `operands` has an entry for each parameter. `scratch` is aligned to kBufferAlignment.
  Status Launch(Device& device, const Loaded& loaded, std::span<void* const> operands, std::span<void* const> results,
                void* scratch) const;

 private:
  struct Scratch {
    int64_t offset = 0, bytes = 0;
    bool zeroed = false;  // Counters must start at zero.
  };
  void* PointerOf(const KernelBuffer& buffer, std::span<void* const> operands, std::span<void* const> results,
                  void* scratch) const;

  std::unique_ptr<Module> module_;  // Kernels point into it.
  std::vector<EmittedKernel> kernels_;
  std::vector<std::shared_ptr<const KernelCode>> code_;
  std::map<int, Scratch> scratch_;  // Keyed by KernelBuffer::scratch.
  int64_t scratch_bytes_ = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_OWN_PART_H_
