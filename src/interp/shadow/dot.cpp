// Bounds of dot: a contraction for each batch. The rule: docs/comparison.md#sums.
#include <algorithm>

#include "interp/shadow/contract.h"

namespace hlo::shadow {

std::vector<int64_t> OffsetsOf(const Shape& shape, std::span<const int64_t> dimensions) {
  const std::vector<int64_t> strides = RowMajorStrides(shape.dims());
  std::vector<int64_t> offsets{0};
  for (const int64_t d : dimensions) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * shape.dim(d));
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < shape.dim(d); ++i) next.push_back(offset + i * strides[d]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

std::vector<int64_t> FreeDimensions(const Shape& shape, const std::vector<int64_t>& batch,
                                    const std::vector<int64_t>& contracting) {
  std::vector<int64_t> free;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(batch, d) == batch.end() && std::ranges::find(contracting, d) == contracting.end())
      free.push_back(d);
  }
  return free;
}

Result<ShadowValue> Dot(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted) {
  const ShadowValue &a = *operands[0], &b = *operands[1];
  const DotAttrs& attrs = inst.attrs<DotAttrs>();
  if (!SumsAsFloats(inst)) {
    if (IsComplex(inst.shape().type())) FAIL(UnsupportedAt(inst, "U041", "no error bounds for complex 'dot'"));
    return ThroughInterpreter(context, inst, operands);
  }
  if (!attrs.sparsity.empty() || operands.size() != 2)
    FAIL(UnsupportedAt(inst, "U041", "no error bounds for sparse 'dot'"));
  const std::vector<int64_t> left_batch = OffsetsOf(a.shape, attrs.lhs_batch);
  const std::vector<int64_t> left_row =
      OffsetsOf(a.shape, FreeDimensions(a.shape, attrs.lhs_batch, attrs.lhs_contracting));
  Contraction c;
  c.left_offset = OffsetsOf(a.shape, attrs.lhs_contracting);
  c.right_group = OffsetsOf(b.shape, attrs.rhs_batch);
  c.right_column = OffsetsOf(b.shape, FreeDimensions(b.shape, attrs.rhs_batch, attrs.rhs_contracting));
  c.right_term = OffsetsOf(b.shape, attrs.rhs_contracting);
  c.groups = static_cast<int64_t>(left_batch.size());
  c.rows = static_cast<int64_t>(left_row.size());
  c.columns = static_cast<int64_t>(c.right_column.size());
  c.terms = static_cast<int64_t>(c.left_offset.size());
  c.left_bases = [&](int64_t group, int64_t row, int64_t* bases) { bases[0] = left_batch[group] + left_row[row]; };
  c.result_row = [&](int64_t group, int64_t row) { return (group * c.rows + row) * c.columns; };
  c.result_column.resize(c.groups * c.columns);
  for (size_t i = 0; i < c.result_column.size(); ++i) c.result_column[i] = static_cast<int64_t>(i) % c.columns;
  return Contract(context, inst, operands, wanted, c);
}

}  // namespace hlo::shadow
