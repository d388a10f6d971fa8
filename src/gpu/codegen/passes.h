// LLVM pass pipelines. Only passes.cpp uses PassBuilder, whose header takes seconds to compile.
#ifndef HLO_GPU_CODEGEN_PASSES_H_
#define HLO_GPU_CODEGEN_PASSES_H_

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/result.h"

namespace hlo::kernel {

enum class Pipeline : uint8_t {
  kNvptx,
  kHost,
  // Lacks InstCombine, which takes longest, and most later passes.
  kHostQuick,
  kEmulator,
};

Status RunPasses(llvm::Module& module, llvm::TargetMachine& target, Pipeline pipeline);

// Checks the module with LLVM's verifier.
Status Verify(llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_PASSES_H_
