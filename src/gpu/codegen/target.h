// LLVM's code generators: a TargetMachine for each thread and target. Callers own the contexts.
#ifndef HLO_GPU_CODEGEN_TARGET_H_
#define HLO_GPU_CODEGEN_TARGET_H_

#include <string>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/result.h"

namespace hlo::kernel {

enum class Effort : uint8_t {
  kLittle,  // Selects instructions one by one and allocates registers by block.
  kFull,
};

// This machine, limited to the selected instruction set (base/host_isa.h).
Result<llvm::TargetMachine*> HostTarget(Effort effort = Effort::kFull);
// LLVM's name: "znver4", for example, or "x86-64-v3" for a selected instruction set.
std::string HostProcessor();
// All inputs of code generation except the module, for cache keys.
std::string HostTargetText(Effort effort);
Result<llvm::TargetMachine*> NvptxTarget(const std::string& arch, int ptx_version);

// Sets the module's target and features.
void Prepare(llvm::Module& module, llvm::TargetMachine& target);

Status Generate(llvm::Module& module, llvm::TargetMachine& target, bool object, llvm::SmallVectorImpl<char>& out);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_TARGET_H_
