// Squares of n x n elements, n in each of n vectors, transposed by exchanges between the vectors.
#ifndef HLO_GPU_KERNEL_IN_REGISTER_TRANSPOSE_H_
#define HLO_GPU_KERNEL_IN_REGISTER_TRANSPOSE_H_

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

namespace hlo::kernel {

// Sixteen vectors and what the exchanges need beside them fit the registers of AVX-512.
constexpr int64_t kMostTurned = 16;

// `lines` are as many integer vectors as each has elements, a power of two, of 16 bytes and more. Element j of line i
// becomes element i of line j.
void TransposeInRegisters(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<llvm::Value*>& lines);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_IN_REGISTER_TRANSPOSE_H_
