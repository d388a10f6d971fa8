// Totals of many elements, for reduce, reduce-window and scatters. Private to judge/bounds. The rules hold for all
// orders of combining: docs/comparison.md#sums. The shadow uses the fastest order.
#ifndef HLO_JUDGE_BOUNDS_TOTALS_H_
#define HLO_JUDGE_BOUNDS_TOTALS_H_

#include <algorithm>

#include "base/check.h"
#include "judge/bounds/elements.h"

namespace hlo::shadow {

// Accumulators of the combined elements. The value of an undetermined element may be NaN and is ignored.
//   Sums: the sums of values, bounds, likely bounds, and finite magnitudes.
//   Maxima: the largest value, value + bound (`bounds`), and value - bound (`magnitudes`).
//   Products: the product of values, and of the magnitudes |v| + e (`magnitudes`). `bounds` is the product of the
//   finite magnitudes of at least 1. It is NaN if a factor certainly is NaN. `likely` is the product of the least
//   magnitudes |v| - e below 1, without exact zeros. It is NaN if a factor is undetermined.
struct Total {
  double value, bounds, likely, magnitudes;
};

// NaN if either is NaN.
inline double Larger(double a, double b) { return a > b || a != a ? a : b; }

struct Add {
  static constexpr Total kNothing{-0.0, 0, 0, 0};  // -0 + x is x, also if x is -0.
  static void Take(Total& t, double v, double e, double l) {
    t.value += v;
    t.bounds += e;
    t.likely += l;
    t.magnitudes += std::fabs(v) < kInfinity ? std::fabs(v) + e : 0;
  }
  static void Merge(Total& t, const Total& o) {
    t.value += o.value;
    t.bounds += o.bounds;
    t.likely += o.likely;
    t.magnitudes += o.magnitudes;
  }
};

struct Multiply {
  static constexpr Total kNothing{1, 1, 1, 1};
  static void Take(Total& t, double v, double e, double) {
    const double size = std::fabs(v);
    t.value *= v;
    t.magnitudes *= size + e;
    t.bounds *= std::isnan(v) && e == 0 ? v : size < kInfinity ? std::max(1.0, size + e) : 1;
    t.likely *= !std::isfinite(e) ? kUndetermined : v == 0 && e == 0 ? 1 : std::clamp(size - e, 0.0, 1.0);
  }
  static void Merge(Total& t, const Total& o) {
    t.value *= o.value;
    t.magnitudes *= o.magnitudes;
    t.bounds *= o.bounds;
    t.likely *= o.likely;
  }
};

template <bool kMinimum>
struct Extreme {
  static constexpr Total kNothing{-kInfinity, -kInfinity, 0, -kInfinity};
  static void Take(Total& t, double v, double e, double) {
    if constexpr (kMinimum) v = -v;
    t.value = Larger(t.value, std::isnan(e) ? -kInfinity : v);
    t.bounds = Larger(t.bounds, v + e);
    t.magnitudes = Larger(t.magnitudes, v - e);
  }
  static void Merge(Total& t, const Total& o) {
    t.value = Larger(t.value, o.value);
    t.bounds = Larger(t.bounds, o.bounds);
    t.magnitudes = Larger(t.magnitudes, o.magnitudes);
  }
};

template <class F>
void WithRule(Combiner combiner, F&& f) {
  switch (combiner) {
    case Combiner::kAdd: return f(Add());
    case Combiner::kMultiply: return f(Multiply());
    case Combiner::kMaximum: return f(Extreme<false>());
    case Combiner::kMinimum: return f(Extreme<true>());
    default: CHECK(false, "no rule");
  }
}
bool HasRule(Combiner combiner);

// Computes a result from its total.
class Closing {
 public:
  Closing(const Context& context, const Instruction& inst, Combiner combiner, int64_t terms, bool integers = false);

  bool HasLikely() const { return combiner_ == Combiner::kAdd && rule_.HasLikely(); }
  Bounds operator()(const Total& total) const;

 private:
  Combiner combiner_;
  SumRule rule_;
  Rounding accumulator_;
  int64_t terms_;
};

class Totals {
 public:
  explicit Totals(const ShadowValue& start);

  void Add(int64_t at, double value, double bound, double likely);
  void Loosen(int64_t at, double bound);
  // Elements without terms keep the start value.
  ShadowValue Close(const Context& context, const Instruction& inst);

 private:
  Source from_;
  std::vector<Total> totals_;
  std::vector<int64_t> terms_;
};

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_TOTALS_H_
