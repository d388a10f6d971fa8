// What a kernel of matrices works on: cholesky, triangular-solve, and the custom calls of LAPACK that are the same
// (potrf, trsm) or that factor by rows that are exchanged (getrf). A block has a matrix, with what is solved for, in
// shared memory: larger ones have no kernel.
#ifndef HLO_GPU_PLAN_MATRIX_SPACE_H_
#define HLO_GPU_PLAN_MATRIX_SPACE_H_

#include <memory>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

enum class MatrixWork : uint8_t { kCholesky, kSolve, kPivoted };

struct MatrixSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Instruction* inst = nullptr;
  MatrixWork work = MatrixWork::kCholesky;
  bool is_call = false;  // Of LAPACK, whose factor leaves the other triangle as it was and which says where it failed.
  bool lower = true;
  // kSolve: op(a) x = b, or x op(a) = b.
  bool left = true, transposed = false, conjugated = false, unit_diagonal = false;
  int64_t batch = 1, rows = 1, columns = 1;  // Of the operand that is factored, or solved with.
  int64_t others = 0;                        // kSolve: systems of one matrix.
  PrimitiveType type = PrimitiveType::kF32;
  // Of each operand at (matrix, row, column), the variables.
  std::vector<NodeId> elements;
  // Of each result: of a matrix, and from element to element of a row and of a column (of a vector: the latter).
  struct Strides {
    int64_t matrix = 0, row = 0, column = 0;
  };
  std::vector<Strides> results;

  std::vector<NodeId> Needed() const { return elements; }
};

// Null where there is none of these at the root. Errors (kUnsupported): no kernel for it.
Result<std::unique_ptr<MatrixSpace>> MatrixSpaceOf(const FusionBody& body);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_MATRIX_SPACE_H_
