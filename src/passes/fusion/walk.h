// The elements over which a kernel iterates, before it has a plan (ir/fusion_plan.h). Fusion strategies merge kernels
// with equal walks. The planners decide the actual kernels; a test compares both.
#ifndef HLO_PASSES_FUSION_WALK_H_
#define HLO_PASSES_FUSION_WALK_H_

#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/log.h"

namespace hlo {

struct Walk {
  Shape iteration;               // Row-major dimensions of the reduces' operand, or of the roots.
  std::vector<int64_t> reduced;  // Dimensions of `iteration`.
  bool reduces = false;
  int64_t instructions = 0;
};

// If a kernel (ir/fusion.h) cannot be merged with others, returns nullopt and sets `why_not`.
std::optional<Walk> WalkOf(const Instruction& fusion, FusionNote* why_not = nullptr);

// The reason why two kernels do not iterate over the same elements, or nullopt.
std::optional<FusionNote> OtherWalk(const Walk& a, const Walk& b);
// `other` iterates over the same elements.
void Join(const Walk& other, Walk* walk);

// Whether only get-tuple-elements use the results.
bool IsUsedByElements(const Instruction& fusion);

// Whether a root depends on a reduction of its kernel.
bool IsReduced(const Instruction& root);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WALK_H_
