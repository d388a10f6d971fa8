// Kernel -> LLVM IR for x86: loops over blocks, warps and lanes that the vectoriser takes. What was measured for
// each rule: docs/architecture.md#host-lowering.
#ifndef HLO_GPU_KERNEL_HOST_LOWERING_H_
#define HLO_GPU_KERNEL_HOST_LOWERING_H_

#include <string>

#include <llvm/IR/Module.h>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Up to so many parameters are passed one by one: `void name(int64 first_block, int64 last_block, void* ...)`. More
// come in an array: `void name(int64 first_block, int64 last_block, void* const* arguments)`, a second function, which
// costs as much time in the code generator as half a small kernel.
constexpr int kMostDirectArguments = 12;
bool TakesArgumentsOneByOne(const Kernel& kernel);  // Not with groups of arrays either, whose pointers lie in a row.

// Adds the kernel's function to the module. `masked_tails`: the end of a loop over elements is a masked vector, not a
// scalar loop; for CPUs with masks (AVX-512): half the code.
void LowerToHost(const Kernel& kernel, const std::string& name, bool masked_tails, llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_LOWERING_H_
