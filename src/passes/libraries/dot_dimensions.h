// How the dimensions of a dot's operands group into matrices.
#ifndef HLO_PASSES_LIBRARIES_DOT_DIMENSIONS_H_
#define HLO_PASSES_LIBRARIES_DOT_DIMENSIONS_H_

#include <cstdint>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// The dimensions of an operand that are neither batch nor contracting, ascending: in this order they stand in the
// result.
std::vector<int64_t> FreeDimensions(int64_t rank, const std::vector<int64_t>& batch,
                                    const std::vector<int64_t>& contracting);

// A row-major operand is a batch of matrices that libraries take: each group of dimensions is one run in memory, in the
// order listed, and the most minor dimension is a batch dimension only where all are, so that each matrix is one
// element. Dimensions of size 1 lie anywhere.
bool IsBatchOfMatrices(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& contracting);

// A batch of products of two matrices that cuBLAS takes, whatever its dimensions are called: one contracting and one
// free dimension of each operand, floats, complex numbers, or s8 into s32, and no operand empty.
bool IsMatrixProduct(const Instruction& dot);

// The batch dimensions of both operands are the first ones, in order.
bool HasLeadingBatch(const Instruction& dot);

}  // namespace hlo

#endif  // HLO_PASSES_LIBRARIES_DOT_DIMENSIONS_H_
