// The iteration space of a scan kernel.
#ifndef HLO_GPU_PLAN_SCAN_SPACE_H_
#define HLO_GPU_PLAN_SCAN_SPACE_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"
#include "gpu/plan/iteration_space.h"
#include "ir/analysis/running_fold.h"

namespace hlo::gpu {

// The scanned operand's elements. One variable is scanned, in the order of the scan: in a reverse scan 0 is the last
// element.
struct ScanSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  struct Hero {
    const Instruction* inst;
    std::vector<NodeId> inputs, initial;
    std::vector<kernel::Type> types, accumulators;
    std::vector<NodeId> given;
  };

  RunningFold fold;
  std::vector<Hero> heroes;

  const Variable& scanned() const;
  bool ScansMinor() const { return minor().role == Role::kScanned; }

  std::vector<NodeId> Inputs() const;   // Needed in each step.
  std::vector<NodeId> Initial() const;  // Needed before the first step.
  std::vector<NodeId> Needed() const;
  std::vector<IndexExpr> Offsets() const;
};

// Returns null and sets `why_not` if the running folds differ in direction or dimensions, or if the kernel cannot write
// a root.
Result<std::unique_ptr<ScanSpace>> ScanSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCAN_SPACE_H_
