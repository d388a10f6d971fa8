// Transposes with short contiguous runs in loads or outputs. A block moves a box of the variables through shared
// memory.
#ifndef HLO_GPU_PLAN_TRANSPOSE_BOX_H_
#define HLO_GPU_PLAN_TRANSPOSE_BOX_H_

#include <optional>
#include <span>
#include <vector>

#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// The plan's algorithm. Its tile has the box's size in each variable.
inline constexpr const char* kTransposeBox = "box";

// A box has `sides` elements along each variable. In a transpose from [b,a,2,3] to [b,3,a,2] with sides 4, 3, 8, 2,
// outputs have runs of 8 x 2 elements, and loads have 4 runs of 8 x 2 x 3.
struct TransposeBox {
  std::vector<NodeId> loads;  // Loads whose memory order differs from the outputs'. All have one order.
  std::vector<int64_t> sides;
  size_t run = 0;             // Variables from here on are one contiguous run of the outputs.
  std::vector<size_t> order;  // Variables with sides above 1, minor first in the loads.
  size_t loaded_run = 0;      // Entries of `order` in one contiguous run of the loads.

  int64_t Elements() const;
  int64_t RunElements() const;
  int64_t LoadedRunElements() const;
  // Strides in a box stored in the order of the loads, or the outputs.
  std::vector<int64_t> LoadedPitches() const;
  std::vector<int64_t> WrittenPitches() const;
};

// Empty if loads have different orders, or if loads or outputs are not contiguous.
std::optional<TransposeBox> BoxOf(const LoopSpace& space, std::span<const int64_t> sides);

// The largest box that fits into the nearest cache, with runs of similar length in loads and outputs, if any.
std::optional<TransposeBox> FindBox(const LoopSpace& space);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_TRANSPOSE_BOX_H_
