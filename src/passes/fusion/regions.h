// Kernels of one computation that are to become regions (ir/region.h), before any of them does: groups of launches, and
// who waits for whom. A strategy, a file beside this one, asks and joins; Build makes a region of each group of several
// launches.
#ifndef HLO_PASSES_FUSION_REGIONS_H_
#define HLO_PASSES_FUSION_REGIONS_H_

#include <functional>
#include <string_view>
#include <vector>

#include "ir/instruction.h"
#include "passes/fusion/wait_graph.h"

namespace hlo {

// A launch: what runs as a kernel or library call, or a loop of such.
bool IsLaunch(const Instruction& inst);
// The launch whose results the value names a part of, through get-tuple-elements, bitcasts and the tuple that a loop
// begins with; itself when it is one; else null.
Instruction* LaunchOf(Instruction& value);

// Does anyone but the launches read the value, by any of its names or as an element?
bool IsReadByOthers(const Instruction& value, const std::vector<const Instruction*>& launches);

class RegionGraph {
 public:
  explicit RegionGraph(Computation& computation);

  // Launches that may join others, operands before users: nobody waits for them but for their values, and they act on
  // nothing else.
  const std::vector<Instruction*>& launches() const { return launches_; }

  // Of the group, by one of them.
  const std::vector<Instruction*>& LaunchesOf(const Instruction& launch) { return members_[GroupOf(launch)]; }
  bool AreOne(const Instruction& a, const Instruction& b) { return GroupOf(a) == GroupOf(b); }
  // Launches of other groups that members of the group read from, each once.
  std::vector<Instruction*> Producers(const Instruction& launch);

  // Could the two groups be one without waiting for themselves? Different ones.
  bool CanJoin(const Instruction& a, const Instruction& b) {
    return waits_.WaitsRoundAbout(a, b) == nullptr && waits_.WaitsRoundAbout(b, a) == nullptr;
  }
  // Does neither wait for the other?
  bool AreIndependent(const Instruction& a, const Instruction& b) {
    return !waits_.WaitsFor(a, b) && !waits_.WaitsFor(b, a);
  }
  void Join(const Instruction& a, const Instruction& b);

  // What the group reads from outside, and what it makes that others read.
  int64_t PointerCount(const Instruction& launch);

  // Regions of the groups that `is_one` takes. True when there was one.
  bool Build(std::string_view kind, const std::function<bool(const std::vector<Instruction*>&)>& is_one);

 private:
  int GroupOf(const Instruction& inst);

  Computation& computation_;
  const std::vector<Instruction*> order_;
  std::vector<Instruction*> launches_;
  WaitGraph waits_;
  std::vector<int> part_of_;  // By place: a launch that its group has; itself, if it stands for it.
  std::vector<std::vector<Instruction*>> members_;  // By place of that: the launches, in no order.
  int64_t count_ = 0;                               // Counts of pointers so far,
  std::vector<int64_t> counted_;                    // and, by place, the last in which a value was.
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_REGIONS_H_
