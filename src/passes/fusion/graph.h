// Groups of instructions of one computation that shall share a kernel: docs/architecture.md#fusion.
//
// At most one group stores an instruction, that is, writes its value to memory. Any number may compute a copy. The
// computation does not change until Outline makes a fusion of each group.
#ifndef HLO_PASSES_FUSION_GRAPH_H_
#define HLO_PASSES_FUSION_GRAPH_H_

#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attrs.h"
#include "ir/instruction.h"
#include "passes/fusion/cost.h"
#include "passes/fusion/log.h"
#include "passes/fusion/wait_graph.h"
#include "passes/pass.h"

namespace hlo {

using GroupId = int;
inline constexpr GroupId kNoGroup = -1;

// Indexed by place: whether the root or a side effect depends on the instruction. Strategies leave the others, such as
// originals that an earlier run copied, to dce.
std::vector<bool> NeededPlaces(const Computation& computation, std::span<Instruction* const> order);
// Needed instructions, operands and control predecessors first.
std::vector<Instruction*> NeededOrder(Computation& computation);

class FusionGraph {
 public:
  // `order` must contain all needed instructions, in the order of NeededOrder. Decisions are logged for the file
  // `where`.
  FusionGraph(Computation& computation, std::vector<Instruction*> order, const PassContext& context,
              const std::source_location& where = std::source_location::current());

  const std::vector<Instruction*>& order() const { return order_; }
  bool logging() const { return log_ != nullptr || logs_why_; }
  bool IsNeeded(const Instruction& inst) const { return position_[inst.place()] >= 0; }

  // Opens a group that stores `root`. If `root` is a fusion, its instructions are merged with later members. `why`: why
  // the users' groups do not compute `root`.
  GroupId Open(Instruction& root, const FusionNote* why = nullptr);
  // Lets `group` compute `producer` instead of reading it. `evaluations` counts the computed elements, with
  // repetitions.
  void Copy(Instruction& producer, GroupId group, double evaluations, FusionReason why);
  // Lets `group` compute the members of `from`, `times` as often as `from` does, instead of reading its result. `from`
  // stays for its other users.
  void CopyGroup(GroupId from, GroupId group, double times, FusionReason why);
  // Removes a group whose result has no readers. Its instructions stay until dce.
  void Dissolve(GroupId group);
  // Merges `b` into `a`. There must be no path between them through a third group.
  void Union(GroupId a, GroupId b, const FusionNote& why);
  // The Keep functions only log why groups stay apart, or why `kernel`, without a group, joins no kernel.
  void KeepApart(GroupId a, GroupId b, const FusionNote& why);
  void KeepAlone(GroupId group, const FusionNote& why);
  void KeepFromAll(const Instruction& kernel, const FusionNote& why);

  // The root, then members in the order of joining. Empty if the group was merged into another or dissolved.
  const std::vector<Instruction*>& Members(GroupId group) const { return groups_[group].members; }
  // The group that stores the value, or kNoGroup. Elements of a tuple belong to its group.
  GroupId GroupOf(const Instruction& value) const {
    return group_of_[(value.Is(Opcode::kGetTupleElement) ? value.operand(0) : value).place()];
  }

  // Whether `group` depends on `before`, also through instructions in no group.
  bool IsReachable(GroupId group, GroupId before) { return Waits().IsReachable(Root(group), Root(before)); }
  // An instruction of a third group through which `group` depends on `before`, or null.
  const Instruction* InstructionBetween(GroupId group, GroupId before) {
    return Waits().InstructionBetween(Root(group), Root(before));
  }

  // The number of values that the group reads but does not compute. After a union, this includes values that one part
  // stores and the other reads.
  int64_t ReadCount(GroupId group) const { return groups_[group].read_count; }
  int64_t ReadCountOfUnion(GroupId a, GroupId b) const;
  GroupCost CostOf(GroupId group) const { return CostOfUnion(group, group); }
  GroupCost CostOfUnion(GroupId a, GroupId b) const;
  GroupCost CostWithCopy(GroupId from, GroupId group, double times) const;

  struct Shape {
    FusionKind kind;
    std::string name;  // "loop_add" for fused_loop_add and loop_add_fusion.
  };
  // Makes a fusion of each group that is not a single fusion, in the order of the roots. Returns whether it made any.
  // The graph must not be used afterwards.
  bool Outline(const std::function<Shape(GroupId)>& shape_of);

 private:
  struct Read {
    int place;
    double bytes;  // Bytes that all members together read. Negative if the group computes the value.
  };
  struct Group {
    std::vector<Instruction*> members;
    std::vector<Read> reads;  // Sorted by place.
    int64_t read_count = 0;   // Excludes values computed in the group.
    double work = 0;
  };
  // The groups that contain an instruction. `ids` is the xor of their ids: the group's id if there is only one.
  struct Holders {
    int count = 0;
    GroupId ids = 0;

    bool IsOne(GroupId id) const { return count == 1 && ids == id; }
    void Add(GroupId id) { ++count, ids ^= id; }
    void Remove(GroupId id) { --count, ids ^= id; }
  };
  struct Joined {
    GroupId group;
    FusionReason reason;
    const Instruction* inst;
  };
  struct Noted {
    // `other` is kNoGroup for a note about `group` alone, and both are kNoGroup for a note about `root` and all others.
    GroupId group, other;
    const Instruction* root;  // Root of `other`, otherwise of `group`, when the note was made.
    FusionNote note;
    double bytes;
  };

  void Say(const Instruction& inst, std::string_view became, const FusionNote& why) const;
  Instruction& Root(GroupId group) const { return *groups_[group].members.front(); }
  WaitGraph& Waits();
  void AddReads(const Instruction& member, Group* group);
  void AddCopy(Instruction& producer, GroupId group);
  static void IsMade(const Instruction& value, Group* group);
  double BytesRead(GroupId a, GroupId b) const;
  double BytesStored(GroupId a, GroupId b) const;
  bool IsStored(const Instruction& value, GroupId a, GroupId b) const;
  void AddStoredValues(GroupId a, GroupId b, std::vector<Instruction*>* values) const;
  double BytesSaved(GroupId a, GroupId b) const;
  GroupId Find(GroupId group) const;
  void StartLog();
  void WriteLog();
  bool AddNote(const std::string& name, const FusionLog::Note& note);  // False if it exists already.
  void WriteMembers(GroupId id, const std::vector<int>& copies);

  Computation& computation_;
  const std::vector<Instruction*> order_;
  FusionLog* const log_;
  const std::source_location where_;
  const bool logs_why_;
  std::vector<int> position_;      // Indexed by place. -1 if not needed.
  std::vector<GroupId> group_of_;  // The group that stores the value, by place.
  std::vector<Holders> held_by_;   // The groups that compute it, by place.
  std::vector<Group> groups_;
  std::vector<GroupId> part_of_;  // The group that it was merged into.
  std::optional<WaitGraph> waits_;
  std::vector<Read> scratch_;
  // Only for the log.
  std::vector<Joined> joined_;
  std::vector<Noted> noted_;
  std::vector<std::string> names_;
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_GRAPH_H_
