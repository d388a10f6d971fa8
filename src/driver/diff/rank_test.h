// Tests whether one sample tends to have larger numbers than another.
#ifndef HLO_DRIVER_DIFF_RANK_TEST_H_
#define HLO_DRIVER_DIFF_RANK_TEST_H_

#include <cstddef>
#include <span>

namespace hlo {

// The two-sided p of the Mann-Whitney test (Wilcoxon's rank sum). Exact without ties for up to 50 numbers in each
// sample, otherwise the normal approximation with corrections for ties and continuity. 1 if a sample is empty.
double RankTest(std::span<const double> a, std::span<const double> b);
// The least possible p for samples of these sizes.
double LeastOfRankTest(size_t a, size_t b);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_RANK_TEST_H_
