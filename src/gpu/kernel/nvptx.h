// PTX for a kernel, and what ptxas says about it.
#ifndef HLO_GPU_KERNEL_NVPTX_H_
#define HLO_GPU_KERNEL_NVPTX_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Bugs planted in the generated GPU IR, to prove that the sanitizer finds them. Tests only.
enum class KernelFault : uint8_t {
  kNone,
  kMissingBarrier,         // The first barrier is left out.
  kSharedRace,             // The first store to shared memory goes to the element of the neighbouring thread as well.
  kOutOfBounds,            // The first global store goes behind the array.
  kMisalignedVector,       // The first vector load is one element off.
  kUninitialisedShared,    // The first store to shared memory is left out.
  kDivergentBarrier,       // The first barrier is reached by half a warp only.
  kCrossBlockRace,         // Odd blocks store to the begin of the arrays.
  kMissingClusterBarrier,  // The first barrier of the cluster is left out.
  kEarlyExit,              // The last one is.
  kWrongFragmentLane,      // In the first load of a matrix, lanes take the place of their neighbours.
};

struct NvptxOptions {
  std::string arch = "sm_90";
  int ptx_version = 83;
  KernelFault fault = KernelFault::kNone;
};

struct Ptx {
  std::string text;
  std::string entry;                 // The name of the kernel in it.
  int64_t dynamic_shared_bytes = 0;  // To be given at launch; above 48 KiB needs the attribute of the function set.
  bool waits = false;  // It waits for what is before it, before it touches memory: it may be launched early.
};

Result<Ptx> EmitPtx(const Kernel& kernel, const NvptxOptions& options = {});

// Several kernels, on all threads, the largest first. Those that differ in names only are compiled once.
Result<std::vector<Ptx>> EmitPtx(std::span<const Kernel* const> kernels, const NvptxOptions& options = {});

// One text with the kernels of all; entries must have different names. Starting ptxas is most of its time.
std::string JoinPtx(std::span<const Ptx> parts);

// The LLVM IR before (`optimized` false) or after the GPU passes, as text.
Result<std::string> EmitNvptxIr(const Kernel& kernel, bool optimized, const NvptxOptions& options = {});

// What ptxas made of one kernel.
struct PtxasKernel {
  std::string entry;
  int64_t registers = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t shared_bytes = 0;
};

struct PtxasReport {
  std::vector<PtxasKernel> kernels;  // At least one; in no order that can be relied upon.
  std::string cubin;
};

// Where ptxas is: on PATH, in $CUDA_HOME/bin, in /usr/local/cuda/bin; empty when nowhere.
std::string FindPtxas();
// The last line of `ptxas --version`: "Build cuda_13.0.r13.0/compiler.36424714_0".
Result<std::string> PtxasVersion();

// Assembles PTX by running `ptxas -v`. Errors: not found, timed out, rejected (with its words).
Result<PtxasReport> Ptxas(const std::string& ptx, const std::string& arch = "sm_90", double timeout_seconds = 60);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_NVPTX_H_
