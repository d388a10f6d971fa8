// The base elements that each window covers.
#ifndef HLO_JUDGE_BOUNDS_WINDOW_PLACES_H_
#define HLO_JUDGE_BOUNDS_WINDOW_PLACES_H_

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/check.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {

// Base elements that the window of each result covers (docs/ops.md#windows). Padding and holes take no time.
class Windows {
 public:
  Windows(const Window& window, std::span<const int64_t> base, std::span<const int64_t> result)
      : result_(result.begin(), result.end()) {
    const std::vector<int64_t> strides = RowMajorStrides(base);
    for (size_t d = 0; d < result.size(); ++d) {
      std::vector<Run>& runs = runs_.emplace_back();
      for (int64_t o = 0; o < result[d]; ++o) {
        runs.push_back(Met(window.dims[d], base[d], o));
        runs.back().first *= strides[d];
        runs.back().step *= strides[d];
      }
    }
  }

  static int64_t MostAtAll(const Window& window, std::span<const int64_t> base) {
    int64_t most = 1;
    for (size_t d = 0; d < base.size(); ++d) most *= std::min(window.dims[d].size, base[d]);
    return most;
  }

  // Calls f with row-major base indices, in row-major window order.
  template <class F>
  void ForEach(int64_t result_index, F&& f) const {
    const int64_t rank = static_cast<int64_t>(result_.size());
    Run runs[16];
    int64_t position[16] = {}, index = 0;
    CHECK(rank <= 16, "rank ", rank);
    for (int64_t d = rank - 1; d >= 0; --d) {
      runs[d] = runs_[d][result_index % result_[d]];
      if (runs[d].count == 0) return;
      index += runs[d].first;
      result_index /= result_[d];
    }
    for (;;) {
      f(index);
      int64_t d = rank - 1;
      for (; d >= 0; --d) {
        index += runs[d].step;
        if (++position[d] < runs[d].count) break;
        index -= runs[d].step * runs[d].count;
        position[d] = 0;
      }
      if (d < 0) return;
    }
  }

 private:
  struct Run {
    int64_t first = 0, step = 0, count = 0;  // Base indices first, first + step, ...
  };
  using Wide = __int128;  // Sizes times dilations may exceed 64 bits.

  static Wide FloorOf(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }  // For positive b.

  // Position k of the window of result o covers base element i if start + k * window_dilation = i * base_dilation.
  static Run Met(const WindowDim& w, int64_t base, int64_t o) {
    const Wide start = Wide{o} * w.stride - w.pad_low, dilation = w.window_dilation, spread = w.base_dilation;
    const Wide k_begin = std::max<Wide>(0, -FloorOf(start, dilation));
    const Wide k_end = std::min<Wide>(w.size, FloorOf((Wide{base} - 1) * spread - start, dilation) + 1);
    const Wide i_begin = std::max<Wide>(0, -FloorOf(-start, spread));
    const Wide i_end = std::min<Wide>(base, FloorOf(start + (Wide{w.size} - 1) * dilation, spread) + 1);
    if (base == 0 || k_begin >= k_end || i_begin >= i_end) return {};
    const int64_t shared = std::gcd(w.window_dilation, w.base_dilation);
    const Wide k_step = spread / shared, i_step = dilation / shared;
    // Tries k or i, whichever has fewer candidates.
    Wide k = k_begin, i = i_begin;
    if (std::min(k_step, k_end - k_begin) <= std::min(i_step, i_end - i_begin)) {
      while (k < std::min(k_end, k_begin + k_step) && (start + k * dilation) % spread != 0) ++k;
      if (k == k_end || k == k_begin + k_step) return {};
      i = (start + k * dilation) / spread;
    } else {
      while (i < std::min(i_end, i_begin + i_step) && (i * spread - start) % dilation != 0) ++i;
      if (i == i_end || i == i_begin + i_step) return {};
      k = (i * spread - start) / dilation;
    }
    const Wide count = std::min((k_end - 1 - k) / k_step, (i_end - 1 - i) / i_step) + 1;
    return {static_cast<int64_t>(i), static_cast<int64_t>(std::min<Wide>(i_step, base)), static_cast<int64_t>(count)};
  }

  std::vector<int64_t> result_;
  std::vector<std::vector<Run>> runs_;  // [dimension][index of the result]
};

// Used for reducers without a rule in totals.h, and for values other than one float array.
Result<ShadowValue> ReduceWindowByReducer(Context& context, const Instruction& inst, Operands operands);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_WINDOW_PLACES_H_
