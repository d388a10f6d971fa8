// The parts of a kernel of kind `block`: the kernels of a region (ir/region.h), each with its iteration space.
#ifndef HLO_GPU_PLAN_BLOCK_SPACE_H_
#define HLO_GPU_PLAN_BLOCK_SPACE_H_

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gpu/plan/loop_space.h"
#include "gpu/plan/reduction_space.h"
#include "ir/recurrent_loop.h"

namespace hlo::gpu {

// A kernel of the region: a reduction to one element, or loops over elements.
struct BlockPart {
  explicit BlockPart(const Instruction& inst) : body(inst), state_of_root(body.roots().size(), -1) {}

  FusionBody body;
  LoopSpaces loops;
  std::unique_ptr<ReductionSpace> reduction;
  // For a cluster: the product whose sums the `loops` read as `sum`.
  const RecurrentLoop::Product* product = nullptr;
  NodeId sum = -1;
  // Indexed by root: the element of the surrounding loop's state where the root is written after all reads. -1 if it is
  // stored elsewhere.
  std::vector<int> state_of_root;
};

struct BlockSpace {
  std::unordered_map<const Instruction*, std::unique_ptr<BlockPart>> parts;
  int64_t most_elements = 1;  // The most elements of one kernel.
  bool has_loops = false;
  std::optional<RecurrentLoop> recurrent;  // For a cluster.
};

// Errors (kUnsupported): such a kernel cannot run the region. With `in_cluster`, a cluster of blocks shares the only
// loop.
Result<std::unique_ptr<BlockSpace>> BlockSpaceOf(const Instruction& region, bool in_cluster = false);

// The loop of a region that contains nothing else, or null.
const Instruction* OnlyLoopOf(const Instruction& region);

// Whether the loop's body passes this element of the state on unchanged.
bool IsPassedOn(const Instruction& loop, int64_t element);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_BLOCK_SPACE_H_
