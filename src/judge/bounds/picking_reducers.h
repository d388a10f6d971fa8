// Reducers that return one of the elements that they combine, such as an argmax. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_PICKING_REDUCERS_H_
#define HLO_JUDGE_BOUNDS_PICKING_REDUCERS_H_

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "judge/bounds/rules.h"

namespace hlo::shadow {

// Whether a reducer may return the left side, and the right, for each combination of orders (OrdersOf). Order s of
// operand k adds s * stride[k] to the index.
struct PairOutcomes {
  std::vector<int64_t> stride;
  std::vector<uint8_t> left, right;
  // The result may have the other side's zero, as in an argmax that returns the smaller index and either of two equal
  // values.
  bool swaps_zeros = false;
};

// Nullopt if a result mixes the sides.
Result<std::optional<PairOutcomes>> LeavesASide(const Computation& body);
std::vector<int64_t> DecidingPlaces(const Computation& body, int64_t arity);

inline Pair At(const ShadowValue& x, int64_t i) {
  const double* bound = BoundsOrNull(x.bound);
  return {Values(x.value)[i], bound ? bound[i] : 0};
}

inline bool IsOpen(const ShadowValue& x, int64_t i) { return x.HasOpen() && x.open.GetInt(i) != 0; }

inline bool SameBits(const Literal& a, int64_t i, const Literal& b, int64_t j) {
  const int64_t width = ByteWidth(a.shape().type());
  return std::memcmp(a.raw() + i * width, b.raw() + j * width, width) == 0;
}

// Whether element i of a may equal element j of b. 0 equals -0.
inline bool MayBe(const ShadowValue& a, int64_t i, const ShadowValue& b, int64_t j) {
  if (!a.IsFloat()) return IsOpen(a, i) || SameBits(a.exact, i, b.exact, j);
  const Pair x = At(a, i), y = At(b, j);
  return SameNumber(x.value, y.value) || !std::isfinite(x.bound) || std::fabs(x.value - y.value) <= x.bound * kUp;
}

inline bool Alike(const ShadowValue& x, int64_t i, const ShadowValue& y, int64_t j) {
  if (!x.IsFloat()) return !IsOpen(x, i) && !IsOpen(y, j) && SameBits(x.exact, i, y.exact, j);
  const Pair a = At(x, i), b = At(y, j);
  return SameNumber(a.value, b.value) && a.bound == b.bound;
}

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_PICKING_REDUCERS_H_
