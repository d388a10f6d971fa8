// The elements over which a kernel iterates, before it has a plan (ir/fusion_plan.h). Fusion strategies merge kernels
// with equal walks, planners decide the actual kernels, and a test compares both.
#ifndef HLO_PASSES_FUSION_WALK_H_
#define HLO_PASSES_FUSION_WALK_H_

#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/log.h"

namespace hlo {

struct Walk {
  Shape iteration;               // Row-major dimensions of the reduces' operand, otherwise of the roots.
  std::vector<int64_t> reduced;  // Dimensions of `iteration`.
  bool reduces = false;
  int64_t instructions = 0;
};

// Returns nullopt and sets `why_not` if a kernel (ir/fusion.h) cannot be merged with others.
std::optional<Walk> WalkOf(const Instruction& fusion, FusionNote* why_not = nullptr);

// Why two kernels iterate over different elements, or nullopt if they do not.
std::optional<FusionNote> OtherWalk(const Walk& a, const Walk& b);
// Adds the kernel of `other` to `walk`. Both must iterate over the same elements.
void Join(const Walk& other, Walk* walk);

// Whether the result is an array, or only get-tuple-elements use it.
bool IsUsedByElements(const Instruction& fusion);

// Whether the first hero that is reached from `root`, through elementwise instructions, reshapes and bitcasts, is a
// reduction. Other heroes are running folds, and transposes of the minor dimension.
bool IsReduced(const Instruction& root);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WALK_H_
