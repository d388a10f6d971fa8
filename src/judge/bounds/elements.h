// Elements with bounds, as rules for sums read and write them. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_ELEMENTS_H_
#define HLO_JUDGE_BOUNDS_ELEMENTS_H_

#include "judge/bounds/rules.h"

namespace hlo::shadow {

struct Bounds {
  double value, bound, likely;
};

// Rounds to the grid of the type. `before` and `likely_before` are bounds before the rounding.
inline Bounds RoundedOnGrid(const Finish& finish, double value, double before, double likely_before) {
  const Pair worst = OnGrid(finish, value, before), likely = OnGrid(finish, value, likely_before);
  return {worst.value, worst.bound, std::min(worst.bound, likely.bound + std::fabs(likely.value - worst.value))};
}

struct Source {
  const double* value;
  const double* bound;
  const double* likely;

  explicit Source(const ShadowValue& from)
      : value(Values(from.value)),
        bound(BoundsOrNull(from.bound)),
        likely(from.HasLikely() ? BoundsOrNull(from.likely) : bound) {}
  double Bound(int64_t i) const { return bound ? bound[i] : 0; }
  double Likely(int64_t i) const { return likely ? likely[i] : 0; }
};

// Result arrays of a rule, with likely bounds on request.
class Sink {
 public:
  Sink(const Shape& shape, PrimitiveType held, bool likely) {
    result_.shape = shape;
    result_.held = held;
    result_.value = NewBuffer(shape);
    result_.bound = NewBuffer(shape);
    if (likely) result_.likely = NewBuffer(shape);
    value_ = result_.value.mutable_data<double>().data();
    bound_ = result_.bound.mutable_data<double>().data();
    likely_ = likely ? result_.likely.mutable_data<double>().data() : nullptr;
  }

  void Put(int64_t i, const Bounds& x) const {
    value_[i] = x.value;
    bound_[i] = x.bound;
    if (likely_) likely_[i] = x.likely;
  }
  ShadowValue Take() {
    DropZeroBound(result_);
    return TakeWithBounds();
  }
  ShadowValue TakeWithBounds() { return std::move(result_); }

 private:
  ShadowValue result_;
  double* value_;
  double* bound_;
  double* likely_;
};

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_ELEMENTS_H_
