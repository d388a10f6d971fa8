// Kernels as native code of this machine.
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

// Compiled and ready; cheap to copy. The code lives as long as a copy does.
class HostKernel {
 public:
  HostKernel() = default;

  // Runs blocks [first_block, last_block), of whole clusters, on this thread. Pointers as Kernel::Arguments, aligned to
  // their elements;
  // those of outputs of kLeastStreamedBytes (streaming.h) to 64 bytes.
  void Run(std::span<void* const> arguments, int64_t first_block, int64_t last_block) const;

  // All blocks, on all threads.
  void Launch(std::span<void* const> arguments) const;

  int64_t blocks() const { return blocks_; }
  double compile_seconds() const { return compile_seconds_; }  // 0: it was in a cache.
  bool was_kept() const { return was_kept_; }                  // In the CodeCache.
  explicit operator bool() const { return function_ != nullptr; }

 private:
  friend Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels,
                                                     std::span<const double> shares, CodeCache* kept);

  void* function_ = nullptr;
  bool direct_ = true;  // host_lowering.h: kMostDirectArguments.
  int64_t blocks_ = 0;
  int64_t cluster_ = 1;
  double compile_seconds_ = 0;
  bool was_kept_ = false;
  int64_t elements_per_block_ = 1;  // Work, roughly; so that small launches stay on one thread.
  std::shared_ptr<const LoadedObject> object_;
};

// Compiles, or takes from the cache of the process what has the same hash. May be called from several threads at once.
Result<HostKernel> CompileHost(const Kernel& kernel);

// Several kernels, on all threads; faster than one by one. Equal kernels are compiled once. `shares`: which part of a
// run each of them takes; those that together take next to nothing become slower code, with the same results, in a
// third of the time. Empty: all become the best code. `kept`: where code of other processes is, and theirs is kept.
Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels, std::span<const double> shares = {},
                                            CodeCache* kept = nullptr);

// The LLVM IR before or after the passes, and the assembly; for reading. As it is where the kernel counts.
enum class HostStage : uint8_t { kLowered, kOptimized, kAssembly };
Result<std::string> EmitHost(const Kernel& kernel, HostStage stage);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_H_
