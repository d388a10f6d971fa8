// Which results are looked at where not all are. Private to interp/shadow.
#ifndef HLO_INTERP_SHADOW_SAMPLE_POINTS_H_
#define HLO_INTERP_SHADOW_SAMPLE_POINTS_H_

#include <cstdint>
#include <vector>

#include "ir/shape.h"

namespace hlo::shadow {

// How the points of a result lie.
enum class Spread { kEverywhere, kInGrid, kInRows, kInColumns };

// At least `wanted` points, or all. Everywhere: the ends, the ends of rows spread over the whole, and one of each of as
// many strata. In rows or columns: as many of these as each has points. In a grid: of a few hundred rows and columns
// (of more where there are few of the other) the corners, and each row with some of the columns, in turns.
std::vector<int64_t> Points(const Shape& shape, Spread spread, int64_t wanted, uint64_t seed);

// Ascending, each once. `count`: all are below it.
void SortUnique(std::vector<int64_t>& at, int64_t count);
// Where in `sorted`, which is ascending, each of `at` stands.
std::vector<int64_t> PositionsIn(const std::vector<int64_t>& sorted, const std::vector<int64_t>& at, int64_t count);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_SAMPLE_POINTS_H_
