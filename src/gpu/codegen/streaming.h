// Stores that bypass the caches, for results that exceed them. Through the caches, writing a result moves twice its
// size, because a cache line that is stored in pieces is read first.
#ifndef HLO_GPU_CODEGEN_STREAMING_H_
#define HLO_GPU_CODEGEN_STREAMING_H_

#include <llvm/IR/Function.h>

namespace hlo::kernel {

// More than one process's share of the last-level cache on most machines.
constexpr int64_t kLeastStreamedBytes = 32 << 20;

// Marks a pointer parameter, aligned to 64 bytes, whose memory is only written, in large pieces.
void MarkStreamed(llvm::Function& function, unsigned parameter);

// Runs after vectorisation. Stores of whole aligned vectors to marked parameters become streaming stores, with a fence
// before the function returns.
void StreamStores(llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_STREAMING_H_
