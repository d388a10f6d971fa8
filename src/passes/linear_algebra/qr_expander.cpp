// Expands the custom calls "Qr" and "ProductOfElementaryHouseholderReflectors", for real matrices, to loops over
// columns, with LAPACK's conventions: H = 1 - tau v v^T, v is 1 at the diagonal and stored below it, Q = H1 H2 ... Hk.
#include <algorithm>

#include "ir/analysis/matrix_loops.h"
#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

using enum ComparisonDirection;
using Values = Writer::Values;

// (1 - tau v v^T) a where `mask` is true, else a. v must be zero outside of the mask.
Instruction* Reflected(Writer& w, Instruction* v, Instruction* tau, Instruction* a, Instruction* mask,
                       const MatrixShapes& shapes) {
  const int64_t rank = shapes.BatchRank();
  Instruction* const inside = w.Select(mask, a, w.Constant(0, a->shape()));
  DotAttrs attrs;
  for (int64_t d = 0; d < rank; ++d) attrs.lhs_batch.push_back(d);
  attrs.rhs_batch = attrs.lhs_batch;
  attrs.lhs_contracting = attrs.rhs_contracting = {rank};
  // High precision keeps the product of reflections orthogonal.
  attrs.precision = {Precision::kHighest, Precision::kHighest};
  Instruction* const projected = w.Add(Opcode::kDot, shapes.Row(), {v, inside}, attrs);
  Instruction* const scaled = w.Binary(Opcode::kMultiply, v, w.Widen(tau, v->shape(), {}));
  Instruction* const outer =
      w.Binary(Opcode::kMultiply, w.Widen(scaled, a->shape(), {rank}), w.Widen(projected, a->shape(), {rank + 1}));
  return w.Select(mask, w.Binary(Opcode::kSubtract, a, outer), a);
}

Instruction* Column(Writer& w, Instruction* a, Instruction* j, const MatrixShapes& shapes) {
  Values starts(shapes.BatchRank() + 1);
  starts.push_back(j);
  return w.Slice(a, starts, shapes.With({shapes.rows, 1}).dims(), shapes.Column());
}

// Makes the elements below row j zero, as LAPACK's larfg. The largest element scales the column.
struct Reflection {
  Instruction *v, *tau, *beta;
};
Reflection Reflect(Writer& w, Instruction* column, Instruction* j, const MatrixShapes& shapes) {
  const Shape& shape = column->shape();
  const auto rows = [&](ComparisonDirection direction) {
    return w.CompareIndex(shape, shapes.BatchRank(), direction, j);
  };
  const auto largest = [&](Instruction* x) { return w.Reduce(w.Unary(Opcode::kAbs, x), Opcode::kMaximum); };
  Instruction* const zeros = w.Constant(0, shape);
  Instruction* const at = rows(kEq);
  Instruction* const alpha = w.Reduce(w.Select(at, column, zeros), Opcode::kAdd);
  Instruction* const rest = w.Select(rows(kGt), column, zeros);
  Instruction* const from_j = w.Select(rows(kGe), column, zeros);
  Instruction *const one = w.Constant(1, alpha->shape()), *const zero = w.Constant(0, alpha->shape());
  Instruction* const nothing = w.Compare(largest(rest), kEq, zero);  // The column needs no reflection.
  Instruction* const scale = w.Select(nothing, one, largest(from_j));
  Instruction* const scaled = w.Binary(Opcode::kDivide, from_j, w.Widen(scale, shape, {}));
  Instruction* const squares = w.Reduce(w.Binary(Opcode::kMultiply, scaled, scaled), Opcode::kAdd);
  Instruction* const norm = w.Binary(Opcode::kMultiply, scale, w.Unary(Opcode::kSqrt, squares));
  Instruction* const away = w.Select(w.Compare(alpha, kLt, zero), norm, w.Unary(Opcode::kNegate, norm));
  Instruction* const beta = w.Select(nothing, alpha, away);
  Instruction* const divisor = w.Select(nothing, one, w.Binary(Opcode::kSubtract, alpha, beta));
  Instruction* const quotient =
      w.Binary(Opcode::kDivide, w.Binary(Opcode::kSubtract, beta, alpha), w.Select(nothing, one, beta));
  Instruction* const v = w.Binary(Opcode::kDivide, rest, w.Widen(divisor, shape, {}));
  return {w.Select(at, w.Constant(1, shape), v), w.Select(nothing, zero, quotient), beta};
}

