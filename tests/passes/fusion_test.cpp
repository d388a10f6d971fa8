// Tests that the expected instructions become one kernel or library call.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string_view>

#include "base/text.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "parser/parser.h"
#include "passes/fusion/walk.h"
#include "passes/pipeline.h"
#include "tests/module_files.h"
#include "tests/read_file.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Optimized(const std::string& text, const PipelineOptions& options = {}) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", text));
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return nullptr;
  auto copy = (*module)->Clone(true);
  const auto report = RunPipeline(*copy, options);
  EXPECT_TRUE(report) << report.error().message();
  for (const PassRun& run : report->runs) EXPECT_FALSE(run.misreported) << run.pass->name << "#" << run.instance;
  TakeRegionsApart(*copy);
  return copy;
}

std::vector<const Instruction*> Fusions(const Computation& computation) {
  std::vector<const Instruction*> fusions;
  for (const Instruction* inst : computation.Instructions()) {
    if (IsFusion(*inst)) fusions.push_back(inst);
  }
  return fusions;
}

constexpr char kReducers[] = R"(
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
)";

TEST(Fusion, ConvolutionTakesNormalisationResidualAndRelu) {
  const auto module = Optimized(ReadFile("testdata/fusion/convolution_takes_normalisation_residual_and_relu.hlo"));
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_EQ(LibraryOf(*fusions.front()), "convolution");
  EXPECT_EQ(fusions.front()->operand_count(), 6);
  EXPECT_TRUE(FusedComputation(*fusions.front()).root().Is(Opcode::kMaximum));
}

// No file can show this, because the verifier rejects a fusion with an operand that is not read.
TEST(Fusion, RemovesOperandsThatAreNotRead) {
  const auto module = Optimized(ReadFile("testdata/fusion/removes_operands_that_are_not_read.hlo"), {.passes = "dce"});
  const Instruction& fusion = module->entry().root();
  ASSERT_EQ(fusion.operand_count(), 2);
  EXPECT_TRUE(fusion.operand(0).Is(Opcode::kParameter));
  EXPECT_TRUE(fusion.operand(1).Is(Opcode::kAbs));
  const Instruction& sum = FusedComputation(fusion).root();
  EXPECT_EQ(sum.operand(0).parameter_number(), 0);
  EXPECT_EQ(sum.operand(1).parameter_number(), 1);
  EXPECT_EQ(FusedComputation(fusion).parameters().size(), 2u);
  EXPECT_EQ(module->entry().InstructionCount(), 3);
}

// Runs these passes on all models and test files of passes. Each strategy runs several times. Only its first run may
// change the module.
void ExpectNoSecondFinding(const std::string& passes, const std::set<std::string_view>& strategies) {
  int modules = 0;
  for (const char* folder : {"testdata/models", "testdata/passes", "testdata/run"}) {
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "run from the project's folder";
    for (const std::string& path : ModuleFilesBelow(folder)) {
      const auto source = ReadSource(path);
      ASSERT_TRUE(source);
      const auto parsed = Parse(*source);
      if (!parsed) continue;  // The file shows an error.
      const auto report = RunPipeline(**parsed, {.passes = passes});
      ASSERT_TRUE(report) << path << ": " << report.error().message();
      ++modules;
      for (const PassRun& run : report->runs) {
        if (!strategies.contains(run.pass->name) || run.instance <= 1) continue;
        EXPECT_FALSE(run.changed) << path << ": " << NameOf(run);
      }
    }
  }
  EXPECT_GT(modules, 200);
}

constexpr char kBeforeFusion[] =
    "call-inliner,layout-assignment,simplification(fixed-point),cublas-gemm-rewriter,dce,fusion,";

TEST(Fusion, ASecondRunFindsNothing) {
  ExpectNoSecondFinding(
      Str(kBeforeFusion, "fusion,multi_output_fusion,multi_output_fusion,dce,fusion,multi_output_fusion"),
      {"fusion", "multi_output_fusion"});
}

