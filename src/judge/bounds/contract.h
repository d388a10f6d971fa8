// Sums of products, for dot and convolution. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_CONTRACT_H_
#define HLO_JUDGE_BOUNDS_CONTRACT_H_

#include <functional>
#include <span>
#include <vector>

#include "ir/dimensions.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {

// Groups of matrix products. The result at (group, row, column) is the sum over terms of left[Left(group, row, term)] *
// right[Right(group, column, term)].
struct Contraction {
  int64_t groups = 1, rows = 1, columns = 1, terms = 1;
  // The left index is a base for each row and window position, plus an offset for each term. A base of -1 means
  // padding.
  int64_t positions = 1;
  std::function<void(int64_t group, int64_t row, int64_t* bases)> left_bases;
  std::vector<int64_t> left_offset;  // [terms / positions]
  std::vector<int64_t> right_group, right_column, right_term;
  std::function<int64_t(int64_t group, int64_t row)> result_row;  // Result index = result_row + result_column.
  std::vector<int64_t> result_column;
};

bool SumsAsFloats(const Instruction& inst);
// Converts to a float type that represents all values, except large 64-bit integers.
ShadowValue AsFloats(const ShadowValue& x);
// The contraction of the first two operands. Integers are converted to floats (docs/ops.md#accumulation). `wanted`
// selects a list of results, and null computes all.
Result<ShadowValue> Contract(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted,
                             const Contraction& contraction);

// The instruction must have floats without sparsity. A convolution must outlive its contraction.
Contraction ContractionOfDot(const Instruction& dot, const Shape& lhs, const Shape& rhs);
Contraction ContractionOfConvolution(const Instruction& convolution, const Shape& in, const Shape& rhs,
                                     const Shape& out);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_CONTRACT_H_
