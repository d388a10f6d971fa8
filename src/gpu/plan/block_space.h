// What a kernel of kind `block` goes through: the kernels of a region (ir/region.h), each with the space of its
// elements, and where those of a loop's body write onto the loop's state.
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

// One kernel of the region: what it reduces to one element, or its loops over elements, one after the other.
struct BlockPart {
  explicit BlockPart(const Instruction& inst) : body(inst), state_of_root(body.roots().size(), -1) {}

  FusionBody body;
  LoopSpaces loops;
  std::unique_ptr<ReductionSpace> reduction;
  // Of a cluster: the product, of which `loops` are given the sums as `sum`.
  const RecurrentLoop::Product* product = nullptr;
  NodeId sum = -1;
  // By root: the element of the state of the loop around it where it is written, each element or, of an update in
  // place, those that change; nothing reads there any more what was there before. -1: it lies elsewhere.
  std::vector<int> state_of_root;
};

struct BlockSpace {
  std::unordered_map<const Instruction*, std::unique_ptr<BlockPart>> parts;
  int64_t most_elements = 1;  // That one kernel goes through.
  bool has_loops = false;
  std::optional<RecurrentLoop> recurrent;  // Of a cluster.
};

// Errors (kUnsupported): something in the region has no place in such a kernel. `in_cluster`: of the blocks of a
// cluster, which share the only loop.
Result<std::unique_ptr<BlockSpace>> BlockSpaceOf(const Instruction& region, bool in_cluster = false);

// The loop that is all there is in the region; null where there is something else.
const Instruction* OnlyLoopOf(const Instruction& region);

// Does the loop's body hand on this element of its state as it is?
bool IsHandedOn(const Instruction& loop, int64_t element);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_BLOCK_SPACE_H_
