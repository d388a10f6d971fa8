// Generates PTX for kernels and assembles it with ptxas.
#ifndef HLO_GPU_CODEGEN_NVPTX_H_
#define HLO_GPU_CODEGEN_NVPTX_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Faults for tests of the sanitizer.
enum class KernelFault : uint8_t {
  kNone,
  kMissingBarrier,
  kSharedRace,   // The first store to shared memory also writes element 0, in all threads.
  kOutOfBounds,  // The first global store writes after the end of the array.
  kMisalignedVector,
  kUninitialisedShared,  // Omits the first store to shared memory.
  kDivergentBarrier,     // Only half a warp reaches the first barrier.
  kCrossBlockRace,       // Odd blocks store to the start of arrays.
  kMissingClusterBarrier,
  kEarlyExit,          // Omits the last barrier of the cluster.
  kWrongFragmentLane,  // In the first matrix load, lanes use the position of their neighbours.
};

struct NvptxOptions {
  std::string arch = "sm_90";
  int ptx_version = 83;
  KernelFault fault = KernelFault::kNone;
};

struct Ptx {
  std::string text;
  std::string entry;
  int64_t dynamic_shared_bytes = 0;  // Passed at launch. Above 48 KiB, the function needs an attribute.
  // The code waits for preceding work, so early launches are allowed.
  bool waits = false;
};

Result<Ptx> EmitPtx(const Kernel& kernel, const NvptxOptions& options = {});

// Uses all threads. Kernels with equal code are compiled once.
Result<std::vector<Ptx>> EmitPtx(std::span<const Kernel* const> kernels, const NvptxOptions& options = {});

// Joins PTX texts for one run of ptxas, which spends most of its time on starting up. Entries must have different
// names.
std::string JoinPtx(std::span<const Ptx> parts);

Result<std::string> EmitNvptxIr(const Kernel& kernel, bool optimized, const NvptxOptions& options = {});

struct PtxasKernel {
  std::string entry;
  int64_t registers = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t shared_bytes = 0;
};

struct PtxasReport {
  std::vector<PtxasKernel> kernels;  // At least one.
  std::string cubin;
};

// The first ptxas on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin, or empty.
std::string FindPtxas();
// The last line of `ptxas --version`.
Result<std::string> PtxasVersion();

// Errors: ptxas is missing, is too slow, or rejects the text.
Result<PtxasReport> Ptxas(const std::string& ptx, const std::string& arch = "sm_90", double timeout_seconds = 60);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_NVPTX_H_
