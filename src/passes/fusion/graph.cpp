#include "passes/fusion/graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ir/analysis/cost.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/fusion/body_reads.h"
#include "passes/fusion/outline.h"
#include "passes/log_why.h"

namespace hlo {
namespace {

constexpr double kMadeInside = -1;  // Read::bytes of a value that the group computes.

// Cost in additions, if each element is computed once.
double WorkOf(const Instruction& inst) {
  if (!IsFusion(inst)) return Elements(inst) * InstructionCost(inst);
  double work = 0;
  for (const Instruction* inner : FusedComputation(inst).instructions())
    work += Elements(inner->Is(Opcode::kReduce) ? inner->operand(0) : *inner) * InstructionCost(*inner);
  return work;
}

// Bytes that a fusion's instructions would move as separate kernels.
double BytesOfBody(const Instruction& fusion) {
  double bytes = 0;
  for (const Instruction* inst : FusedComputation(fusion).instructions()) bytes += BytesMoved(*inst);
  return bytes;
}

}  // namespace

std::vector<bool> NeededPlaces(const Computation& computation, std::span<Instruction* const> order) {
  std::vector<bool> needed(computation.place_limit(), false);
  needed[computation.root().place()] = true;
  for (size_t i = order.size(); i-- > 0;) {
    const Instruction& inst = *order[i];
    if (!needed[inst.place()] && !HasSideEffect(inst)) continue;
    needed[inst.place()] = true;
    for (const Instruction* operand : inst.operands()) needed[operand->place()] = true;
    for (const Instruction* before : inst.control_predecessors()) needed[before->place()] = true;
  }
  return needed;
}

std::vector<Instruction*> NeededOrder(Computation& computation) {
  std::vector<Instruction*> order = computation.PostOrder();
  const std::vector<bool> needed = NeededPlaces(computation, order);
  std::erase_if(order, [&](const Instruction* inst) { return !needed[inst->place()]; });
  return order;
}

FusionGraph::FusionGraph(Computation& computation, std::vector<Instruction*> order, const PassContext& context,
                         const std::source_location& where)
    : computation_(computation),
      order_(std::move(order)),
      log_(context.fusions),
      where_(where),
      logs_why_(internal::VlogLevelOf(where.file_name()) >= 4),
      position_(computation.place_limit(), -1),
      group_of_(computation.place_limit(), kNoGroup),
      held_by_(computation.place_limit()) {
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]->place()] = static_cast<int>(i);
}

void FusionGraph::Say(const Instruction& inst, std::string_view became, const FusionNote& why) const {
  LogWhy(NameOf(why.reason), inst, became, Text(why), where_);
}

WaitGraph& FusionGraph::Waits() {
  if (!waits_) waits_.emplace(order_);
  return *waits_;
}

GroupId FusionGraph::Open(Instruction& root, const FusionNote* why) {
  const auto id = static_cast<GroupId>(groups_.size());
  Group& group = groups_.emplace_back();
  part_of_.push_back(id);
  group_of_[root.place()] = id;
  held_by_[root.place()].Add(id);
  group.members.reserve(4);
  group.members.push_back(&root);
  group.reads.reserve(4);
  group.work = WorkOf(root);
  AddReads(root, &group);
  if (why != nullptr) KeepAlone(id, *why);
  return id;
}

void FusionGraph::Copy(Instruction& producer, GroupId id, double evaluations, FusionReason why) {
  groups_[id].work += evaluations * InstructionCost(producer);
  AddCopy(producer, id);
  if (logs_why_) Say(producer, Str("=> computed in the kernel of ", Root(id).name()), {why, &producer});
  if (log_ == nullptr) return;
  ++log_->counts[static_cast<int>(why)];
  joined_.push_back({id, why, &producer});
}

void FusionGraph::AddCopy(Instruction& producer, GroupId id) {
  Group& group = groups_[id];
  group.members.push_back(&producer);
  held_by_[producer.place()].Add(id);
  IsMade(producer, &group);
  AddReads(producer, &group);
}

void FusionGraph::IsMade(const Instruction& value, Group* group) {
  const auto read = std::ranges::lower_bound(group->reads, value.place(), {}, &Read::place);
  if (read == group->reads.end() || read->place != value.place() || read->bytes < 0) return;
  read->bytes = kMadeInside;
  --group->read_count;
}

