// Stores that go around the caches. A line that is stored in pieces is first read, so writing a result costs its size
// twice; one that is stored at once, past the caches, costs it once. Worth it where the result does not fit the caches.
#ifndef HLO_GPU_KERNEL_STREAMING_H_
#define HLO_GPU_KERNEL_STREAMING_H_

#include <llvm/IR/Function.h>

namespace hlo::kernel {

// More than the last cache of most machines gives to one process.
constexpr int64_t kLeastStreamedBytes = 32 << 20;

// Says of a pointer parameter that what lies behind it is written only, in large pieces.
void MarkStreamed(llvm::Function& function, unsigned parameter);

// After vectorisation: stores of whole, aligned vectors to marked parameters become streaming stores, with a fence
// before the function returns.
void StreamStores(llvm::Module& module);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_STREAMING_H_
