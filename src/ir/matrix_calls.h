// The custom calls of LAPACK that factor a matrix, or solve with a triangular one, as JAX writes them.
#ifndef HLO_IR_MATRIX_CALLS_H_
#define HLO_IR_MATRIX_CALLS_H_

#include <optional>

#include "ir/instruction.h"

namespace hlo {

enum class MatrixRoutine : uint8_t {
  kPotrf,  // (a) -> (a with a Cholesky factor in the triangle that is read, the first minor that is not positive or 0)
  kGetrf,  // (a) -> (l below u, with which row each was exchanged, from 1, the first pivot of 0 or 0)
  kTrsm,   // (a, b) -> x
};

struct MatrixCall {
  MatrixRoutine routine;
  TriangularSolveAttrs solve;  // kPotrf: `lower` alone.
};

// Nothing for other calls, or ones whose operands and results are written otherwise.
std::optional<MatrixCall> MatrixCallOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_MATRIX_CALLS_H_
