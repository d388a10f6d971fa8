// The parts of a kernel of kind `block`: a region's kernels (ir/analysis/region.h), each with its iteration space.
#ifndef HLO_GPU_PLAN_BLOCK_SPACE_H_
#define HLO_GPU_PLAN_BLOCK_SPACE_H_

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gpu/plan/loop_space.h"
#include "gpu/plan/reduction_space.h"
#include "ir/analysis/recurrent_loop.h"

namespace hlo::gpu {

// A kernel of the region: reductions to one element, or loops over elements.
struct BlockPart {
  explicit BlockPart(const Instruction& inst) : body(inst), state_of_root(body.roots().size(), -1) {}

  FusionBody body;
  LoopSpaces loops;
  std::unique_ptr<ReductionSpace> reduction;
  // If a cluster shares the loop: the product whose sum the `loops` read as node `sum`.
  const RecurrentLoop::Product* product = nullptr;
  NodeId sum = -1;
  // The element of the surrounding loop's state that each root overwrites, or -1.
  std::vector<int> state_of_root;
};

struct BlockSpace {
  std::unordered_map<const Instruction*, std::unique_ptr<BlockPart>> parts;
  int64_t most_elements = 1;  // Elements of the largest kernel.
  bool has_loops = false;
  std::optional<RecurrentLoop> recurrent;  // Set if a cluster shares the loop.
};

// With `in_cluster`, a cluster of blocks shares the region's only loop. Errors (kUnsupported): a kernel of kind `block`
// cannot run the region.
Result<std::unique_ptr<BlockSpace>> BlockSpaceOf(const Instruction& region, bool in_cluster = false);

// The region's only loop. Null if the region has several loops, or a kernel outside the loop.
const Instruction* OnlyLoopOf(const Instruction& region);

// Whether the loop's body returns this element of its state unchanged.
bool IsPassedOn(const Instruction& loop, int64_t element);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_BLOCK_SPACE_H_
