// LLVM's code generators. One TargetMachine per thread and target; contexts belong to the callers.
#ifndef HLO_GPU_KERNEL_TARGET_H_
#define HLO_GPU_KERNEL_TARGET_H_

#include <string>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/result.h"

namespace hlo::kernel {

// How long a kernel may take to compile for how fast it is.
enum class Effort : uint8_t {
  kLittle,  // Instructions one by one, registers block by block.
  kFull,
};

// This machine, up to the level that was chosen (base/host_isa.h).
Result<llvm::TargetMachine*> HostTarget(Effort effort = Effort::kFull);
// Its processor as LLVM names it, "znver4", or the level that was chosen, "x86-64-v3".
std::string HostProcessor();
// What decides its code besides the module: versions, processor, features, effort.
std::string HostTargetText(Effort effort);
Result<llvm::TargetMachine*> NvptxTarget(const std::string& arch, int ptx_version);

// Triple and data layout of the target, and what its code needs of function attributes.
void Prepare(llvm::Module& module, llvm::TargetMachine& target);

Status Generate(llvm::Module& module, llvm::TargetMachine& target, bool object, llvm::SmallVectorImpl<char>& out);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_TARGET_H_
