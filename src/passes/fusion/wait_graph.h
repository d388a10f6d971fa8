// The dependencies between groups of instructions of one computation while groups are merged. Initially an instruction
// and its get-tuple-elements form a group.
#ifndef HLO_PASSES_FUSION_WAIT_GRAPH_H_
#define HLO_PASSES_FUSION_WAIT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class WaitGraph {
 public:
  // `order` must contain all instructions, operands and control predecessors first, and not change while the graph
  // exists.
  explicit WaitGraph(const std::vector<Instruction*>& order);

  // Whether the group of `inst` depends on the group of `before`, another group. Consecutive calls with the same
  // `before` search each group only once.
  bool IsReachable(const Instruction& inst, const Instruction& before);
  // An instruction of a third group between the two groups, or null. The group of `inst` depends on it directly.
  const Instruction* InstructionBetween(const Instruction& inst, const Instruction& before);

  // Merges two groups. There must be no path between them through a third group.
  void Join(const Instruction& a, const Instruction& b);

 private:
  // Groups form a list with increasing labels. Each group follows its dependencies.
  struct Group {
    int size = 1;
    int previous = -1, next = -1;
    int64_t label = 0;
    int64_t seen = 0;    // The last search that reached the group.
    bool waits = false;  // That search found its target among the group's dependencies.
  };

  int GroupOf(const Instruction& inst) const { return group_of_[number_of_[inst.place()]]; }
  // Dependency `index` of member number `member`: operands, then control predecessors, then null.
  const Instruction* Before(int member, size_t index) const;
  bool Search(int from, int64_t lowest, int target);
  void Unlink(int group);
  void LinkBefore(int group, int next);
  void Relabel();

  const std::vector<Instruction*>& order_;
  std::vector<int> number_of_;    // Position in the order, by place.
  std::vector<int> group_of_;     // The group's id, which is the number of a member, by instruction number.
  std::vector<int> next_member_;  // Ring of the group's members, by number.
  std::vector<Group> groups_;
  int first_ = -1;
  std::vector<int> found_;  // Groups that the last search without a target visited.
  int64_t search_ = 0;
  int target_ = -1;  // The last search's target. -1 if its results are out of date.
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WAIT_GRAPH_H_
