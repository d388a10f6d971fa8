// Statistics of the elements of an array.
#ifndef HLO_JUDGE_COMPARE_TALLY_H_
#define HLO_JUDGE_COMPARE_TALLY_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "judge/compare/compare.h"
#include "judge/compare/leaf.h"

namespace hlo {

int64_t UlpsBetween(PrimitiveType type, double a, double b);

// Elements are added in blocks.
class Tally {
 public:
  Tally(TensorComparison tensor, int64_t count)
      : tensor_(std::move(tensor)), ratio_step_(std::max<int64_t>(1, count / kMostRatios)) {}

  // `first` is the index of the block's first element.
  void Add(const Leaf& leaf, const Judge& judge, int64_t first = 0);
  TensorComparison Take();

  std::vector<int64_t>& bad() { return bad_; }
  double worst_bad() const { return worst_bad_; }

 private:
  // The median uses at most this many ratios.
  static constexpr int64_t kMostRatios = int64_t{1} << 22;

  void AddSame(const Leaf& leaf, const Judge& judge, int64_t begin, int64_t end, const double* v, int64_t first);
  void AddElement(const Leaf& leaf, const Judge& judge, int64_t i, double t, double v, int64_t first);

  TensorComparison tensor_;
  int64_t ratio_step_;
  std::vector<int64_t> bad_;
  std::vector<float> ratios_;
  std::array<int64_t, 32> ulp_bins_ = {};      // Counts by UlpBin.
  std::array<int64_t, 2048> ratio_bins_ = {};  // Counts by exponent + 1023, with infinity last.
  double relative_squares_ = 0, error_squares_ = 0, squares_ = 0, worst_bad_ = 0;
  int64_t relative_count_ = 0;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_TALLY_H_
