// Compares the costs of groups and possible unions in the fusion graph with newly computed sets, and checks the reasons
// of fusions.
#include "passes/fusion/graph.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "ir/module.h"

namespace hlo {
namespace {

const Shape kShape(PrimitiveType::kF32, {2, 3});
constexpr double kBytes = 24;

// Groups as sets: the group that stores a value, and the groups that compute it.
struct Model {
  std::map<const Instruction*, GroupId> stored_by;
  std::map<const Instruction*, std::set<GroupId>> computed_by;

  std::set<const Instruction*> Read(GroupId group) const {
    std::set<const Instruction*> read;
    for (const auto& [inst, groups] : computed_by) {
      if (!groups.contains(group)) continue;
      for (const Instruction* operand : inst->operands()) {
        const auto at = computed_by.find(operand);
        const bool made = at != computed_by.end() && at->second.contains(group) && !stored_by.contains(operand);
        if (!made) read.insert(operand);
      }
    }
    return read;
  }
  double BytesOfUnion(GroupId a, GroupId b) const {
    std::set<const Instruction*> read = Read(a);
    read.merge(Read(b));
    double bytes = 0;
    for (const Instruction* value : read) {
      const auto at = stored_by.find(value);
      if (at == stored_by.end() || (at->second != a && at->second != b)) bytes += kBytes;
    }
    for (const auto& [inst, group] : stored_by) {
      if (group == a || group == b) bytes += IsRead(*inst, a, b) ? kBytes : 0;
    }
    return bytes;
  }
  bool IsRead(const Instruction& inst, GroupId a, GroupId b) const {
    if (inst.IsRoot()) return true;
    for (const Instruction* user : inst.users()) {
      const auto at = computed_by.find(user);
      if (at == computed_by.end() || at->second.empty()) return true;
      for (const GroupId group : at->second) {
        if (group != a && group != b) return true;
      }
      if (at->second.size() > 1) return true;  // The graph does not know which of several groups reads the value.
    }
    return false;
  }
  void Union(GroupId a, GroupId b) {
    for (auto& [inst, group] : stored_by) group = group == b ? a : group;
    for (auto& [inst, groups] : computed_by) {
      if (groups.erase(b) == 1) groups.insert(a);
    }
  }
};

TEST(FusionGraph, ComputesTheCostsOfPossibleUnions) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    Module module("graph");
    Computation& main = module.AddComputation("main");
    module.SetEntry(main);
    std::vector<Instruction*> order = {&main.AddParameter(0, kShape), &main.AddParameter(1, kShape)};
    for (int i = 2; i < 30; ++i)
      order.push_back(&main.Add(Opcode::kAdd, kShape, {order[random() % i], order[random() % i]}));
    main.SetRoot(*order.back());
    FusionGraph graph(main, order, PassContext());
    Model model;
    std::vector<GroupId> groups;
    // As in instruction fusion, a value is computed by the groups of all its users, or it is stored.
    for (size_t i = order.size(); i-- > 2;) {
      if (!order[i]->IsRoot() && order[i]->users().empty()) continue;
      std::set<GroupId> users;
      for (const Instruction* user : order[i]->users()) users.merge(std::set<GroupId>(model.computed_by[user]));
      if (!order[i]->IsRoot() && !users.empty() && users.size() < 3 && random() % 2 == 0) {
        for (const GroupId group : users) graph.Copy(*order[i], group, 6, FusionReason::kOneKernel);
        model.computed_by[order[i]] = users;
        continue;
      }
      groups.push_back(graph.Open(*order[i]));
      model.stored_by[order[i]] = groups.back();
      model.computed_by[order[i]] = {groups.back()};
    }
    for (int step = 0; step < 200; ++step) {
      const GroupId a = groups[random() % groups.size()], b = groups[random() % groups.size()];
      if (graph.Members(a).empty() || graph.Members(b).empty() || a == b) continue;
      ASSERT_EQ(graph.CostOf(a).bytes(), model.BytesOfUnion(a, a)) << a << " seed " << seed;
      ASSERT_EQ(graph.CostOfUnion(a, b).bytes(), model.BytesOfUnion(a, b)) << a << " " << b << " seed " << seed;
      std::set<const Instruction*> read = model.Read(a);
      read.merge(model.Read(b));
      ASSERT_EQ(graph.ReadCountOfUnion(a, b), static_cast<int64_t>(read.size())) << a << " " << b << " seed " << seed;
      if (step % 10 != 0 || graph.InstructionBetween(a, b) != nullptr || graph.InstructionBetween(b, a) != nullptr)
        continue;
      const double work = graph.CostOf(a).work + graph.CostOf(b).work;
      graph.Union(a, b, {FusionReason::kSmall});
      model.Union(a, b);
      ASSERT_EQ(graph.CostOf(a).work, work);
    }
  }
}

TEST(FusionGraph, EachReasonIsUsedByAStrategy) {
  std::string sources;
  for (const auto& file : std::filesystem::directory_iterator("src/passes/fusion")) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    sources += text.str();
  }
  for (int i = 0; i < kFusionReasons; ++i) {
    const auto reason = static_cast<FusionReason>(i);
    const std::string said = Str("FusionReason::k", NameOf(reason));
    const size_t at = sources.find(said);
    EXPECT_TRUE(at != std::string::npos) << NameOf(reason) << " is a row that no strategy writes";
    EXPECT_EQ(Text({reason}).find('$'), std::string::npos) << NameOf(reason);
  }
}

}  // namespace
}  // namespace hlo
