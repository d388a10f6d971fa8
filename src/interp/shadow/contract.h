// Sums of products: what dot and convolution share. Private to interp/shadow*.cpp.
#ifndef HLO_INTERP_SHADOW_CONTRACT_H_
#define HLO_INTERP_SHADOW_CONTRACT_H_

#include <functional>
#include <span>
#include <vector>

#include "interp/shadow/rules.h"

namespace hlo::shadow {

// A contraction as groups of matrix products: result (group, row, column) sums over terms
// left[Left(group, row, term)] * right[Right(group, column, term)].
struct Contraction {
  int64_t groups = 1, rows = 1, columns = 1, terms = 1;
  // Left: a base for each row and window position, then an offset for each term within one; -1 is padding, which counts
  // 0.
  int64_t positions = 1;
  std::function<void(int64_t group, int64_t row, int64_t* bases)> left_bases;
  std::vector<int64_t> left_offset;  // [terms / positions]
  std::vector<int64_t> right_group, right_column, right_term;
  std::function<int64_t(int64_t group, int64_t row)> result_row;  // Result index = result_row + result_column.
  std::vector<int64_t> result_column;
};

// Does it sum products of numbers as floats, of whatever types the numbers are?
bool SumsAsFloats(const Instruction& inst);
// Integers and pred as the floats that they are, held in a type that has them all. A 64-bit integer may round.
ShadowValue AsFloats(const ShadowValue& x);
// By the first two operands; integers become floats, as docs/ops.md#accumulation has it. Of the results those that are
// wanted, as a list; null: all.
Result<ShadowValue> Contract(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted,
                             const Contraction& contraction);

// The sums of a dot or convolution of floats without sparsity, whose operands have these shapes. The contraction of a
// convolution refers to its attributes.
Contraction ContractionOfDot(const Instruction& dot, const Shape& lhs, const Shape& rhs);
Contraction ContractionOfConvolution(const Instruction& convolution, const Shape& in, const Shape& rhs,
                                     const Shape& out);

// Row-major offsets of all index combinations of `dimensions` in `shape`, the last one fastest.
std::vector<int64_t> OffsetsOf(const Shape& shape, std::span<const int64_t> dimensions);
// Of a dot's operand.
std::vector<int64_t> FreeDimensions(const Shape& shape, const std::vector<int64_t>& batch,
                                    const std::vector<int64_t>& contracting);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_CONTRACT_H_
