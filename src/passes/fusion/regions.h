// Groups of launches of one computation that shall become regions (ir/analysis/region.h). A strategy, another file in
// this folder, joins them. A region that no planner or library takes runs kernel by kernel.
#ifndef HLO_PASSES_FUSION_REGIONS_H_
#define HLO_PASSES_FUSION_REGIONS_H_

#include <functional>
#include <string_view>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/wait_graph.h"

namespace hlo {

// Whether `inst` is a kernel, library call, copy or loop.
bool IsLaunch(const Instruction& inst);
// The launch that computes the value, behind get-tuple-elements and bitcasts, or null. The initial tuple of a loop
// gives the loop.
Instruction* LaunchOf(Instruction& value);

// Whether other instructions than `launches` read the value or a part of it.
bool IsReadByOthers(const Instruction& value, const std::vector<const Instruction*>& launches);

class RegionGraph {
 public:
  explicit RegionGraph(Computation& computation);

  // Launches that may join others, operands before users. They are used, and have no control edges or side effects.
  const std::vector<Instruction*>& launches() const { return launches_; }

  const std::vector<Instruction*>& LaunchesOf(const Instruction& launch) { return members_[GroupOf(launch)]; }
  bool AreOne(const Instruction& a, const Instruction& b) { return GroupOf(a) == GroupOf(b); }
  // One launch of each other group that the group reads from.
  std::vector<Instruction*> Producers(const Instruction& launch);

  // Whether two groups can be merged without a dependency cycle.
  bool CanJoin(const Instruction& a, const Instruction& b) {
    return waits_.InstructionBetween(a, b) == nullptr && waits_.InstructionBetween(b, a) == nullptr;
  }
  bool AreIndependent(const Instruction& a, const Instruction& b) {
    return !waits_.IsReachable(a, b) && !waits_.IsReachable(b, a);
  }
  void Join(const Instruction& a, const Instruction& b);

  // The number of values that the group reads or computes.
  int64_t PointerCount(const Instruction& launch);

  // Makes regions of the groups that `is_one` accepts. Returns whether it made any.
  bool Build(std::string_view kind, const std::function<bool(const std::vector<Instruction*>&)>& is_one);

 private:
  int GroupOf(const Instruction& inst);

  Computation& computation_;
  const std::vector<Instruction*> order_;
  std::vector<Instruction*> launches_;
  WaitGraph waits_;
  // A union-find tree, by place. The representative points to itself.
  std::vector<int> part_of_;
  // Unordered launches of the group, by the representative's place.
  std::vector<std::vector<Instruction*>> members_;
  int64_t count_ = 0;             // Calls of PointerCount.
  std::vector<int64_t> counted_;  // The last call that counted the value, by place.
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_REGIONS_H_