// No multi_output_fusion precedes the horizontal passes, because it would leave them less to do.
TEST(Fusion, SecondRunsOfMergerAndHorizontalFusionFindNothing) {
  ExpectNoSecondFinding(Str(kBeforeFusion,
                            "fusion_merger,fusion_merger,gpu_horizontal_loop_fusion,gpu_horizontal_loop_fusion,"
                            "gpu_horizontal_input_fusion,gpu_horizontal_input_fusion,gpu_horizontal_loop_fusion"),
                        {"fusion_merger", "gpu_horizontal_loop_fusion", "gpu_horizontal_input_fusion"});
}

TEST(Fusion, AProductHasAtMostOneResidual) {
  const auto module = Optimized(ReadFile("testdata/fusion/a_product_has_at_most_one_residual.hlo"));
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 2u);
  EXPECT_EQ(LibraryOf(*fusions[0]), "gemm");
  EXPECT_EQ(fusions[0]->operand_count(), 3);
  EXPECT_TRUE(IsKernel(*fusions[1]));
}

TEST(Fusion, AProductUsedTwiceHasNoEpilogue) {
  const auto module = Optimized(ReadFile("testdata/fusion/a_product_used_twice_has_no_epilogue.hlo"));
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 2u);
  EXPECT_EQ(FusedComputation(*fusions[0]).root().opcode(), Opcode::kDot);
}

TEST(Fusion, TransposesBecomeDimensionsOfTheDot) {
  const auto module = Optimized(ReadFile("testdata/fusion/transposes_become_dimensions_of_the_dot.hlo"));
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_EQ(FusedComputation(*fusions[0]).root().opcode(), Opcode::kDot);
}

TEST(Fusion, SeparatedBatchDimensionsAreTransposed) {
  const auto module = Optimized(ReadFile("testdata/fusion/separated_batch_dimensions_are_transposed.hlo"));
  const KernelCounts counts = CountKernels(*module);
  EXPECT_EQ(counts.libraries, 1);
  EXPECT_EQ(counts.kernels, 2);
}

TEST(Fusion, ASoftmaxIsThreeKernels) {
  const auto module = Optimized(std::string("HloModule m\n") + kReducers + R"(
ENTRY e {
  x = f32[4,64] parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[4] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[4,64] broadcast(m), dimensions={0}  d = f32[4,64] subtract(x, mb)  e = f32[4,64] exponential(d)
  s = f32[4] reduce(e, zero), dimensions={1}, to_apply=sum
  sb = f32[4,64] broadcast(s), dimensions={0}
  ROOT r = f32[4,64] divide(e, sb)
})");
  const KernelCounts counts = CountKernels(*module);
  EXPECT_EQ(counts.kernels, 3);
  EXPECT_EQ(counts.others, 0);
}

