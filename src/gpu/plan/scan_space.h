// What a scan kernel iterates over.
#ifndef HLO_GPU_PLAN_SCAN_SPACE_H_
#define HLO_GPU_PLAN_SCAN_SPACE_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"
#include "gpu/plan/iteration_space.h"
#include "ir/running_fold.h"

namespace hlo::gpu {

// The elements of the operand, of which one variable is scanned: it counts in the order of the scan, so that of one in
// reverse 0 is the last element. All outputs are at the same element.
struct ScanSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  struct Hero {
    const Instruction* inst;
    std::vector<NodeId> inputs, initial;
    std::vector<kernel::Type> types, accumulators;
    std::vector<NodeId> given;  // Its uses in the outputs.
  };

  RunningFold fold;
  std::vector<Hero> heroes;

  // The one in the order of the scan.
  const Variable& scanned() const;
  bool ScansMinor() const { return minor().role == Role::kScanned; }

  std::vector<NodeId> Inputs() const;   // Of each step.
  std::vector<NodeId> Initial() const;  // Before the first.
  std::vector<NodeId> Needed() const;
  std::vector<IndexExpr> Offsets() const;
};

// Null, and why, when the running folds `heroes` are not the same one of equal arrays, or some root is none of what
// such a kernel writes.
Result<std::unique_ptr<ScanSpace>> ScanSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCAN_SPACE_H_
