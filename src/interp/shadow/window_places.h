// Which elements of a base the windows over it have. Private to interp/shadow/windows*.cpp.
#ifndef HLO_INTERP_SHADOW_WINDOW_PLACES_H_
#define HLO_INTERP_SHADOW_WINDOW_PLACES_H_

#include <span>
#include <vector>

#include "base/check.h"
#include "interp/shadow/rules.h"

namespace hlo::shadow {

// Where windows lie: for each result index, the base elements that its window covers (docs/ops.md#windows).
class Windows {
 public:
  Windows(const Window& window, std::span<const int64_t> base, std::span<const int64_t> result)
      : base_strides_(RowMajorStrides(base)), result_(result.begin(), result.end()) {
    for (size_t d = 0; d < result.size(); ++d) {
      const WindowDim& w = window.dims[d];
      std::vector<int64_t> offsets;
      for (int64_t o = 0; o < result[d]; ++o) {
        for (int64_t k = 0; k < w.size; ++k) {
          const int64_t dilated = o * w.stride + k * w.window_dilation - w.pad_low;
          const int64_t at = dilated % w.base_dilation == 0 ? dilated / w.base_dilation : -1;
          offsets.push_back(dilated >= 0 && at >= 0 && at < base[d] ? at * base_strides_[d] : -1);
        }
      }
      offsets_.push_back(std::move(offsets));
      sizes_.push_back(w.size);
    }
  }

  // f(row-major base index), in row-major window order.
  template <class F>
  void ForEach(int64_t result_index, F&& f) const {
    const int64_t rank = static_cast<int64_t>(result_.size());
    const int64_t* tables[16];
    int64_t position[16] = {};
    CHECK(rank <= 16, "rank ", rank);
    for (int64_t d = rank - 1; d >= 0; --d) {
      tables[d] = &offsets_[d][result_index % result_[d] * sizes_[d]];
      result_index /= result_[d];
    }
    for (;;) {
      int64_t index = 0;
      bool inside = true;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t offset = tables[d][position[d]];
        inside = inside && offset >= 0;
        index += offset;
      }
      if (inside) f(index);
      int64_t d = rank - 1;
      while (d >= 0 && ++position[d] == sizes_[d]) position[d--] = 0;
      if (d < 0) return;
    }
  }

 private:
  std::vector<int64_t> base_strides_, result_, sizes_;
  std::vector<std::vector<int64_t>> offsets_;  // [d][o * size + k]: the base offset, or -1 for padding and holes.
};

// Of reducers without a rule, or that do not reduce one array of floats: by the reducer, as reduce does.
Result<ShadowValue> ReduceWindowByReducer(Context& context, const Instruction& inst, Operands operands);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_WINDOW_PLACES_H_