void FusionGraph::CopyGroup(GroupId from, GroupId id, double times, FusionReason why) {
  groups_[id].work += times * groups_[from].work;
  const std::vector<Instruction*>& members = groups_[id].members;
  // AddCopy records the reads of users first. Then IsMade() marks values that the group computes itself.
  std::vector<Instruction*> copies = groups_[from].members;
  std::erase_if(copies, [&](const Instruction* copy) { return std::ranges::find(members, copy) != members.end(); });
  std::ranges::sort(copies, std::greater(), [&](const Instruction* copy) { return position_[copy->place()]; });
  for (Instruction* copy : copies) AddCopy(*copy, id);
  for (const Instruction* member : groups_[from].members) IsMade(*member, &groups_[id]);
  if (logs_why_)
    Say(Root(from), Str("and its kernel => merged into the kernel of ", Root(id).name()), {why, &Root(from)});
  if (log_ == nullptr) return;
  ++log_->counts[static_cast<int>(why)];
  joined_.push_back({id, why, &Root(from)});
}

void FusionGraph::Dissolve(GroupId id) {
  for (const Instruction* member : groups_[id].members) {
    held_by_[member->place()].Remove(id);
    if (group_of_[member->place()] == id) group_of_[member->place()] = kNoGroup;
  }
  groups_[id] = Group();
}

// Adds each value that `member` reads once. Scalar constants are copied into the kernel.
void FusionGraph::AddReads(const Instruction& member, Group* group) {
  scratch_.clear();
  for (int64_t i = 0; i < member.operand_count(); ++i) {
    const Instruction& operand = member.operand(i);
    if (!IsFusion(member) && operand.Is(Opcode::kConstant) && operand.shape().IsScalar()) continue;
    scratch_.push_back({operand.place(), hlo::BytesRead(member, i)});
  }
  std::ranges::sort(scratch_, {}, &Read::place);
  for (const Read& read : scratch_) {
    const auto at = std::ranges::lower_bound(group->reads, read.place, {}, &Read::place);
    if (at == group->reads.end() || at->place != read.place) {
      group->reads.insert(at, read);
      ++group->read_count;
      continue;
    }
    if (at->bytes < 0) {
      ++group->read_count;
      at->bytes = 0;
    }
    at->bytes =
        std::min(at->bytes + read.bytes, static_cast<double>(order_[position_[read.place]]->shape().ByteSize()));
  }
}

void FusionGraph::Union(GroupId a, GroupId b, const FusionNote& why) {
  CHECK(a != b && !Members(a).empty() && !Members(b).empty(), "groups ", a, " and ", b);
  if (logs_why_) Say(Root(b), Str("=> one kernel with ", Root(a).name()), why);
  if (log_ != nullptr) {
    ++log_->counts[static_cast<int>(why.reason)];
    noted_.push_back({a, b, &Root(b), why, BytesSaved(a, b)});
  }
  Waits().Join(Root(a), Root(b));
  Group &into = groups_[a], &gone = groups_[b];
  for (Instruction* member : gone.members) {
    GroupId& stored_by = group_of_[member->place()];
    if (stored_by == b) stored_by = a;
    Holders& holders = held_by_[member->place()];
    const bool both = holders.count > 1 && std::ranges::find(into.members, member) != into.members.end();
    holders.Remove(b);
    if (both) continue;
    holders.Add(a);
    into.members.push_back(member);
  }
  into.work += gone.work;
  into.read_count = ReadCountOfUnion(a, b);
  std::vector<Read> reads;
  reads.reserve(into.reads.size() + gone.reads.size());
  std::ranges::merge(into.reads, gone.reads, std::back_inserter(reads), {}, &Read::place, &Read::place);
  size_t kept = 0;
  for (const Read& read : reads) {
    if (read.bytes < 0) continue;
    if (kept > 0 && reads[kept - 1].place == read.place) {
      const auto all = static_cast<double>(order_[position_[read.place]]->shape().ByteSize());
      reads[kept - 1].bytes = std::min(reads[kept - 1].bytes + read.bytes, all);
    } else {
      reads[kept++] = read;
    }
  }
  reads.resize(kept);
  into.reads = std::move(reads);
  gone = Group();
  part_of_[b] = a;
}

void FusionGraph::KeepApart(GroupId a, GroupId b, const FusionNote& why) {
  if (logs_why_ && b == kNoGroup) Say(Root(a), "is stored", why);
  if (logs_why_ && b != kNoGroup) Say(Root(b), Str("stays apart from ", Root(a).name()), why);
  if (log_ == nullptr) return;
  if (b == kNoGroup) noted_.push_back({a, b, &Root(a), why, 0});
  else noted_.push_back({a, b, &Root(b), why, BytesSaved(a, b)});
}

void FusionGraph::KeepAlone(GroupId group, const FusionNote& why) { KeepApart(group, kNoGroup, why); }

void FusionGraph::KeepFromAll(const Instruction& kernel, const FusionNote& why) {
  if (logs_why_) Say(kernel, "joins no other kernel", why);
  if (log_ != nullptr) noted_.push_back({kNoGroup, kNoGroup, &kernel, why, 0});
}

