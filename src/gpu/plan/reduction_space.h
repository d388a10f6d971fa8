// What a reduction kernel iterates over.
#ifndef HLO_GPU_PLAN_REDUCTION_SPACE_H_
#define HLO_GPU_PLAN_REDUCTION_SPACE_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"
#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// A reduce that a kernel gives: what goes in for each element, and where what comes of it is used. Types by part.
struct ReducedHero {
  const Instruction* inst = nullptr;
  std::vector<NodeId> inputs, initial;
  std::vector<kernel::Type> types, accumulators;
  std::vector<NodeId> given;  // Its uses.
};

// What is reduced, over which variables: those of the reduces' operand. `outputs` have one element for each result of
// the reduction, after it.
struct ReductionSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  using Hero = ReducedHero;

  std::vector<Hero> heroes;
  std::vector<Output> stores;  // Written on the way, for each element that is reduced.

  std::vector<const ReducedHero*> Heroes() const;
  std::vector<NodeId> Inputs() const;     // What is needed on the way...
  std::vector<NodeId> Epilogues() const;  // ...and at its end.
  std::vector<NodeId> Needed() const;
  std::vector<IndexExpr> Offsets() const;
};

// The space that the reduces `heroes` walk. Null, and why, when they are not over the same dimensions of equal arrays,
// or some root is none of what such a kernel writes.
Result<std::unique_ptr<ReductionSpace>> ReductionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& heroes,
                                                         std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_REDUCTION_SPACE_H_
