// What a library's call needs that the library does not do: a fusion of ours in front of or behind it, which puts an
// operand into another order or goes on with what the library gave. Planned and emitted as any other fusion.
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
  // Its kernels on one device.
  using Loaded = std::vector<std::shared_ptr<const LoadedKernel>>;

  // The root of `module`: a fusion, or an instruction that computes by itself, of parameters. Error (kUnsupported): no
  // kernels for it, or such as need more than operands, results and scratch memory.
  static Result<OwnPart> Make(std::unique_ptr<Module> module, Device& device);

  Result<Loaded> Load(Device& device) const { return device.Load(code_); }
  int64_t ScratchBytes() const { return scratch_bytes_; }
  // Queued. An operand for each parameter of the module, and each of the root's results. `scratch` is aligned to
  // kBufferAlignment.
  Status Launch(Device& device, const Loaded& loaded, std::span<void* const> operands, std::span<void* const> results,
                void* scratch) const;

 private:
  struct Scratch {
    int64_t offset = 0, bytes = 0;
    bool zeroed = false;  // It holds counters, which begin at zero.
  };
  void* PointerOf(const KernelBuffer& buffer, std::span<void* const> operands, std::span<void* const> results,
                  void* scratch) const;

  std::unique_ptr<Module> module_;  // Kernels point into it.
  std::vector<EmittedKernel> kernels_;
  std::vector<std::shared_ptr<const KernelCode>> code_;
  std::map<int, Scratch> scratch_;  // By KernelBuffer::scratch.
  int64_t scratch_bytes_ = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_OWN_PART_H_
