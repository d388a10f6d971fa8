// Compiles kernels to machine code without a GPU: LLVM makes PTX, which ptxas or else nvJitLink assembles.
#ifndef HLO_GPU_DEVICE_SASS_H_
#define HLO_GPU_DEVICE_SASS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/codegen/code_cache.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/kernel/kernel.h"

namespace hlo::gpu {

struct Assembler {
  enum class Kind : uint8_t { kPtxas, kNvJitLink };
  Kind kind;
  std::string text;  // "nvJitLink 13.0", or the version text of ptxas.
  std::vector<std::string> search;
};

// If nvJitLink is missing too, fails with the error of PtxasVersion.
Result<Assembler> FindAssembler(const std::vector<std::string>& search);

struct Sass {
  std::shared_ptr<const std::string> cubin;  // Shared by kernels assembled together.
  kernel::PtxasKernel report;                // Its `entry` is the name in the cubin.
  int64_t dynamic_shared_bytes = 0;
  bool was_kept = false;  // Whether the code is from the CodeCache.
};

// Uses all threads. Equal kernels are compiled once. `kept` may be null.
Result<std::vector<Sass>> MakeSass(std::span<const kernel::Kernel* const> kernels, const kernel::NvptxOptions& options,
                                   const Assembler& assembler, kernel::CodeCache* kept);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_SASS_H_
