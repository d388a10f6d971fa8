// Chooses the results that a sample checks. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_SAMPLE_POINTS_H_
#define HLO_JUDGE_BOUNDS_SAMPLE_POINTS_H_

#include <cstdint>
#include <vector>

#include "ir/shape.h"

namespace hlo::shadow {

enum class Spread { kEverywhere, kInGrid, kInRows, kInColumns };

// Returns at least `wanted` points, or all if there are fewer.
//   kEverywhere: the first and last elements, the ends of some rows, and one point in each of some equal strata.
//   kInRows, kInColumns: about 64 points in each of as many rows or columns as needed.
//   kInGrid: points in 256 rows and 256 columns, and the four corners. Each row has only some of these columns. If
//   there are fewer rows, more columns are used, and vice versa.
std::vector<int64_t> Points(const Shape& shape, Spread spread, int64_t wanted, uint64_t seed);

// The indices must be below `count`.
void SortUnique(std::vector<int64_t>& at, int64_t count);
// Positions of `at` in the ascending list `sorted`.
std::vector<int64_t> PositionsIn(const std::vector<int64_t>& sorted, const std::vector<int64_t>& at, int64_t count);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_SAMPLE_POINTS_H_
