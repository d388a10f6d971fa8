// What the bad elements of a tensor have in common: where they lie, and which known mistake they look like.
// What is found of the latter is a guess, and decides nothing.
#ifndef HLO_INTERP_COMPARE_PATTERNS_H_
#define HLO_INTERP_COMPARE_PATTERNS_H_

#include <span>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace hlo {

struct Mistakes {
  const Shape& shape;
  std::span<const double> expected;
  std::span<const double> actual;
  std::span<const int64_t> bad;  // Row-major, ascending.
  double worst_ratio = 0;        // |actual - expected| / bound over the bad ones.
};

// "dim 1 in [960,999] (40 of 1000), all of dim 0"; with the step when it is regular: "every 32nd of dim 1 from 5".
std::string WhereIs(const Mistakes& mistakes);
// At most three, the most telling first: "PARTIAL TILE: the last 1000 mod 64 = 40 of dim 1".
std::vector<std::string> LooksLike(const Mistakes& mistakes);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_PATTERNS_H_
