// Squares of n x n elements, n in each of n vectors, transposed by exchanges between the vectors.
#ifndef HLO_GPU_KERNEL_IN_REGISTER_TRANSPOSE_H_
#define HLO_GPU_KERNEL_IN_REGISTER_TRANSPOSE_H_

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

namespace hlo::kernel {

// As many vectors as AVX-512 has registers: with 32 of 16 bits each, a thread of a Zen 4 turns bf16[64,64,3136] in 0.85
// of the time of squares of 16, although a few are then spilled.
constexpr int64_t kMostTurned = 32;

// `lines` are as many integer vectors as each has elements, a power of two, of 16 bytes and more. Element j of line i
// becomes element i of line j.
void TransposeInRegisters(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<llvm::Value*>& lines);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_IN_REGISTER_TRANSPOSE_H_
