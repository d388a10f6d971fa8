// Which kernels make one row of their results from the same row of what they read.
//
// Row r of an array of e elements is elements r * e/rows to (r+1) * e/rows, in row-major order: whatever its dimensions
// are, rows are a prefix of them or a part of one.
#ifndef HLO_PASSES_FUSION_ROWS_H_
#define HLO_PASSES_FUSION_ROWS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// How many rows the reductions and running sums of a kernel (ir/fusion.h) may be said to have: what stands before the
// first dimension that they go along; and a gather, one for each index. More than one; ascending, each once.
std::vector<int64_t> RowCounts(const Instruction& kernel);

// Can each row of the results be made by itself, where only the same row is there of operands for which `has_rows`?
// Reductions and products stay in their row; what is read of other operands may be anything. Unless others read the
// results by rows (`is_read`), a product may store them as columns.
bool MakesRows(const Instruction& kernel, int64_t rows, bool is_read,
               const std::function<bool(int64_t operand)>& has_rows);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_ROWS_H_
