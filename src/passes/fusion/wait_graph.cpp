#include "passes/fusion/wait_graph.h"

#include <algorithm>
#include <utility>

#include "ir/module.h"

namespace hlo {

WaitGraph::WaitGraph(const std::vector<Instruction*>& order) : groups_(order.size()) {
  if (!order.empty()) number_of_.resize(order.front()->computation().place_limit());
  int number = 0;
  for (const Instruction* inst : order) {
    number_of_[inst->place()] = number;
    Group& group = groups_[number];
    group.members = {number};
    group.position = number;
    for (const Instruction* operand : inst->operands()) group.before.push_back(number_of_[operand->place()]);
    for (const Instruction* before : inst->control_predecessors()) group.before.push_back(number_of_[before->place()]);
    group_of_.push_back(number);
    at_.push_back(number);
    ++number;
  }
}

bool WaitGraph::WaitsFor(const Instruction& inst, const Instruction& before) {
  const int from = GroupOf(inst), target = GroupOf(before);
  if (groups_[from].position < groups_[target].position) return false;
  if (target_ != target) {
    target_ = target;
    ++search_;
  }
  return groups_[from].seen == search_ ? groups_[from].waits : Search(from, groups_[target].position, target);
}

// Depth first, from `lowest` on. What it has left does not wait for the target; when it finds that, all that it is
// within does. Without a target (-1) it sees all that `from` waits for.
bool WaitGraph::Search(int from, int lowest, int target) {
  struct Frame {
    int group;
    size_t next;
  };
  std::vector<Frame> stack;
  const auto enter = [&](int group) {
    groups_[group].seen = search_;
    groups_[group].waits = false;
    stack.push_back({group, 0});
  };
  enter(from);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const Group& group = groups_[frame.group];
    if (frame.next == group.before.size()) {
      stack.pop_back();
      continue;
    }
    const int before = group_of_[group.before[frame.next++]];
    if (before == frame.group || groups_[before].position < lowest) continue;
    const bool seen = groups_[before].seen == search_;
    if (before == target || (seen && groups_[before].waits)) {
      for (const Frame& within : stack) groups_[within.group].waits = true;
      return true;
    }
    if (!seen) enter(before);
  }
  return false;
}

void WaitGraph::Join(const Instruction& a, const Instruction& b) {
  int first = GroupOf(a), last = GroupOf(b);
  if (groups_[first].position > groups_[last].position) std::swap(first, last);
  const int begin = groups_[first].position, end = groups_[last].position;
  target_ = -1;
  ++search_;
  Search(last, begin + 1, -1);

  // What the later one waits for comes first, then the two, then the rest, of which some wait for the earlier one.
  std::vector<int> order, rest;
  for (int i = begin + 1; i < end; ++i) {
    if (at_[i] >= 0) (groups_[at_[i]].seen == search_ ? order : rest).push_back(at_[i]);
  }
  const bool larger = groups_[first].members.size() >= groups_[last].members.size();
  const int into = larger ? first : last;
  Group& gone = groups_[larger ? last : first];
  for (const int member : gone.members) group_of_[member] = into;
  groups_[into].members.insert(groups_[into].members.end(), gone.members.begin(), gone.members.end());
  groups_[into].before.insert(groups_[into].before.end(), gone.before.begin(), gone.before.end());
  gone = Group();

  order.push_back(into);
  order.insert(order.end(), rest.begin(), rest.end());
  std::fill(at_.begin() + begin, at_.begin() + end + 1, -1);
  for (size_t i = 0; i < order.size(); ++i) {
    at_[begin + i] = order[i];
    groups_[order[i]].position = begin + static_cast<int>(i);
  }
}

}  // namespace hlo
