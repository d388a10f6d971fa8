// Groups of instructions of one computation and who waits for whom, while groups are joined. At first each instruction
// is a group of its own, but one with the elements of its tuple.
#ifndef HLO_PASSES_FUSION_WAIT_GRAPH_H_
#define HLO_PASSES_FUSION_WAIT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class WaitGraph {
 public:
  // `order` holds all instructions of the computation, operands and control predecessors first. Neither it nor they
  // change while the graph is asked.
  explicit WaitGraph(const std::vector<Instruction*>& order);

  // Is there a way of operands and control predecessors from the group of `inst` back to that of `before`, which is
  // another? Looks at what stands between the two, once for all questions about the same `before` in a row.
  bool WaitsFor(const Instruction& inst, const Instruction& before);
  // The same by way of a third group: an instruction of it that the group of `inst` needs itself, or null.
  const Instruction* WaitsRoundAbout(const Instruction& inst, const Instruction& before);

  // Makes one group of two. There must be no way from one to the other through a third. Costs what the later one waits
  // for that stands behind the earlier one, and its logarithm.
  void Join(const Instruction& a, const Instruction& b);

 private:
  // The groups stand in a list, each behind all that it waits for. A label says where: some number between those of its
  // neighbours.
  struct Group {
    int size = 1;  // Members.
    int previous = -1, next = -1;
    int64_t label = 0;
    int64_t seen = 0;    // By the last search that came here,
    bool waits = false;  // and what it found.
  };

  int GroupOf(const Instruction& inst) const { return group_of_[number_of_[inst.place()]]; }
  // Number `index` of what instruction number `member` waits for: operands, then control predecessors; null behind
  // them.
  const Instruction* Before(int member, size_t index) const;
  bool Search(int from, int64_t lowest, int target);
  void Unlink(int group);
  void LinkBefore(int group, int next);
  void Relabel();

  const std::vector<Instruction*>& order_;
  std::vector<int> number_of_;    // In the order, by place.
  std::vector<int> group_of_;     // By number. A group has the number of a member.
  std::vector<int> next_member_;  // By number: a ring.
  std::vector<Group> groups_;
  int first_ = -1;
  std::vector<int> found_;  // The groups that the last search without a target went through.
  int64_t search_ = 0;
  int target_ = -1;  // Of the last search; -1: what it found is out of date.
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WAIT_GRAPH_H_
