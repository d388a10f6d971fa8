// The elements over which a kernel iterates, before it has a plan (ir/fusion_plan.h). Fusion strategies merge kernels
// with equal walks. The planners decide the actual kernels. A test compares both.
#ifndef HLO_PASSES_FUSION_WALK_H_
#define HLO_PASSES_FUSION_WALK_H_

#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/log.h"

namespace hlo {

struct Walk {
  Shape iteration;               // Row-major dimensions of the reduces' operand, or of the roots.
  std::vector<int64_t> reduced;  // Reduced dimensions of `iteration`.
  bool reduces = false;
  int64_t instructions = 0;
};

// If a kernel (ir/fusion.h) cannot be merged with others, returns nullopt and sets `why_not`.
std::optional<Walk> WalkOf(const Instruction& fusion, FusionNote* why_not = nullptr);

// The reason why two kernels do not iterate over the same elements, or nullopt.
std::optional<FusionNote> OtherWalk(const Walk& a, const Walk& b);
// Adds the kernel of `other` to `walk`. Both must iterate over the same elements.
void Join(const Walk& other, Walk* walk);

// Whether the result is an array, or only get-tuple-elements use it.
bool IsUsedByElements(const Instruction& fusion);

// Whether the first hero from `root` is a reduction. The search goes through elementwise instructions, reshapes and
// bitcasts, and also ends at running folds and at transposes of the minor dimension.
bool IsReduced(const Instruction& root);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WALK_H_
