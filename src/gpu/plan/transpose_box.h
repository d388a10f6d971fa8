// Transposes with short contiguous runs on one side, by boxes of the variables in shared memory.
#ifndef HLO_GPU_PLAN_TRANSPOSE_BOX_H_
#define HLO_GPU_PLAN_TRANSPOSE_BOX_H_

#include <optional>
#include <span>
#include <vector>

#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// The algorithm of the plan. Its tile has the size of the box in each variable.
inline constexpr const char* kTransposeBox = "box";

// For example, from [b,a,2,3] to [b,3,a,2] with sides 4, 3, 8, 2, outputs have runs of 8 x 2 elements, and the loads
// have 4 runs of 8 x 2 x 3.
struct TransposeBox {
  std::vector<NodeId> loads;  // Their order differs from the outputs', and is the same for all.
  std::vector<int64_t> sides;
  size_t run = 0;             // The first of the trailing variables that are one contiguous run of the outputs.
  std::vector<size_t> order;  // Variables with sides above 1, minor first in the loads.
  size_t loaded_run = 0;      // Entries of `order` that are one contiguous run of the loads.

  int64_t Elements() const;
  int64_t RunElements() const;
  int64_t LoadedRunElements() const;
  // Strides of the variables in a box with the order of the loads, or of the outputs.
  std::vector<int64_t> LoadedPitches() const;
  std::vector<int64_t> WrittenPitches() const;
};

// Empty if the loads are not transposed alike, or not contiguous on both sides.
std::optional<TransposeBox> BoxOf(const LoopSpace& space, std::span<const int64_t> sides);

// The box fits into the nearest cache, with runs of similar length on both sides.
std::optional<TransposeBox> FindBox(const LoopSpace& space);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_TRANSPOSE_BOX_H_
