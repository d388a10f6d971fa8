// Compares the wait graph after random joins with a search of the whole graph.
#include "passes/fusion/wait_graph.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "ir/module.h"

namespace hlo {
namespace {

const Shape kShape(PrimitiveType::kF32, {2, 3});

// The group of each instruction, by number. Reachability is a search of all dependencies.
class Model {
 public:
  explicit Model(const std::vector<Instruction*>& order) : order_(order), group_(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) group_[i] = static_cast<int>(i);
  }
  int GroupOf(int number) const { return group_[number]; }
  bool IsReachable(int from, int before) const {
    std::set<int> seen = {group_[from]};
    std::vector<int> worklist = {group_[from]};
    while (!worklist.empty()) {
      const int group = worklist.back();
      worklist.pop_back();
      for (const int next : Before(group)) {
        if (next == group_[before]) return true;
        if (seen.insert(next).second) worklist.push_back(next);
      }
    }
    return false;
  }
  // True if a path leads from one group to the other through a third.
  bool InstructionBetween(int from, int before) const {
    for (const int next : Before(group_[from])) {
      if (next != group_[before] && IsReachable(next, before)) return true;
    }
    return false;
  }
  void Join(int a, int b) {
    const int gone = group_[b];
    for (int& group : group_) {
      if (group == gone) group = group_[a];
    }
  }

 private:
  std::set<int> Before(int group) const {
    std::set<int> before;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (group_[i] != group) continue;
      for (const Instruction* operand : order_[i]->operands()) before.insert(group_[operand->place()]);
    }
    before.erase(group);
    return before;
  }

  const std::vector<Instruction*>& order_;
  std::vector<int> group_;
};

TEST(WaitGraph, AgreesWithAFullSearch) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    Module module("graph");
    Computation& main = module.AddComputation("main");
    module.SetEntry(main);
    std::vector<Instruction*> order = {&main.AddParameter(0, kShape)};
    for (int i = 1; i < 40; ++i) {
      const auto before = [&] { return order[random() % 2 == 0 ? i - 1 - random() % std::min(i, 4) : random() % i]; };
      order.push_back(&main.Add(Opcode::kAdd, kShape, {before(), before()}));
    }
    WaitGraph graph(order);
    Model model(order);
    for (int step = 0; step < 400; ++step) {
      const int a = static_cast<int>(random() % order.size()), b = static_cast<int>(random() % order.size());
      if (model.GroupOf(a) == model.GroupOf(b)) continue;
      ASSERT_EQ(graph.IsReachable(*order[a], *order[b]), model.IsReachable(a, b)) << a << " " << b << " seed " << seed;
      if (step % 8 != 0 || model.InstructionBetween(a, b) || model.InstructionBetween(b, a)) continue;
      graph.Join(*order[a], *order[b]);
      model.Join(a, b);
    }
  }
}

}  // namespace
}  // namespace hlo
