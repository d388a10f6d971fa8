// Transposes n x n elements, held in n vectors.
#ifndef HLO_GPU_CODEGEN_IN_REGISTER_TRANSPOSE_H_
#define HLO_GPU_CODEGEN_IN_REGISTER_TRANSPOSE_H_

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

namespace hlo::kernel {

// The largest n: AVX-512 has 32 vector registers. Squares of 32 are faster than of 16, although a few vectors are
// spilled (bench/results/transposes.md#squares).
constexpr int64_t kMostTransposed = 32;

// `lines` are n integer vectors of n elements and at least 16 bytes, n a power of two. Element j of line i becomes
// element i of line j.
void TransposeInRegisters(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<llvm::Value*>& lines);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_IN_REGISTER_TRANSPOSE_H_
