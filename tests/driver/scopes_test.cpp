// Tests that a program in scopes has the same results as the whole program.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "driver/run/experiment.h"
#include "driver/run/scopes.h"
#include "gpu/runtime/prepare.h"
#include "judge/compare/compare.h"

namespace hlo {
namespace {

RunOptions OnHost(ScopeOptions scopes = {}) {
  RunOptions options;
  options.platform = "cpu";
  options.scopes = std::move(scopes);
  return options;
}

class ScopesOfModel : public testing::TestWithParam<std::tuple<const char*, ScopeOptions>> {};

TEST_P(ScopesOfModel, HaveTheResultsOfTheWholeModule) {
  const std::string path = Str("testdata/models/", std::get<0>(GetParam()), ".hlo");
  Progress progress(true);
  Experiment whole(path, OnHost(), progress), scoped(path, OnHost(std::get<1>(GetParam())), progress);
  const auto expected = whole.Results();
  ASSERT_TRUE(expected) << expected.error().message();
  const auto report = hlo::Run(scoped);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->verdict, "MATCH") << ReportText(*report);
  EXPECT_EQ(CompareTolerance((*expected)->outputs, (*scoped.Results())->outputs).verdict, Verdict::kMatch);
  ASSERT_TRUE(report->scopes);
  const ScopesSummary& scopes = *report->scopes;
  EXPECT_GT(scopes.compiled.instructions, 0);
  EXPECT_GT(scopes.by_op.instructions, 0);
  EXPECT_GT(scopes.compiled.ms, 0);
  // An instruction may become one or several kernels or calls. A view or a constant becomes none.
  EXPECT_GT(scopes.by_op.steps, scopes.by_op.instructions / 3);
  EXPECT_LE(scopes.compiled.steps + scopes.by_op.steps, std::ssize((*scoped.Compiled())->executable->steps()));
}

INSTANTIATE_TEST_SUITE_P(All, ScopesOfModel,
                         testing::Combine(testing::Values("mlp_train_f32", "gpt2_infer"),
                                          testing::Values(ScopeOptions{.compile = "add|sub|dot"},
                                                          ScopeOptions{.interpret = "add|sub|dot"},
                                                          ScopeOptions{.compile = "mul|div", .interpret = "mul"})));

int64_t StepsOf(const std::string& path, ScopeOptions scopes) {
  Progress progress(true);
  Experiment experiment(path, OnHost(std::move(scopes)), progress);
  return std::ssize((*experiment.Compiled())->executable->steps());
}

TEST(Scopes, AScopeOfTheWholeModelChangesNothing) {
  const std::string path = "testdata/models/gpt2_infer.hlo";
  EXPECT_EQ(StepsOf(path, {.compile = "."}), StepsOf(path, {}));
}

// A fusion must not cross the boundary of a scope. The op_name of an instruction shows its side.
TEST(Scopes, NoKernelHasInstructionsOfBothSides) {
  Progress progress(true);
  const ScopeOptions scopes{.interpret = "add|sub"};
  Experiment experiment("testdata/models/mlp_train_f32.hlo", OnHost(scopes), progress);
  const auto optimized = experiment.Optimized();
  ASSERT_TRUE(optimized) << optimized.error().message();
  int64_t kernels = 0;
  for (const Computation* computation : (*optimized)->module->Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kFusion)) continue;
      ++kernels;
      std::set<bool> sides;
      for (const Instruction* inner : inst->attrs<FusionAttrs>().calls->instructions()) {
        const std::string_view name = inner->metadata().op_name;
        if (!name.empty() && gpu::IsStep(*inner)) sides.insert(name.contains("add") || name.contains("sub"));
      }
      EXPECT_LE(sides.size(), 1) << inst->name();
    }
  }
  EXPECT_GT(kernels, 10);
}

}  // namespace
}  // namespace hlo