// (R with each v stored below the diagonal, tau)
Instruction* ExpandDecomposition(Instruction& inst) {
  if (inst.operand_count() != 1 || !IsRealMatrices(inst.operand(0).shape())) return nullptr;
  const Shape& shape = inst.operand(0).shape();
  const MatrixShapes shapes(shape);
  const int64_t count = std::min(shapes.rows, shapes.columns), rank = shapes.BatchRank();
  const Shape taus = shapes.With({count});
  if (inst.shape() != Shape::Tuple({shape, taus})) return nullptr;
  Writer outside(inst, inst.computation());
  const Values init = {&inst.operand(0), outside.Constant(0, taus)};
  const Values end = outside.For(count, init, [&](Writer& w, const Values& state) -> Values {
    Instruction *const j = state[0], *const a = state[1];
    const auto [v, tau, beta] = Reflect(w, Column(w, a, j, shapes), j, shapes);
    const auto mask = [&](ComparisonDirection rows, ComparisonDirection columns) {
      return w.Binary(Opcode::kAnd, w.CompareIndex(shape, rank, rows, j), w.CompareIndex(shape, rank + 1, columns, j));
    };
    Instruction* const behind = Reflected(w, v, tau, a, mask(kGe, kGt), shapes);
    Instruction* const below = w.Select(mask(kGt, kEq), w.Widen(v, shape, {rank}), behind);
    Instruction* const whole = w.Select(mask(kEq, kEq), w.Widen(beta, shape, {}), below);
    return {whole, w.Select(w.CompareIndex(taus, rank, kEq, j), w.Widen(tau, taus, {}), state[2])};
  });
  return &inst.computation().AddTuple(end);
}

// The first columns of Q: reflections applied to the identity, last one first.
Instruction* ExpandProduct(Instruction& inst) {
  const Shape& shape = inst.shape();
  if (inst.operand_count() != 2 || !IsRealMatrices(shape) || inst.operand(0).shape() != shape) return nullptr;
  const MatrixShapes shapes(shape);
  const Shape& taus = inst.operand(1).shape();
  const int64_t rank = shapes.BatchRank(), count = taus.rank() == rank + 1 ? taus.dim(rank) : -1;
  if (count < 0 || count > shapes.columns || shapes.columns > shapes.rows || taus != shapes.With({count}))
    return nullptr;
  Writer outside(inst, inst.computation());
  const Shape indices = shape.WithType(PrimitiveType::kS32);
  Instruction* const diagonal = outside.Compare(outside.Add(Opcode::kIota, indices, {}, IotaAttrs{rank}), kEq,
                                                outside.Add(Opcode::kIota, indices, {}, IotaAttrs{rank + 1}));
  const Values init = {outside.Add(Opcode::kConvert, shape, {diagonal}), &inst.operand(0), &inst.operand(1)};
  const Values end = outside.For(count, init, [&](Writer& w, const Values& state) -> Values {
    Instruction* const last = w.Constant(static_cast<double>(count - 1), state[0]->shape());
    Instruction* const j = w.Binary(Opcode::kSubtract, last, state[0]);
    Instruction* const kept = Column(w, state[2], j, shapes);
    const auto rows = [&](ComparisonDirection direction) { return w.CompareIndex(kept->shape(), rank, direction, j); };
    Instruction* const below = w.Select(rows(kGt), kept, w.Constant(0, kept->shape()));
    Instruction* const v = w.Select(rows(kEq), w.Constant(1, kept->shape()), below);
    Values starts(rank);
    starts.push_back(j);
    Instruction* const tau = w.Slice(state[3], starts, shapes.With({1}).dims(), shapes.Scalar());
    Instruction* const corner =
        w.Binary(Opcode::kAnd, w.CompareIndex(shape, rank, kGe, j), w.CompareIndex(shape, rank + 1, kGe, j));
    return {Reflected(w, v, tau, state[1], corner, shapes), state[2], state[3]};
  });
  return end[0];
}

Result<Instruction*> Expand(Instruction& inst, const PassContext&) {
  if (!inst.control_predecessors().empty()) return nullptr;
  const std::string& target = inst.attrs<CustomCallAttrs>().target;
  if (target == "Qr") return ExpandDecomposition(inst);
  return target == "ProductOfElementaryHouseholderReflectors" ? ExpandProduct(inst) : nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"L.qr.1", Opcode::kCustomCall, Expand, Preserves::kReassociates, "Qr(a) => a loop over the columns of a, a reflection for each"},
};
// clang-format on

}  // namespace

std::span<const Rule> QrRules() { return kRules; }

Result<bool> ExpandQr(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
