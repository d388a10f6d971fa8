#include "gpu/plan/matrix_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/scalar.h"
#include "ir/analysis/matrix_calls.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

bool ReadWork(const Instruction& inst, MatrixSpace& space) {
  if (inst.Is(Opcode::kCholesky)) {
    space.lower = inst.attrs<CholeskyAttrs>().lower;
    return true;
  }
  std::optional<TriangularSolveAttrs> solve;
  if (inst.Is(Opcode::kTriangularSolve)) {
    solve = inst.attrs<TriangularSolveAttrs>();
  } else {
    const std::optional<MatrixCall> call = MatrixCallOf(inst);
    if (!call) return false;
    space.is_call = true;
    space.lower = call->solve.lower;
    if (call->routine == MatrixRoutine::kGetrf) space.work = MatrixWork::kPivoted;
    if (call->routine == MatrixRoutine::kTrsm) solve = call->solve;
  }
  if (!solve) return true;
  space.work = MatrixWork::kSolve;
  space.lower = solve->lower;
  space.left = solve->left_side;
  space.unit_diagonal = solve->unit_diagonal;
  space.conjugated = solve->transpose_a == TransposeKind::kAdjoint;
  space.transposed = space.conjugated || solve->transpose_a == TransposeKind::kTranspose;
  return true;
}

// nullopt if the batch is not contiguous and row-major.
std::optional<MatrixSpace::Strides> StridesOf(const Shape& shape, int64_t batch_rank) {
  const std::vector<int64_t> strides = LayoutStrides(shape);
  int64_t matrix = 1;
  for (int64_t d = batch_rank; d < shape.rank(); ++d) matrix *= shape.dim(d);
  int64_t expected = matrix;
  for (int64_t d = batch_rank; d-- > 0; expected *= shape.dim(d)) {
    if (shape.dim(d) > 1 && strides[d] != expected) return std::nullopt;
  }
  MatrixSpace::Strides result{.matrix = matrix};
  if (shape.rank() > batch_rank) result.column = strides.back();
  if (shape.rank() > batch_rank + 1) result.row = strides[batch_rank];
  return result;
}

int64_t SharedBytes(const MatrixSpace& space, kernel::Type type, int parts) {
  const int64_t elements = space.rows * space.columns + space.rows * space.others;
  return elements * parts * kernel::Bytes(type);
}

}  // namespace

Result<std::unique_ptr<MatrixSpace>> MatrixSpaceOf(const FusionBody& body) {
  if (body.roots().empty()) return nullptr;
  const Instruction& inst = *body.roots()[0].inst;
  auto space = std::make_unique<MatrixSpace>(body);
  if (body.LeafOf(inst) >= 0 || !ReadWork(inst, *space)) return nullptr;
  const auto unsupported = [&](std::string_view why) {
    return UnsupportedAt(inst, "U109", Str("no emitter for '", inst.opcode(), "' ", why));
  };
  space->inst = &inst;
  const Shape& a = inst.operand(0).shape();
  space->type = a.type();
  const int64_t batch_rank = a.rank() - 2;
  for (int64_t d = 0; d < batch_rank; ++d) space->batch *= a.dim(d);
  space->rows = a.dim(batch_rank);
  space->columns = a.dim(batch_rank + 1);
  if (space->work == MatrixWork::kSolve)
    space->others = inst.operand(1).shape().dim(batch_rank + (space->left ? 1 : 0));
  const kernel::Type type = TRY(KernelType(inst, a.type()));
  if (SharedBytes(*space, type, ComponentCount(a.type())) > kMostValueBytes)
    FAIL(unsupported("of matrices that are larger than the shared memory of a block"));
  for (const FusionBody::Root& root : body.roots()) {
    const auto strides = StridesOf(*root.shape, batch_rank);
    if (root.inst != &inst || !strides)
      FAIL(unsupported("in a fusion with other results, or with another memory order"));
    space->results.push_back(*strides);
  }
  IndexPool& pool = space->pool;
  const auto add = [&](int64_t size) {
    space->variables.push_back({pool.Variable(0, std::max<int64_t>(size, 1) - 1), size, Role::kKept});
    return space->variables.back().e;
  };
  std::vector<int64_t> batch(a.dims().begin(), a.dims().begin() + batch_rank);
  const IndexExpr matrix = add(space->batch);
  const int64_t most = std::max({space->rows, space->columns, space->others});
  const IndexExpr row = add(most), column = add(most);
  std::vector<IndexExpr> at = pool.Delinearize(matrix, batch);
  at.insert(at.end(), {row, column});
  for (const Instruction* operand : inst.operands()) space->elements.push_back(TRY(space->graph.Plan(*operand, at)));
  return space;
}

}  // namespace hlo::gpu
