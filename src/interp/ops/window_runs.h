#ifndef HLO_INTERP_OPS_WINDOW_RUNS_H_
#define HLO_INTERP_OPS_WINDOW_RUNS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace hlo {

struct Run {
  int64_t from, to;  // Offsets in elements from the window's origin.
  int64_t count;
};

std::vector<Run> WindowRuns(std::span<const int64_t> dims, std::span<const int64_t> from_strides,
                            std::span<const int64_t> to_strides);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_WINDOW_RUNS_H_
