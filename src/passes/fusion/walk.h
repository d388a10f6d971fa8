// The elements over which a kernel iterates, before it has a plan (ir/fusion_plan.h). Fusion strategies use it to
// decide whether two kernels can be one. The planners decide the actual kernels; a test compares both.
#ifndef HLO_PASSES_FUSION_WALK_H_
#define HLO_PASSES_FUSION_WALK_H_

#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/log.h"

namespace hlo {

struct Walk {
  Shape iteration;               // The iteration dimensions, row-major: of the reduces' operand, or of the roots.
  std::vector<int64_t> reduced;  // Reduced dimensions of `iteration`; empty if it does not reduce.
  bool reduces = false;
  int64_t instructions = 0;
};

// The walk of a kernel (ir/fusion.h) that can be merged with others. Otherwise returns nullopt and sets `why_not`.
std::optional<Walk> WalkOf(const Instruction& fusion, FusionNote* why_not = nullptr);

// The reason why two kernels do not iterate over the same elements, or nullopt.
std::optional<FusionNote> OtherWalk(const Walk& a, const Walk& b);
// Merges `other`, which iterates over the same elements, into `walk`.
void Join(const Walk& other, Walk* walk);

// Whether only get-tuple-elements use the results of a fusion with several roots.
bool IsUsedByElements(const Instruction& fusion);

// Whether the value of `root`, a root of a kernel, depends on a reduction of it.
bool IsReduced(const Instruction& root);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WALK_H_
