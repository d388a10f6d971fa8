// Groups the dimensions of a dot's operands into matrices.
#ifndef HLO_PASSES_LIBRARIES_DOT_DIMENSIONS_H_
#define HLO_PASSES_LIBRARIES_DOT_DIMENSIONS_H_

#include <cstdint>
#include <vector>

#include "ir/dimensions.h"
#include "ir/instruction.h"

namespace hlo {

// Whether libraries accept a row-major operand as a batch of matrices. Each group of dimensions must be contiguous in
// memory, in the listed order. A batch dimension may be the most minor one only if each matrix is one element.
// Dimensions of size 1 do not count.
bool IsBatchOfMatrices(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& contracting);

// Whether cuBLAS accepts the dot as a batch of matrix products: nonempty operands with one contracting and one free
// dimension, of floats, complex numbers, or s8 with an s32 result.
bool IsMatrixProduct(const Instruction& dot);

// Whether both operands start with the batch dimensions, in order.
bool HasLeadingBatch(const Instruction& dot);

}  // namespace hlo

#endif  // HLO_PASSES_LIBRARIES_DOT_DIMENSIONS_H_
