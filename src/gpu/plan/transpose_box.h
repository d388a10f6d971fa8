// Transposes of which a side has short runs: all that lies together on both sides, a box of the variables, goes through
// shared memory.
#ifndef HLO_GPU_PLAN_TRANSPOSE_BOX_H_
#define HLO_GPU_PLAN_TRANSPOSE_BOX_H_

#include <optional>
#include <span>
#include <vector>

#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// KernelPlan::algorithm of such a transpose; its tile has the side of the box for each variable.
inline constexpr const char* kTransposeBox = "box";

// From [b,a,2,3] to [b,3,a,2], with sides 4, 3, 8, 2: what is written has runs of 8 x 2 elements, what is read runs of
// 8 x 2 x 3, 4 of them.
struct TransposeBox {
  std::vector<NodeId> loads;   // Read in another order than written, all in the same one.
  std::vector<int64_t> sides;  // By variable.
  size_t run = 0;              // The first of those variables, the last ones, that are one run of the outputs.
  std::vector<size_t> order;   // Variables with sides above 1, in the order of the loads, minor first.
  size_t loaded_run = 0;       // So many of `order` are one run of the loads.

  int64_t Elements() const;
  int64_t RunElements() const;
  int64_t LoadedRunElements() const;
  // Of each variable: how far apart its neighbours are in a box that has the order of the loads, or of the outputs.
  std::vector<int64_t> LoadedPitches() const;
  std::vector<int64_t> WrittenPitches() const;
};

// Nothing where the loads are no such ones, or not in runs on both sides. `sides` are those of the variables.
std::optional<TransposeBox> BoxOf(const LoopSpace& space, std::span<const int64_t> sides);

// Boxes that fit the nearest cache, with runs as long on one side as on the other.
std::optional<TransposeBox> FindBox(const LoopSpace& space);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_TRANSPOSE_BOX_H_
