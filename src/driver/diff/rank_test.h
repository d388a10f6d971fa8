// Are the numbers of one sample larger than those of another?
#ifndef HLO_DRIVER_DIFF_RANK_TEST_H_
#define HLO_DRIVER_DIFF_RANK_TEST_H_

#include <cstddef>
#include <span>

namespace hlo {

// The two-sided p of the test of Mann and Whitney (Wilcoxon's rank sum): how likely ranks as far from the mean, or
// farther, are where both samples come from one distribution, whatever that is. Exact without ties for up to 50 numbers
// in each; else by the normal approximation, with ties and continuity accounted for. 1 where a sample is empty.
double RankTest(std::span<const double> a, std::span<const double> b);
// The least p that samples of these sizes can have: of all orders of their numbers, the two in which they do not mix.
double LeastOfRankTest(size_t a, size_t b);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_RANK_TEST_H_
