// JAX's custom calls of LAPACK that factor a matrix or solve with a triangular one.
#ifndef HLO_IR_ANALYSIS_MATRIX_CALLS_H_
#define HLO_IR_ANALYSIS_MATRIX_CALLS_H_

#include <optional>

#include "ir/instruction.h"

namespace hlo {

// In `info`, 0 means success.
enum class MatrixRoutine : uint8_t {
  kPotrf,  // (a) -> (a with its Cholesky factor in one triangle; info: first minor that is not positive)
  kGetrf,  // (a) -> (l below u; the row exchanged with each row, from 1; info: first zero pivot)
  kTrsm,   // (a, b) -> x
};

struct MatrixCall {
  MatrixRoutine routine;
  TriangularSolveAttrs solve;  // kPotrf uses only `lower`.
};

std::optional<MatrixCall> MatrixCallOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_MATRIX_CALLS_H_
