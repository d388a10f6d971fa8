// Groups of instructions of one computation that are to share a kernel, before any of them does.
//
// A strategy (a file beside this one) looks at candidates in an order of its own, and vetoes with a reason. The graph
// knows the rest:
//
//   who waits for whom    WaitsFor, WaitsRoundAbout: would the union of two groups wait for itself?
//   what a group costs    CostOf, CostOfUnion: of a union, too, that does not exist
//   why                   Each join and each veto has a reason (reasons.def), counted, and kept for a log.h
//
// At first no instruction is in a group. One may be in several: as the member that its value is stored from in one at
// most, as a copy in any. The computation stays as it is until Outline, which makes a fusion of each group.
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

// By place: what the computation's root or an effect hangs on. The rest is left to dce: no strategy looks at it, so
// that a second run of one finds what is there, and not what the first one has copied.
std::vector<bool> NeededPlaces(const Computation& computation, std::span<Instruction* const> order);
// What is needed, operands and control predecessors first.
std::vector<Instruction*> NeededOrder(Computation& computation);

class FusionGraph {
 public:
  // `order` holds all instructions that are needed, operands and control predecessors first.
  // Decisions are logged as those of the file `where`.
  FusionGraph(Computation& computation, std::vector<Instruction*> order, const PassContext& context,
              const std::source_location& where = std::source_location::current());

  const std::vector<Instruction*>& order() const { return order_; }
  bool logging() const { return log_ != nullptr || logs_why_; }
  bool IsNeeded(const Instruction& inst) const { return position_[inst.place()] >= 0; }

  // A group that stores the value of `root`: an instruction, or a fusion, which is taken apart when others join it.
  // `why` its users' groups do not compute it themselves, where that was a question.
  GroupId Open(Instruction& root, const FusionNote* why = nullptr);
  // `group`, which reads the producer's value, computes it itself: so many elements, those computed again counted
  // again.
  void Copy(Instruction& producer, GroupId group, double evaluations, FusionReason why);
  // `group`, which reads what `from` stores, computes all that `from` computes itself, `times` as often as that. `from`
  // stays, for others that read it.
  void CopyGroup(GroupId from, GroupId group, double times, FusionReason why);
  // Nobody reads what the group stores any more: it is none. Its instructions stay until dce.
  void Dissolve(GroupId group);
  // `b` becomes part of `a`. No way may lead from one to the other through a third.
  void Union(GroupId a, GroupId b, const FusionNote& why);
  void KeepApart(GroupId a, GroupId b, const FusionNote& why);
  void KeepAlone(GroupId group, const FusionNote& why);
  // A kernel in no group, that joins no other.
  void KeepFromAll(const Instruction& kernel, const FusionNote& why);

  // The root it was opened with, then others in the order in which they came. Empty: it is part of another.
  const std::vector<Instruction*>& Members(GroupId group) const { return groups_[group].members; }
  // The group that stores the value, for an element of a tuple that of the tuple; or kNoGroup.
  GroupId GroupOf(const Instruction& value) const {
    return group_of_[(value.Is(Opcode::kGetTupleElement) ? value.operand(0) : value).place()];
  }

  // Does the group wait for the other one, directly or not? The same of an instruction in no group.
  bool WaitsFor(GroupId group, GroupId before) { return Waits().WaitsFor(Root(group), Root(before)); }
  // Through a third: what the group needs of that, or null. Where it does, the two cannot be one.
  const Instruction* WaitsRoundAbout(GroupId group, GroupId before) {
    return Waits().WaitsRoundAbout(Root(group), Root(before));
  }

  // Values that members read and no copy in the group makes. What one member stores for another counts.
  int64_t ReadCount(GroupId group) const { return groups_[group].read_count; }
  int64_t ReadCountOfUnion(GroupId a, GroupId b) const;
  GroupCost CostOf(GroupId group) const { return CostOfUnion(group, group); }
  GroupCost CostOfUnion(GroupId a, GroupId b) const;
  // What CopyGroup would make of `group`.
  GroupCost CostWithCopy(GroupId from, GroupId group, double times) const;

  struct Shape {
    FusionKind kind;
    std::string name;  // "loop_add" of fused_loop_add and loop_add_fusion.
  };
  // Makes a fusion of each group, but of one that is a single fusion already. In order of the instructions that they
  // were opened with. True when there was one to make. The graph is done then.
  bool Outline(const std::function<Shape(GroupId)>& shape_of);

 private:
  struct Read {
    int place;     // Of the value.
    double bytes;  // Of it, as members read it together; below 0: it is made in the group by now.
  };
  struct Group {
    std::vector<Instruction*> members;
    std::vector<Read> reads;  // By place.
    int64_t read_count = 0;   // Less those made in the group.
    double work = 0;
  };
  // Which groups an instruction is in, as far as it is asked: one id is their xor.
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
    GroupId group, other;     // other: kNoGroup when it is about the group alone. Both: about `root` and all others.
    const Instruction* root;  // Of the other, as it was then; or of the group.
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
  bool AddNote(const std::string& name, const FusionLog::Note& note);  // Unless it is there.
  void WriteMembers(GroupId id, const std::vector<int>& copies);

  Computation& computation_;
  const std::vector<Instruction*> order_;
  FusionLog* const log_;
  const std::source_location where_;
  const bool logs_why_;            // Somebody reads decisions as they are made.
  std::vector<int> position_;      // In the order, by place; -1: it is not needed.
  std::vector<GroupId> group_of_;  // By place: who stores it...
  std::vector<Holders> held_by_;   // ...and who computes it.
  std::vector<Group> groups_;
  std::vector<GroupId> part_of_;    // By group: the one that it was joined to.
  std::optional<WaitGraph> waits_;  // From the first question or union on.
  std::vector<Read> scratch_;       // Of AddReads.
  // For the log, if there is one.
  std::vector<Joined> joined_;
  std::vector<Noted> noted_;
  std::vector<std::string> names_;  // By group: of its fusion.
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_GRAPH_H_
