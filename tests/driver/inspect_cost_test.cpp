// Tests of `hlo inspect cost`. A walk that visits each called computation as often as it runs gives the expected rows.
// Sums over the rows' names give the expected groups.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/text.h"
#include "driver/inspect/cost.h"
#include "driver/load.h"
#include "driver/target.h"
#include "ir/analysis/trip_count.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

std::vector<std::string> Files() {
  std::vector<std::string> files = {"testdata/inspect/cost_jax.hlo", "testdata/inspect/cost_loops.hlo"};
  for (const char* name : {"gpt2_train", "lstm_infer", "poisson_jacobi", "vae_sample"})
    files.push_back(Str("testdata/models/", name, ".hlo"));
  return files;
}

std::unique_ptr<Module> ModuleIn(const std::string& path) {
  auto module = LoadModule(path, {});
  EXPECT_TRUE(module) << path;
  return std::move(*module);
}

// Adds to `rows` how often each instruction runs. In place of a loop or call, the instructions in it are counted, those
// of a loop once for each trip. A conditional counts as one instruction.
void Walk(const Computation& computation, double runs, std::map<const Instruction*, double>* rows) {
  for (const Instruction* inst : computation.Instructions()) {
    if (inst->Is(Opcode::kWhile)) {
      const double trips = static_cast<double>(TripCount(*inst).value_or(1));
      Walk(*inst->attrs<WhileAttrs>().condition, runs * (trips + 1), rows);
      Walk(*inst->attrs<WhileAttrs>().body, runs * trips, rows);
    } else if (inst->Is(Opcode::kCall)) {
      Walk(*inst->attrs<CallAttrs>().to_apply, runs, rows);
    } else {
      (*rows)[inst] += runs;
    }
  }
}

TEST(InspectCost, RowsCountTheRunsOfEachInstruction) {
  for (const std::string& path : Files()) {
    const auto module = ModuleIn(path);
    const TimeModel times(*module, DefaultDevice());
    std::map<const Instruction*, double> walked;
    Walk(module->entry(), 1, &walked);
    std::erase_if(walked, [&](const auto& one) { return times.TimeOf(*one.first).launches == 0; });
    const CostReport report = CostReportOf(*module, DefaultDevice());
    ASSERT_EQ(report.rows.size(), walked.size()) << path;
    double flops = 0, bytes = 0, seconds = 0;
    for (const CostRow& row : report.rows) {
      ASSERT_TRUE(walked.contains(row.inst)) << path << " " << row.inst->name();
      EXPECT_DOUBLE_EQ(row.runs, walked.at(row.inst)) << path << " " << row.inst->name();
      EXPECT_NEAR(row.time.total(), row.runs * times.TimeOf(*row.inst).total(), 1e-12 * row.time.total());
      flops += row.cost.flops;
      bytes += row.cost.bytes();
      seconds += row.time.total();
    }
    EXPECT_NEAR(flops, report.cost.flops, 1e-9 * flops) << path;
    EXPECT_NEAR(bytes, report.cost.bytes(), 1e-9 * bytes) << path;
    EXPECT_NEAR(seconds, report.time.total(), 1e-9 * seconds) << path;
  }
}

TEST(InspectCost, CollapsedLoopsHaveTheSameTotal) {
  for (const std::string& path : Files()) {
    const auto module = ModuleIn(path);
    const CostReport report = CostReportOf(*module, DefaultDevice(), {.expand_loops = false, .by = ""});
    double seconds = 0;
    for (const CostRow& row : report.rows) {
      EXPECT_TRUE(row.inst->computation().IsEntry());
      EXPECT_EQ(row.runs, 1);
      seconds += row.time.total();
    }
    EXPECT_NEAR(seconds, CostReportOf(*module, DefaultDevice()).time.total(), 1e-9 * seconds) << path;
  }
}

double Seconds(const CostReport& report, const std::function<bool(const CostRow&)>& is_meant) {
  double seconds = 0;
  for (const CostRow& row : report.rows) seconds += is_meant(row) ? row.time.total() : 0;
  return seconds;
}

TEST(InspectCost, ScopesContainTheirInstructions) {
  for (const std::string& path : Files()) {
    const auto module = ModuleIn(path);
    const CostReport report = CostReportOf(*module, DefaultDevice(), {.by = "op_name"});
    double outermost = 0;
    std::vector<CostGroup> around;
    for (const CostGroup& group : CostGroupsOf(report, 0)) {
      const double inside = Seconds(report, [&](const CostRow& row) {
        return row.op_name == group.name || row.op_name.starts_with(group.name + "/") ||
               (row.op_name.empty() && group.name == "(unknown)");
      });
      EXPECT_NEAR(group.time.total(), inside, 1e-9 * inside) << path << " " << group.name;
      around.resize(group.depth);
      if (around.empty()) outermost += inside;
      else EXPECT_TRUE(group.name.starts_with(around.back().name + "/")) << group.name;
      around.push_back(group);
    }
    EXPECT_NEAR(outermost, report.time.total(), 1e-9 * outermost) << path;
  }
}

TEST(InspectCost, GroupsAddUp) {
  for (const std::string& path : Files()) {
    const auto module = ModuleIn(path);
    for (const char* by : {"source", "computation", "kind"}) {
      const CostReport report = CostReportOf(*module, DefaultDevice(), {.by = by});
      double seconds = 0, flops = 0, last = INFINITY;
      for (const CostGroup& group : CostGroupsOf(report, 0)) {
        EXPECT_LE(group.time.total(), last);
        last = group.time.total();
        seconds += last;
        flops += group.cost.flops;
      }
      EXPECT_NEAR(seconds, report.time.total(), 1e-9 * seconds) << path << " " << by;
      EXPECT_NEAR(flops, report.cost.flops, 1e-9 * flops) << path << " " << by;
    }
  }
}

// The result has the longest scopes and, for each of them, the scopes around it.
TEST(InspectCost, ALimitKeepsTheLongestScopes) {
  const auto module = ModuleIn("testdata/models/gpt2_train.hlo");
  const CostReport report = CostReportOf(*module, DefaultDevice(), {.by = "op_name"});
  const std::vector<CostGroup> all = CostGroupsOf(report, 0), few = CostGroupsOf(report, 5);
  ASSERT_EQ(few.size(), 5u);
  double shortest = INFINITY;
  for (const CostGroup& group : few) shortest = std::min(shortest, group.time.total());
  int64_t longer = 0;
  for (const CostGroup& group : all) longer += group.time.total() > shortest;
  EXPECT_LT(longer, 5);
}

}  // namespace
}  // namespace hlo
