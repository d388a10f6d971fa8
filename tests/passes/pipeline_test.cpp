// Tests of the pipeline's own rules: names, instances, limits, observers and planted faults.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/walk.h"

namespace hlo {
namespace {

Shape F32(const std::vector<int64_t>& dims) { return Shape(PrimitiveType::kF32, dims); }

// A module with sum(x + y * z) and `unused` instructions without users.
std::unique_ptr<Module> MulAddReduce(int unused = 0) {
  auto module = std::make_unique<Module>("muladd_reduce");
  Computation& sum = module->AddComputation("sum");
  Instruction& a = sum.AddParameter(0, F32({}));
  Instruction& b = sum.AddParameter(1, F32({}));
  sum.SetRoot(sum.Add(Opcode::kAdd, F32({}), {&a, &b}));
  Computation& main = module->AddComputation("main");
  module->SetEntry(main);
  Instruction& x = main.AddParameter(0, F32({4, 8}), "x");
  Instruction& y = main.AddParameter(1, F32({4, 8}), "y");
  Instruction& z = main.AddParameter(2, F32({4, 8}), "z");
  Instruction& product = main.Add(Opcode::kMultiply, F32({4, 8}), {&y, &z});
  Instruction& total = main.Add(Opcode::kAdd, F32({4, 8}), {&x, &product});
  for (int i = 0; i < unused; ++i) main.Add(Opcode::kNegate, F32({4, 8}), {&total});
  Instruction& zero = main.AddConstant(Literal::Scalar(PrimitiveType::kF32, 0.0));
  main.SetRoot(
      main.Add(Opcode::kReduce, F32({}), {&total, &zero}, ReduceAttrs{.dimensions = {0, 1}, .to_apply = &sum}));
  return module->Clone(true);
}

TEST(Pipeline, AMulAddReduceIsOneKernel) {
  auto module = MulAddReduce();
  const int origin = module->entry().root().id();
  ASSERT_TRUE(RunPipeline(*module));
  const Instruction& root = module->entry().root();
  ASSERT_TRUE(IsKernel(root));
  EXPECT_EQ(root.attrs<FusionAttrs>().kind, FusionKind::kInput);
  ASSERT_TRUE(WalkOf(root));
  EXPECT_TRUE(WalkOf(root)->reduces);
  EXPECT_EQ(WalkOf(root)->iteration, F32({4, 8}));
  EXPECT_EQ(root.operand_count(), 3);
  EXPECT_EQ(root.origin(), origin);
  EXPECT_TRUE(module->header.is_scheduled);
  const KernelCounts counts = CountKernels(*module);
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.others, 0);
}

TEST(Pipeline, AListRunsInOrderAndReportsChanges) {
  auto module = MulAddReduce(2);
  const auto report = RunPipeline(*module, {.passes = "dce,HloDCE,tuple_simplifier"});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->runs.size(), 3u);
  EXPECT_TRUE(report->runs[0].changed);
  EXPECT_FALSE(report->runs[1].changed);
  EXPECT_EQ(report->runs[1].instance, 2);
  EXPECT_EQ(report->runs[2].number, 3);
  for (const PassRun& run : report->runs) EXPECT_FALSE(run.misreported) << run.number;
}

TEST(Pipeline, DisabledInstancesAndALimitSkipPasses) {
  auto module = MulAddReduce(1);
  const auto by_instance = RunPipeline(*module, {.passes = "dce,dce", .disabled = {"passes/dce#1"}});
  EXPECT_FALSE(by_instance);  // "passes" is not the name of a pipeline that can be disabled.
  const auto first = RunPipeline(*module, {.passes = "dce,dce", .disabled = {"dce#1"}});
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->runs[0].skipped);
  EXPECT_TRUE(first->runs[1].changed);

  module = MulAddReduce(1);
  const auto limited = RunPipeline(*module, {.opt_bisect_limit = 0});
  ASSERT_TRUE(limited);
  EXPECT_FALSE(limited->changed);
  const auto only = RunPipeline(*module, {.only = {"dce"}});
  ASSERT_TRUE(only);
  EXPECT_TRUE(only->changed);
  EXPECT_EQ(CountKernels(*module).kernels, 0);
}

TEST(Pipeline, UnknownNamesAreUsageErrorsWithNeighbours) {
  auto module = MulAddReduce();
  const auto result = RunPipeline(*module, {.passes = "tuple-simplifer"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit, ExitCode::kUsage);
  EXPECT_NE(result.error().message().find("'tuple-simplifier'"), std::string::npos) << result.error().message();
  EXPECT_FALSE(RunPipeline(*module, {.disabled = {"algsmp"}}));
  EXPECT_FALSE(RunPipeline(*module, {.inject = "dce:nothing"}));
}

TEST(Pipeline, AnObserverSeesEveryInstanceAndMayStop) {
  auto module = MulAddReduce(1);
  std::vector<std::string> seen;
  PipelineOptions options{.passes = "dce,tuple-simplifier"};
  options.after = [&](const PassRun& run, Module&) -> Status {
    seen.push_back(std::string(run.pass->name));
    if (run.number == 2) return std::unexpected(InternalError("stop"));
    return {};
  };
  EXPECT_FALSE(RunPipeline(*module, options));
  EXPECT_EQ(seen, (std::vector<std::string>{"dce", "tuple-simplifier"}));
}

TEST(Pipeline, AVerifierErrorNamesThePass) {
  auto module = MulAddReduce(1);
  PipelineOptions options{.passes = "dce"};
  options.verify = [](const Module&) -> Status { return std::unexpected(Rejected("V001", "broken")); };
  const auto result = RunPipeline(*module, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit, ExitCode::kInternal);
  ASSERT_FALSE(result.error().diagnostics.front().notes.empty());
  EXPECT_NE(result.error().diagnostics.front().notes.front().message.find("dce#1"), std::string::npos);
}

}  // namespace
}  // namespace hlo
