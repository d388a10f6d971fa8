// Lowers kernels to LLVM IR for x86: vectorisable loops over blocks, warps and lanes. Measurements:
// docs/architecture.md#host-lowering.
#ifndef HLO_GPU_CODEGEN_HOST_LOWERING_H_
#define HLO_GPU_CODEGEN_HOST_LOWERING_H_

#include <string>

#include <llvm/IR/Module.h>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Up to this many arguments are passed separately: `void name(int64 first_block, int64 last_block, void* ...)`. With
// more, or with groups of arrays, the last parameter is `void* const* arguments`.
constexpr int kMostDirectArguments = 12;
bool TakesArgumentsOneByOne(const Kernel& kernel);

// With `masked_tails`, a masked vector computes a loop's remaining elements. This halves the code on CPUs with masks
// (AVX-512).
void LowerToHost(const Kernel& kernel, const std::string& name, bool masked_tails, llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_LOWERING_H_