TEST(Fusion, SumsOfOneOperandShareAKernelWithTheirEpilogue) {
  const auto module = Optimized(std::string("HloModule m\n") + kReducers + R"(
ENTRY e {
  x = f32[4,64] parameter(0)  zero = f32[] constant(0)  n = f32[] constant(0.015625)
  s = f32[4] reduce(x, zero), dimensions={1}, to_apply=sum
  xx = f32[4,64] multiply(x, x)  q = f32[4] reduce(xx, zero), dimensions={1}, to_apply=sum
  nb = f32[4] broadcast(n), dimensions={}  mean = f32[4] multiply(s, nb)  square = f32[4] multiply(q, nb)
  mm = f32[4] multiply(mean, mean)
  ROOT variance = f32[4] subtract(square, mm)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_EQ(fusions[0]->attrs<FusionAttrs>().kind, FusionKind::kInput);
  EXPECT_TRUE(IsReduced(*FusionRoots(*fusions[0]).front()));
}

// The variance subtracts an element of each feature, computed from slices of a and b, not from a slice of x.
TEST(Fusion, StatisticsOfABatchNormAreOneKernel) {
  const auto module = Optimized(ReadFile("testdata/fusion/statistics_of_a_batch_norm_are_one_kernel.hlo"));
  std::vector<const Instruction*> sums;
  for (const Instruction* fusion : Fusions(module->entry())) {
    if (fusion->attrs<FusionAttrs>().kind == FusionKind::kInput) sums.push_back(fusion);
  }
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(FusionRoots(*sums[0]).size(), 2u);
  EXPECT_LE(CountKernels(*module).kernels, 4);
}

TEST(Fusion, StoringAndReducingAValueIsOneKernel) {
  const auto module = Optimized(std::string("HloModule m\n") + kReducers + R"(
ENTRY e {
  x = f32[4,64] parameter(0)  y = f32[4,64] parameter(1)  zero = f32[] constant(0)
  a = f32[4,64] add(x, y)
  s = f32[4] reduce(a, zero), dimensions={1}, to_apply=sum
  ROOT t = (f32[4,64], f32[4]) tuple(a, s)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_EQ(FusionRoots(*fusions[0]).size(), 2u);
  EXPECT_EQ(fusions[0]->attrs<FusionAttrs>().kind, FusionKind::kInput);
}

TEST(Fusion, NoKernelWaitsForItself) {
  // The reduce needs a, and the last add needs both. If the adds were one kernel, it would wait for its own result.
  const auto module = Optimized(std::string("HloModule m\n") + kReducers + R"(
ENTRY e {
  x = f32[4,64] parameter(0)  y = f32[4,64] parameter(1)  zero = f32[] constant(0)
  a = f32[4,64] add(x, y)
  s = f32[4] reduce(a, zero), dimensions={1}, to_apply=sum
  sb = f32[4,64] broadcast(s), dimensions={0}
  b = f32[4,64] add(a, sb)
  ROOT t = (f32[4,64], f32[4,64]) tuple(a, b)
})");
  EXPECT_EQ(CountKernels(*module).kernels, 2);
  module->entry().PostOrder();  // PostOrder stops at a cycle.
}

TEST(Fusion, AnUpdateOfLoopStateMayBeInPlace) {
  const auto module = Optimized(ReadFile("testdata/fusion/an_update_of_loop_state_may_be_in_place.hlo"));
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  const auto operand = CanUpdateInPlace(*fusions[0], 0);
  ASSERT_TRUE(operand);
  EXPECT_EQ(fusions[0]->operand(*operand).parameter_number(), 0);
}

TEST(Fusion, AStencilOfTheStateIsNotInPlace) {
  const auto module = Optimized(ReadFile("testdata/fusion/a_stencil_of_the_state_is_not_in_place.hlo"));
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_FALSE(CanUpdateInPlace(*fusions[0], 0));
}

TEST(Fusion, ReshapesBetweenKernelsAreBitcasts) {
  const auto module = Optimized(ReadFile("testdata/fusion/reshapes_between_kernels_are_bitcasts.hlo"));
  EXPECT_EQ(CountKernels(*module).kernels, 0);
  EXPECT_TRUE(module->entry().root().operand(0).Is(Opcode::kBitcast));
}

TEST(Layout, EntryLayoutsAreKeptByTransposes) {
  const auto module = Optimized(R"(HloModule m, entry_computation_layout={(f32[4,6]{0,1})->f32[4,6]{0,1}}
ENTRY e {
  x = f32[4,6]{0,1} parameter(0)
  ROOT n = f32[4,6]{0,1} negate(x)
})");
  EXPECT_EQ(module->entry().parameter(0).shape().layout().minor_to_major, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(module->entry().root().shape().layout().minor_to_major, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(CountKernels(*module).copies, 0);
  EXPECT_EQ(CountKernels(*module).kernels, 1);
}

TEST(Faults, CanBePlanted) {
  const std::string text = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)  zero = f32[] constant(0)  zeros = f32[4] broadcast(zero), dimensions={}
  ROOT p = f32[4] multiply(x, zeros)
})";
  EXPECT_TRUE(Optimized(text, {.passes = "algsimp"})->entry().root().Is(Opcode::kMultiply));
  EXPECT_FALSE(Optimized(text, {.passes = "algsimp", .inject = "algsimp:multiply_by_zero"})
                   ->entry()
                   .root()
                   .Is(Opcode::kMultiply));
}

}  // namespace
}  // namespace hlo
