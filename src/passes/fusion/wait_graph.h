// Groups of instructions of one computation and who waits for whom, while groups are joined. At first each instruction
// is a group of its own.
#ifndef HLO_PASSES_FUSION_WAIT_GRAPH_H_
#define HLO_PASSES_FUSION_WAIT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class WaitGraph {
 public:
  // `order` holds all instructions of the computation, operands and control predecessors first.
  explicit WaitGraph(const std::vector<Instruction*>& order);

  // Is there a way of operands and control predecessors from the group of `inst` back to that of `before`, which is
  // another? Looks at what stands between the two, once for all questions about the same `before` in a row.
  bool WaitsFor(const Instruction& inst, const Instruction& before);

  // Makes one group of two. There must be no way from one to the other through a third.
  void Join(const Instruction& a, const Instruction& b);

 private:
  struct Group {
    std::vector<int> members;  // Instructions, by their number in the order...
    std::vector<int> before;   // ...and their operands and control predecessors.
    int position = 0;          // Behind those of all groups that this one waits for.
    int64_t seen = 0;          // By the last search that came here,
    bool waits = false;        // and what it found.
  };

  int GroupOf(const Instruction& inst) const { return group_of_[number_of_[inst.place()]]; }
  bool Search(int from, int lowest, int target);

  std::vector<int> number_of_;  // By place.
  std::vector<int> group_of_;   // By number.
  std::vector<Group> groups_;
  std::vector<int> at_;  // Groups by position; -1: none any more.
  int64_t search_ = 0;
  int target_ = -1;  // Of that search; -1: what it found is out of date.
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_WAIT_GRAPH_H_
