// Compiles kernels to native code of this machine and runs them.
#ifndef HLO_GPU_KERNEL_HOST_H_
#define HLO_GPU_KERNEL_HOST_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

class CodeCache;
class LoadedObject;

// A compiled kernel, cheap to copy. The code lives as long as any copy.
class HostKernel {
 public:
  HostKernel() = default;

  // Runs blocks [first_block, last_block), which must be whole clusters, on this thread. Pointers as in
  // Kernel::Arguments, aligned to their elements. Outputs of at least kLeastStreamedBytes (streaming.h) must be aligned
  // to 64 bytes.
  void Run(std::span<void* const> arguments, int64_t first_block, int64_t last_block) const;

  // Runs all blocks on all threads.
  void Launch(std::span<void* const> arguments) const;

  int64_t blocks() const { return blocks_; }
  double compile_seconds() const { return compile_seconds_; }  // 0 if it came from a cache.
  bool was_kept() const { return was_kept_; }                  // It came from the CodeCache.
  explicit operator bool() const { return function_ != nullptr; }

 private:
  friend Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels,
                                                     std::span<const double> shares, CodeCache* kept);

  void* function_ = nullptr;
  bool direct_ = true;  // See host_lowering.h: kMostDirectArguments.
  int64_t blocks_ = 0;
  int64_t cluster_ = 1;
  double compile_seconds_ = 0;
  bool was_kept_ = false;
  int64_t elements_per_block_ = 1;  // Approximate work, so that small launches use one thread.
  std::shared_ptr<const LoadedObject> object_;
};

// Compiles the kernel or takes it from the cache of the process. Thread-safe.
Result<HostKernel> CompileHost(const Kernel& kernel);

// Compiles several kernels on all threads. Equal kernels are compiled once. `shares` are the parts of the run time of
// the kernels. Kernels with a negligible total share are compiled with low effort, to slower code with the same
// results. Empty compiles all with full effort. `kept` is a cache shared with other processes, or null.
Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels, std::span<const double> shares = {},
                                            CodeCache* kept = nullptr);

// Returns the LLVM IR before or after the passes, or the assembly, with full effort.
enum class HostStage : uint8_t { kLowered, kOptimized, kAssembly };
Result<std::string> EmitHost(const Kernel& kernel, HostStage stage);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_H_
