#include <algorithm>

#include "parser/mlir/builders.h"

namespace hlo::mlir {
namespace {

// Empty if all operands have the default precision.
Result<std::vector<Precision>> PrecisionsOf(const Operation& op) {
  std::vector<Precision> precisions;
  const Attribute* const attribute = op.Find("precision_config");
  if (attribute == nullptr) return precisions;
  for (const Attribute& item : attribute->items) precisions.push_back(TRY(EnumIn<Precision>(item)));
  if (std::ranges::count(precisions, Precision::kDefault) == std::ssize(precisions)) precisions.clear();
  return precisions;
}

}  // namespace

// Matrices and vectors: the last dimension of the first operand and the first but one of the second.
Status BuildDot(Lowering& to, const Operation& op) {
  if (op.operands.size() != 2 || to.OperandShape(op, 0).rank() == 0 || to.OperandShape(op, 1).rank() == 0)
    FAIL(ErrorAtOp(op, "V001", "expected two matrices or vectors"));
  DotAttrs attrs;
  attrs.lhs_contracting = {to.OperandShape(op, 0).rank() - 1};
  attrs.rhs_contracting = {std::max<int64_t>(to.OperandShape(op, 1).rank() - 2, 0)};
  attrs.precision = TRY(PrecisionsOf(op));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildDotGeneral(Lowering& to, const Operation& op) {
  const Attribute& numbers = *TRY(Need(op, "dot_dimension_numbers"));
  DotAttrs attrs;
  attrs.lhs_batch = TRY(IntsOfField(numbers, "lhs_batching_dimensions"));
  attrs.rhs_batch = TRY(IntsOfField(numbers, "rhs_batching_dimensions"));
  attrs.lhs_contracting = TRY(IntsOfField(numbers, "lhs_contracting_dimensions"));
  attrs.rhs_contracting = TRY(IntsOfField(numbers, "rhs_contracting_dimensions"));
  attrs.precision = TRY(PrecisionsOf(op));
  if (op.operands.size() != 2) FAIL(ErrorAtOp(op, "V001", "expected two operands"));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

}  // namespace hlo::mlir
