// Bounds of dot. The rule: docs/comparison.md#sums.
#include <algorithm>

#include "interp/strided.h"
#include "judge/bounds/contract.h"

namespace hlo::shadow {

Contraction ContractionOfDot(const Instruction& dot, const Shape& lhs, const Shape& rhs) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  Contraction c;
  c.left_offset = OffsetsOf(lhs, attrs.lhs_contracting);
  c.right_group = OffsetsOf(rhs, attrs.rhs_batch);
  c.right_column = OffsetsOf(rhs, FreeDimensions(rhs.rank(), attrs.rhs_batch, attrs.rhs_contracting));
  c.right_term = OffsetsOf(rhs, attrs.rhs_contracting);
  std::vector<int64_t> batch = OffsetsOf(lhs, attrs.lhs_batch);
  std::vector<int64_t> rows = OffsetsOf(lhs, FreeDimensions(lhs.rank(), attrs.lhs_batch, attrs.lhs_contracting));
  c.groups = std::ssize(batch);
  c.rows = std::ssize(rows);
  c.columns = std::ssize(c.right_column);
  c.terms = std::ssize(c.left_offset);
  c.result_row = [rows = c.rows, columns = c.columns](int64_t group, int64_t row) {
    return (group * rows + row) * columns;
  };
  c.left_bases = [batch = std::move(batch), rows = std::move(rows)](int64_t group, int64_t row, int64_t* bases) {
    bases[0] = batch[group] + rows[row];
  };
  c.result_column.resize(c.groups * c.columns);
  for (size_t i = 0; i < c.result_column.size(); ++i) c.result_column[i] = static_cast<int64_t>(i) % c.columns;
  return c;
}

Result<ShadowValue> Dot(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted) {
  if (!SumsAsFloats(inst)) {
    if (IsComplex(inst.shape().type())) FAIL(UnsupportedAt(inst, "U041", "no error bounds for complex 'dot'"));
    return ThroughInterpreter(context, inst, operands);
  }
  if (!inst.attrs<DotAttrs>().sparsity.empty() || operands.size() != 2)
    FAIL(UnsupportedAt(inst, "U041", "no error bounds for sparse 'dot'"));
  return Contract(context, inst, operands, wanted, ContractionOfDot(inst, operands[0]->shape, operands[1]->shape));
}

}  // namespace hlo::shadow