int64_t FusionGraph::ReadCountOfUnion(GroupId a, GroupId b) const {
  const std::vector<Read>&x = groups_[a].reads, &y = groups_[b].reads;
  int64_t count = 0;
  for (size_t i = 0, k = 0; i < x.size() || k < y.size();) {
    const int place = k == y.size() || (i < x.size() && x[i].place < y[k].place) ? x[i].place : y[k].place;
    bool read = false;
    if (i < x.size() && x[i].place == place) read |= x[i++].bytes >= 0;
    if (k < y.size() && y[k].place == place) read |= y[k++].bytes >= 0;
    count += read;
  }
  return count;
}

bool FusionGraph::IsStored(const Instruction& value, GroupId a, GroupId b) const {
  if (value.IsRoot()) return true;
  for (const Instruction* user : value.users()) {
    if (!IsNeeded(*user)) continue;
    const Holders& holders = held_by_[user->place()];
    if (!holders.IsOne(a) && !holders.IsOne(b)) return true;
  }
  return false;
}

// Adds the values that the groups store, in program order. A fusion with several results adds its get-tuple-elements.
void FusionGraph::AddStoredValues(GroupId a, GroupId b, std::vector<Instruction*>* values) const {
  if (a == b && groups_[a].members.size() == 1 && !IsFusion(Root(a))) return values->push_back(&Root(a));
  std::vector<Instruction*> givers;
  for (const GroupId group : {a, b}) {
    for (Instruction* member : groups_[group].members) {
      if (group_of_[member->place()] == group) givers.push_back(member);
    }
    if (a == b) break;
  }
  if (givers.size() == 1 && !IsFusion(*givers.front())) return values->push_back(givers.front());
  std::ranges::sort(givers, {}, [&](const Instruction* giver) { return position_[giver->place()]; });
  for (Instruction* giver : givers) {
    if (!IsFusion(*giver) || !giver->shape().IsTuple()) {
      if (IsStored(*giver, a, b)) values->push_back(giver);
      continue;
    }
    for (Instruction* element : giver->users()) {
      if (IsStored(*element, a, b)) values->push_back(element);
    }
  }
}

double FusionGraph::BytesRead(GroupId a, GroupId b) const {
  double sum = 0;
  const std::vector<Read>&x = groups_[a].reads, &y = groups_[a == b ? a : b].reads;
  const auto add = [&](int place, double bytes) {
    const Instruction& value = *order_[position_[place]];
    const GroupId maker = GroupOf(value);
    if (maker != kNoGroup && (maker == a || maker == b)) return;
    sum += std::min(bytes, static_cast<double>(value.shape().ByteSize()));
  };
  for (size_t i = 0, k = a == b ? y.size() : 0; i < x.size() || k < y.size();) {
    const int place = k == y.size() || (i < x.size() && x[i].place < y[k].place) ? x[i].place : y[k].place;
    double bytes = 0;
    if (i < x.size() && x[i].place == place) bytes += std::max(0.0, x[i++].bytes);
    if (k < y.size() && y[k].place == place) bytes += std::max(0.0, y[k++].bytes);
    add(place, bytes);
  }
  return sum;
}

double FusionGraph::BytesStored(GroupId a, GroupId b) const {
  double sum = 0;
  std::vector<Instruction*> stored;
  AddStoredValues(a, b, &stored);
  for (const Instruction* value : stored) {
    const bool element = value->Is(Opcode::kGetTupleElement) && group_of_[value->place()] == kNoGroup;
    sum += element ? BytesWritten(*FusionRoots(value->operand(0))[value->tuple_index()]) : BytesWritten(*value);
  }
  return sum;
}

GroupCost FusionGraph::CostOfUnion(GroupId a, GroupId b) const {
  return {.bytes_read = BytesRead(a, b),
          .bytes_written = BytesStored(a, b),
          .work = groups_[a].work + (a == b ? 0 : groups_[b].work)};
}

GroupCost FusionGraph::CostWithCopy(GroupId from, GroupId group, double times) const {
  return {.bytes_read = BytesRead(group, from),
          .bytes_written = BytesStored(group, group),
          .work = groups_[group].work + times * groups_[from].work};
}

double FusionGraph::BytesSaved(GroupId a, GroupId b) const {
  return CostOf(a).bytes() + CostOf(b).bytes() - CostOfUnion(a, b).bytes();
}

GroupId FusionGraph::Find(GroupId group) const {
  while (part_of_[group] != group) group = part_of_[group];
  return group;
}

