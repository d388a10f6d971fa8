#include "passes/fusion/wait_graph.h"

#include <algorithm>
#include <utility>

#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kGap = int64_t{1} << 32;  // Distance of neighbours after relabelling.

}  // namespace

WaitGraph::WaitGraph(const std::vector<Instruction*>& order)
    : order_(order), group_of_(order.size()), next_member_(order.size()), groups_(order.size()) {
  if (!order.empty()) number_of_.resize(order.front()->computation().place_limit());
  int last = -1;
  for (int number = 0; number < static_cast<int>(order.size()); ++number) {
    const Instruction& inst = *order[number];
    number_of_[inst.place()] = number;
    group_of_[number] = next_member_[number] = number;
    // Elements depend only on their tuple, and join its group.
    if (inst.Is(Opcode::kGetTupleElement) && inst.control_predecessors().empty()) {
      const int tuple = number_of_[inst.operand(0).place()];
      group_of_[number] = group_of_[tuple];
      std::swap(next_member_[number], next_member_[tuple]);
      ++groups_[group_of_[tuple]].size;
      continue;
    }
    groups_[number].previous = last;
    (last < 0 ? first_ : groups_[last].next) = number;
    last = number;
  }
  Relabel();
}

const Instruction* WaitGraph::Before(int member, size_t index) const {
  const auto operands = order_[member]->operands();
  if (index < operands.size()) return operands[index];
  const auto& control = order_[member]->control_predecessors();
  index -= operands.size();
  return index < control.size() ? control[index] : nullptr;
}

bool WaitGraph::IsReachable(const Instruction& inst, const Instruction& before) {
  const int from = GroupOf(inst), target = GroupOf(before);
  if (groups_[from].label < groups_[target].label) return false;
  if (target_ != target) {
    target_ = target;
    ++search_;
  }
  return groups_[from].seen == search_ ? groups_[from].waits : Search(from, groups_[target].label, target);
}

const Instruction* WaitGraph::InstructionBetween(const Instruction& inst, const Instruction& before) {
  const int from = GroupOf(inst), target = GroupOf(before);
  if (groups_[from].label < groups_[target].label) return nullptr;
  int member = number_of_[inst.place()];
  do {
    for (size_t i = 0; const Instruction* third = Before(member, i); ++i) {
      const int group = GroupOf(*third);
      if (group != from && group != target && IsReachable(*third, before)) return third;
    }
    member = next_member_[member];
  } while (member != number_of_[inst.place()]);
  return nullptr;
}

// Depth-first search among groups with labels from `lowest`. A group that leaves the stack does not depend on the
// target. When the target is found, all groups on the stack depend on it. Without a target (-1), found_ lists `from`
// and the groups that it depends on, dependencies first.
bool WaitGraph::Search(int from, int64_t lowest, int target) {
  struct Frame {
    int group, member;
    size_t next;
  };
  std::vector<Frame> stack;
  const auto enter = [&](int group) {
    groups_[group].seen = search_;
    groups_[group].waits = false;
    stack.push_back({group, group, 0});
  };
  enter(from);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const Instruction* next = Before(frame.member, frame.next++);
    if (next == nullptr) {
      frame.member = next_member_[frame.member];
      frame.next = 0;
      if (frame.member != frame.group) continue;
      if (target < 0) found_.push_back(frame.group);
      stack.pop_back();
      continue;
    }
    const int before = GroupOf(*next);
    if (before == frame.group || groups_[before].label < lowest) continue;
    const bool seen = groups_[before].seen == search_;
    if (before == target || (seen && groups_[before].waits)) {
      for (const Frame& within : stack) groups_[within.group].waits = true;
      return true;
    }
    if (!seen) enter(before);
  }
  return false;
}

// Moves groups between the two on which the later one depends in front of the earlier one, whose position the union can
// then take.
void WaitGraph::Join(const Instruction& a, const Instruction& b) {
  int first = GroupOf(a), last = GroupOf(b);
  if (groups_[first].label > groups_[last].label) std::swap(first, last);
  target_ = -1;
  ++search_;
  found_.clear();
  Search(last, groups_[first].label + 1, -1);
  found_.pop_back();  // Removes the later group itself.
  std::ranges::sort(found_, {}, [&](int group) { return groups_[group].label; });
  for (const int before : found_) {
    Unlink(before);
    LinkBefore(before, first);
  }
  // Members of the smaller group change their group id.
  int into = first, gone = last;
  if (groups_[into].size < groups_[gone].size) {
    std::swap(into, gone);
    Unlink(into);
    LinkBefore(into, gone);
  }
  Unlink(gone);
  groups_[into].size += groups_[gone].size;
  int member = gone;
  do {
    group_of_[member] = into;
    member = next_member_[member];
  } while (member != gone);
  std::swap(next_member_[into], next_member_[gone]);
}

void WaitGraph::Unlink(int group) {
  const auto [previous, next] = std::pair(groups_[group].previous, groups_[group].next);
  (previous < 0 ? first_ : groups_[previous].next) = next;
  if (next >= 0) groups_[next].previous = previous;
}

// A label close to the previous one leaves room in front of `next`.
void WaitGraph::LinkBefore(int group, int next) {
  const int previous = groups_[next].previous;
  groups_[group].previous = previous;
  groups_[group].next = next;
  (previous < 0 ? first_ : groups_[previous].next) = group;
  groups_[next].previous = group;
  const int64_t from = previous < 0 ? groups_[next].label - kGap : groups_[previous].label;
  const int64_t room = groups_[next].label - from;
  groups_[group].label = from + (room + 63) / 64;
  if (room < 2) Relabel();
}

void WaitGraph::Relabel() {
  int64_t label = 0;
  for (int group = first_; group >= 0; group = groups_[group].next) groups_[group].label = label += kGap;
}

}  // namespace hlo
