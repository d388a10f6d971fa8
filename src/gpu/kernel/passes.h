// The LLVM pass pipelines. Only this file uses PassBuilder, whose header takes seconds to compile.
#ifndef HLO_GPU_KERNEL_PASSES_H_
#define HLO_GPU_KERNEL_PASSES_H_

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/result.h"

namespace hlo::kernel {

enum class Pipeline : uint8_t {
  kNvptx,      // Promotes slots to registers, folds, unrolls.
  kHost,       // The same with the loop vectoriser.
  kHostQuick,  // Without folding, which takes longest.
  kEmulator,   // Splits coroutines, then folds.
};

Status RunPasses(llvm::Module& module, llvm::TargetMachine& target, Pipeline pipeline);

// Returns an error that names the module's kernel if the IR is invalid. For tests and the emulator.
Status Verify(llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_PASSES_H_
