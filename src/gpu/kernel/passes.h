// The LLVM pass pipelines. The one place that knows PassBuilder (its header costs seconds).
#ifndef HLO_GPU_KERNEL_PASSES_H_
#define HLO_GPU_KERNEL_PASSES_H_

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/result.h"

namespace hlo::kernel {

enum class Pipeline : uint8_t {
  kNvptx,      // Registers for slots, folding, unrolling.
  kHost,       // The same and the loop vectoriser.
  kHostQuick,  // Without what takes longest, which is folding.
  kEmulator,   // Coroutines split, then folding.
};

Status RunPasses(llvm::Module& module, llvm::TargetMachine& target, Pipeline pipeline);

// An error that names the module's kernel when the IR is broken; for tests and the emulator.
Status Verify(llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_PASSES_H_
