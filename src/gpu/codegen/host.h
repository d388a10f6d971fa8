// Compiles kernels to this machine's code and runs them.
#ifndef HLO_GPU_CODEGEN_HOST_H_
#define HLO_GPU_CODEGEN_HOST_H_

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

  // Runs blocks [first_block, last_block), which must be whole clusters, on this thread. Pointers are as in
  // Kernel::Arguments and aligned to their elements. Outputs of at least kLeastStreamedBytes (streaming.h) must be
  // aligned to 64 bytes.
  void Run(std::span<void* const> arguments, int64_t first_block, int64_t last_block) const;

  void Launch(std::span<void* const> arguments) const;

  int64_t blocks() const { return blocks_; }
  double compile_seconds() const { return compile_seconds_; }  // 0 if cached.
  bool was_kept() const { return was_kept_; }                  // Whether the code is from the CodeCache.
  explicit operator bool() const { return function_ != nullptr; }

 private:
  friend Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels,
                                                     std::span<const double> shares, CodeCache* kept);

  void* function_ = nullptr;
  bool direct_ = true;  // Whether arguments are passed separately (kMostDirectArguments).
  int64_t blocks_ = 0;
  int64_t cluster_ = 1;
  double compile_seconds_ = 0;
  bool was_kept_ = false;
  int64_t elements_per_block_ = 1;  // Approximate work, so that small launches use one thread.
  std::shared_ptr<const LoadedObject> object_;
};

// Compiles equal kernels once in a process. Thread-safe.
Result<HostKernel> CompileHost(const Kernel& kernel);

// Uses all threads, and compiles equal kernels once. `shares` has each kernel's share in the run time (0 to 1). Kernels
// whose shares add up to little are compiled with low effort, to slower code with the same results. Without `shares`,
// the effort is full. `kept` is a cache shared with other processes, or null.
Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels, std::span<const double> shares = {},
                                            CodeCache* kept = nullptr);

enum class HostStage : uint8_t { kLowered, kOptimized, kAssembly };
// Compiles with full effort.
Result<std::string> EmitHost(const Kernel& kernel, HostStage stage);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_H_
