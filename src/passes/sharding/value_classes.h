// Leaves of values that always have the same split: a loop's state in each of its computations, an operand of a call
// and its parameter, an element of a tuple, and the members of a sharding group.
#ifndef HLO_PASSES_SHARDING_VALUE_CLASSES_H_
#define HLO_PASSES_SHARDING_VALUE_CLASSES_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace hlo {

// The entry, and the computations that its control flow calls, callees first. Others, such as reducers, work on
// elements, which have no split.
std::vector<Computation*> ComputationsOnArrays(const Module& module);

// Whether the instruction only adds its operand to a group of values with one split.
bool IsShardingGroup(const Instruction& inst);

class ValueClasses {
 public:
  explicit ValueClasses(const Module& module);

  int count() const { return count_; }
  int Of(const Instruction& inst, int64_t leaf) const { return class_of_[first_leaf_[inst.id()] + leaf]; }
  // Whether all operands and results share classes with others, so that no factor rule is needed.
  static bool TiesAll(const Instruction& inst);

 private:
  // xla.sdy.ShardingGroup, shard_as and shard_like number their groups apart from each other.
  enum class GroupedBy : uint8_t { kShardy, kAs, kLike };
  using GroupKey = std::pair<GroupedBy, int64_t>;
  struct Member {
    const Instruction* inst;
    int64_t leaf;
    const Shape* shape;
  };

  void Tie(const Instruction& a, int64_t first_a, const Instruction& b, int64_t first_b, int64_t count);
  void TieAll(const Instruction& a, const Instruction& b);
  void TieParameters(const Instruction& caller, int64_t first_operand, const Computation& computation);
  void TieInstruction(const Instruction& inst);
  void TieGroups(const Instruction& inst);
  void AddToGroup(const GroupKey& group, const Member& member);
  int Root(int node);

  int count_ = 0;
  std::vector<int> first_leaf_;        // Indexed by instruction.
  std::vector<int> class_of_;          // Indexed by leaf. While the classes are built, a leaf's parent.
  std::map<GroupKey, Member> groups_;  // The first member of each group.
};

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_VALUE_CLASSES_H_
