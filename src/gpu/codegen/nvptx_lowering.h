// Lowers kernels to LLVM IR for NVPTX. Slots become registers. A tile becomes V copies of its body, with vector
// accesses where the index allows them.
#ifndef HLO_GPU_CODEGEN_NVPTX_LOWERING_H_
#define HLO_GPU_CODEGEN_NVPTX_LOWERING_H_

#include <memory>
#include <string>
#include <string_view>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "gpu/codegen/nvptx.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

std::unique_ptr<llvm::Module> LowerToNvptx(const Kernel& kernel, const NvptxOptions& options,
                                           llvm::LLVMContext& context);

// 90 for "sm_90" and "sm_90a".
int64_t ComputeOf(const NvptxOptions& options);

// Kernels for sm_90 and later first wait for the work before them, and then allow dependent launches, so they can be
// launched early if the graph's edges allow it.
constexpr const char* kWaitCode = "griddepcontrol.wait;";
constexpr const char* kLetGoCode = "griddepcontrol.launch_dependents;";
bool WaitsInCode(const NvptxOptions& options);

// The Forget function (distinct.h) of this lowering.
void ForgetForNvptx(Kernel& kernel);

// void (unsigned long long handle, unsigned value). See Op::kSetCondition.
constexpr const char* kSetConditionSymbol = "cudaGraphSetConditional";

// The name in PTX: '_' replaces all but letters and digits, and "k_" precedes a digit or an empty name.
std::string EntryName(const Kernel& kernel);

std::string Replaced(std::string_view text, std::string_view what, std::string_view by);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_NVPTX_LOWERING_H_