bool FusionGraph::Outline(const std::function<Shape(GroupId)>& shape_of) {
  const auto position = [&](const Instruction* inst) { return position_[inst->place()]; };
  std::vector<GroupId> made;
  for (GroupId id = 0; id < static_cast<GroupId>(groups_.size()); ++id) {
    const std::vector<Instruction*>& members = groups_[id].members;
    if (members.size() > 1 || (members.size() == 1 && !IsFusion(*members.front()))) made.push_back(id);
  }
  std::ranges::sort(made, {}, [&](GroupId id) { return position(&Root(id)); });
  // Stored values are found first, because making fusions changes their users.
  std::vector<Instruction*> values;
  std::vector<size_t> ends;
  for (const GroupId id : made) {
    AddStoredValues(id, id, &values);
    ends.push_back(values.size());
  }
  if (log_ != nullptr) StartLog();
  for (size_t i = 0; i < made.size(); ++i) {
    const Shape shape = shape_of(made[i]);
    std::vector<Instruction*>& members = groups_[made[i]].members;
    std::ranges::sort(members, {}, position);
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    const std::span<Instruction* const> roots(values.data() + begin, ends[i] - begin);
    const Instruction& fusion = hlo::Outline(computation_, members, roots, shape.kind, shape.name);
    if (log_ != nullptr) names_[made[i]] = fusion.name();
  }
  if (log_ != nullptr) WriteLog();
  return !made.empty();
}

void FusionGraph::StartLog() {
  for (const Group& group : groups_) {
    const bool stays = group.members.size() == 1;  // A new fusion gets another name.
    names_.emplace_back(stays ? group.members.front()->name() : std::string_view());
  }
}

void FusionGraph::WriteLog() {
  std::vector<int> copies(position_.size());
  for (const Group& group : groups_) {
    for (const Instruction* member : group.members) ++copies[member->place()];
  }
  for (GroupId id = 0; id < static_cast<GroupId>(groups_.size()); ++id) {
    if (!groups_[id].members.empty()) WriteMembers(id, copies);
  }
  for (const Joined& joined : joined_) {
    if (names_[Find(joined.group)].empty()) continue;  // The group was dissolved.
    std::vector<FusionLog::Note>& notes = log_->groups[names_[Find(joined.group)]].notes;
    auto note = std::ranges::find(notes, joined.reason, &FusionLog::Note::reason);
    if (note == notes.end()) note = notes.insert(note, {joined.reason, Text({joined.reason}), {}, false, 0});
    note->names.emplace_back(joined.inst->name());
  }
  for (const auto& [group, other, root, note, bytes] : noted_) {
    if (group == kNoGroup) {
      const std::string name(root->name());
      if (!log_->groups.contains(name)) log_->groups[name].bytes_alone = BytesOfBody(*root);
      log_->counts[static_cast<int>(note.reason)] += AddNote(name, {note.reason, Text(note), {}, true, 0});
      continue;
    }
    const std::string& name = names_[Find(group)];
    if (name.empty()) continue;  // The group was dissolved.
    if (Joins(note.reason)) {
      log_->groups[name].notes.push_back({note.reason, Text(note), {std::string(root->name())}, true, bytes});
      continue;
    }
    const std::string& other_name = other == kNoGroup ? std::string(root->name()) : names_[Find(other)];
    if (other != kNoGroup && name == other_name) continue;  // The two were joined later.
    const FusionLog::Note apart{note.reason, Text(note), {other_name}, other != kNoGroup, bytes};
    if (!AddNote(name, apart)) continue;  // An earlier iteration logged it.
    ++log_->counts[static_cast<int>(note.reason)];
    if (other != kNoGroup) AddNote(other_name, {note.reason, apart.text, {name}, true, bytes});
  }
}

bool FusionGraph::AddNote(const std::string& name, const FusionLog::Note& note) {
  std::vector<FusionLog::Note>& notes = log_->groups[name].notes;
  const auto same = [&](const FusionLog::Note& other) {
    return other.reason == note.reason && other.names == note.names && other.of_two == note.of_two;
  };
  if (std::ranges::any_of(notes, same)) return false;
  notes.push_back(note);
  return true;
}

void FusionGraph::WriteMembers(GroupId id, const std::vector<int>& copies) {
  const std::vector<Instruction*>& members = groups_[id].members;
  FusionLog::Group entry;
  for (const Instruction* member : members) {
    const int kernels = copies[member->place()];
    entry.shared += kernels > 1;
    if (!IsFusion(*member)) {
      entry.bytes_alone += BytesMoved(*member) / kernels;
    } else if (log_->groups.contains(std::string(member->name()))) {
      entry.parts.emplace_back(member->name());
    } else {
      entry.bytes_alone += BytesOfBody(*member);
    }
  }
  entry.made = members.size() > 1 || !IsFusion(*members.front());
  // Unchanged kernels keep their earlier entry.
  if (entry.made || entry.parts.empty()) log_->groups[names_[id]] = std::move(entry);
}

}  // namespace hlo
