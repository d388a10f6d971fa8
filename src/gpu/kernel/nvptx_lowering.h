// Kernel -> LLVM IR for NVPTX. Phases stand inline, slots are registers, tiles are V copies of their body with vector
// loads and stores where the index allows.
#ifndef HLO_GPU_KERNEL_NVPTX_LOWERING_H_
#define HLO_GPU_KERNEL_NVPTX_LOWERING_H_

#include <memory>
#include <string>
#include <string_view>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "gpu/kernel/kernel.h"
#include "gpu/kernel/nvptx.h"

namespace hlo::kernel {

std::unique_ptr<llvm::Module> LowerToNvptx(const Kernel& kernel, const NvptxOptions& options,
                                           llvm::LLVMContext& context);

// 90, of "sm_90" and "sm_90a".
int64_t ComputeOf(const NvptxOptions& options);

// Kernels for newer devices begin by waiting for what the launch depends on, and then let go what depends on them: so
// they may be launched early, in a graph whose edges say so. Where none do, they wait for nothing.
constexpr const char* kWaitCode = "griddepcontrol.wait;";
constexpr const char* kLetGoCode = "griddepcontrol.launch_dependents;";
bool WaitsInCode(const NvptxOptions& options);

// What of the launch does not show in the code.
void ForgetForNvptx(Kernel& kernel);

// void (unsigned long long handle, unsigned value): see Op::kSetCondition.
constexpr const char* kSetConditionSymbol = "cudaGraphSetConditional";

// The entry's name in PTX: the kernel's with everything but letters, digits and '_' replaced.
std::string EntryName(const Kernel& kernel);

// Of a module's text.
std::string Replaced(std::string_view text, std::string_view what, std::string_view by);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_NVPTX_LOWERING_H_
