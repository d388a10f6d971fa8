// What kernels go through, as strategies of fusion see it before there is a plan (ir/fusion_plan.h): what two kernels
// must have in common to become one. The planners decide what a kernel is; a test holds what is said here to their
// plans.
#ifndef HLO_PASSES_FUSION_WALK_H_
#define HLO_PASSES_FUSION_WALK_H_

#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/log.h"

namespace hlo {

struct Walk {
  Shape iteration;  // The elements that it goes through, row-major: of the reduces' operand, or of the roots.
  std::vector<int64_t> reduced;  // Dimensions of that; empty when it does not reduce.
  bool reduces = false;
  int64_t instructions = 0;
};

// Of a kernel (ir/fusion.h) that may become one with others; null, and why not, of one that goes its own way.
std::optional<Walk> WalkOf(const Instruction& fusion, FusionNote* why_not = nullptr);

// Why two kernels do not walk the same elements, if they do not.
std::optional<FusionNote> OtherWalk(const Walk& a, const Walk& b);
// `walk` becomes that of both, which walk the same elements.
void Join(const Walk& other, Walk* walk);

// Its results, where it has several, are taken by get-tuple-elements only; else they are one value to whoever has them.
bool TakenOneByOne(const Instruction& fusion);

// Is the value of `root`, which is one of a kernel's, made when the walk is over?
bool IsReduced(const Instruction& root);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WALK_H_
