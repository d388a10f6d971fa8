// Describes wrong elements: their positions, and known mistakes as guesses.
#ifndef HLO_JUDGE_COMPARE_PATTERNS_H_
#define HLO_JUDGE_COMPARE_PATTERNS_H_

#include <span>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace hlo {

struct Mistakes {
  const Shape& shape;
  std::span<const double> expected;
  std::span<const double> actual;
  std::span<const int64_t> bad;  // Ascending row-major indices.
  double worst_ratio = 0;        // The largest |actual - expected| / bound.
};

// "dim 1 in [960,999] (40 of 1000), all of dim 0", or "every 32nd of dim 1 from 5 (31 of 1000)".
std::string WhereIs(const Mistakes& mistakes);
// At most three guesses, the most informative first: "PARTIAL TILE: the last 40 of dim 1 (1000 mod 64)".
std::vector<std::string> LooksLike(const Mistakes& mistakes);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_PATTERNS_H_
