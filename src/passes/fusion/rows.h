// Finds kernels that compute a row of their results from the same row of their operands.
//
// Row r of an array of e elements has the e/rows elements from number r * e/rows on, in row-major order. Rows need not
// be a dimension.
#ifndef HLO_PASSES_FUSION_ROWS_H_
#define HLO_PASSES_FUSION_ROWS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// The possible row counts of a kernel (ir/fusion.h), ascending and above 1: the product of the dimensions before the
// first reduced or summed one, or a gather's number of indices.
std::vector<int64_t> RowCounts(const Instruction& kernel);

// Whether each row of the results can be computed from the same row of operands for which `has_rows` holds. Other
// operands may be read anywhere. A product may store its rows as columns unless other kernels read them by rows
// (`is_read`).
bool MakesRows(const Instruction& kernel, int64_t rows, bool is_read,
               const std::function<bool(int64_t operand)>& has_rows);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_ROWS_H_
