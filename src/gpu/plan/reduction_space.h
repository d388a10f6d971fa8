// The iteration space of a reduction kernel.
#ifndef HLO_GPU_PLAN_REDUCTION_SPACE_H_
#define HLO_GPU_PLAN_REDUCTION_SPACE_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"
#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// A reduce in a kernel. Complex numbers have a type for each part.
struct ReducedHero {
  const Instruction* inst = nullptr;
  std::vector<NodeId> inputs, initial;
  std::vector<kernel::Type> types, accumulators;
  std::vector<NodeId> given;
};

// The variables index the operand. `outputs` have an element for each result.
struct ReductionSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  using Hero = ReducedHero;

  std::vector<Hero> heroes;
  std::vector<Output> stores;  // Outputs with the size of the operand.

  std::vector<const ReducedHero*> Heroes() const;
  std::vector<NodeId> Inputs() const;     // Computed for each element of the operand.
  std::vector<NodeId> Epilogues() const;  // Computed for each result.
  std::vector<NodeId> Needed() const;
  std::vector<IndexExpr> Offsets() const;
};

// Returns null and sets `why_not` if the reduces have different operand sizes or dimensions, or if the kernel cannot
// write a root.
Result<std::unique_ptr<ReductionSpace>> ReductionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& heroes,
                                                         std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_REDUCTION_SPACE_H_
