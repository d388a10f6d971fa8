// The space of a matrix kernel: cholesky, triangular-solve, and LAPACK's potrf, trsm and pivoted getrf. A block holds a
// matrix and its right-hand sides in shared memory. Larger matrices have no kernel.
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
  bool is_call = false;  // LAPACK: potrf keeps the other triangle, and factorisations return where they failed.
  bool lower = true;
  // kSolve: op(a) x = b, or x op(a) = b.
  bool left = true, transposed = false, conjugated = false, unit_diagonal = false;
  int64_t batch = 1, rows = 1, columns = 1;  // Sizes of the factored or triangular operand.
  int64_t others = 0;                        // kSolve: right-hand sides for each matrix.
  PrimitiveType type = PrimitiveType::kF32;
  // Operand elements at the variables (matrix, row, column).
  std::vector<NodeId> elements;
  // A result's strides from matrix to matrix, row to row and column to column. A vector uses only `matrix` and
  // `column`.
  struct Strides {
    int64_t matrix = 0, row = 0, column = 0;
  };
  std::vector<Strides> results;

  std::vector<NodeId> Needed() const { return elements; }
};

// Returns null if the root is none of these ops. Errors: kUnsupported.
Result<std::unique_ptr<MatrixSpace>> MatrixSpaceOf(const FusionBody& body);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_MATRIX_SPACE_H_
