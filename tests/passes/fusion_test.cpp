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
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  x = f32[1,8,8,4] parameter(0)  w = f32[3,3,4,6] parameter(1)  mean = f32[6] parameter(2)  scale = f32[6] parameter(3)
  offset = f32[6] parameter(4)  residual = f32[1,8,8,6] parameter(5)
  c = f32[1,8,8,6] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  m = f32[1,8,8,6] broadcast(mean), dimensions={3}  d = f32[1,8,8,6] subtract(c, m)
  s = f32[1,8,8,6] broadcast(scale), dimensions={3}  n = f32[1,8,8,6] multiply(d, s)
  o = f32[1,8,8,6] broadcast(offset), dimensions={3}  b = f32[1,8,8,6] add(n, o)
  r = f32[1,8,8,6] add(residual, b)
  zero = f32[] constant(0)  zeros = f32[1,8,8,6] broadcast(zero), dimensions={}
  ROOT relu = f32[1,8,8,6] maximum(r, zeros)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_EQ(LibraryOf(*fusions.front()), "convolution");
  EXPECT_EQ(fusions.front()->operand_count(), 6);
  EXPECT_TRUE(FusedComputation(*fusions.front()).root().Is(Opcode::kMaximum));
}

// No file can show this, because the verifier rejects a fusion with an operand that is not read.
TEST(Fusion, RemovesOperandsThatAreNotRead) {
  const auto module = Optimized(R"(HloModule m
fused {
  x = f32[2,3] parameter(0)  y = f32[2,3] parameter(1)  z = f32[2,3] parameter(2)
  ROOT r = f32[2,3] add(x, z)
}
ENTRY e {
  x = f32[2,3] parameter(0)  y = f32[2,3] negate(x)  z = f32[2,3] abs(x)
  ROOT r = f32[2,3] fusion(x, y, z), kind=kLoop, calls=fused
})",
                                {.passes = "dce"});
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
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  x = f32[4,8] parameter(0)  w = f32[8,6] parameter(1)  p = f32[4,6] parameter(2)  q = f32[4,6] parameter(3)
  d = f32[4,6] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[4,6] add(d, p)
  ROOT b = f32[4,6] add(a, q)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 2u);
  EXPECT_EQ(LibraryOf(*fusions[0]), "gemm");
  EXPECT_EQ(fusions[0]->operand_count(), 3);
  EXPECT_TRUE(IsKernel(*fusions[1]));
}

TEST(Fusion, AProductUsedTwiceHasNoEpilogue) {
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  x = f32[4,8] parameter(0)  w = f32[8,6] parameter(1)  v = f32[6] parameter(2)
  d = f32[4,6] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[4,6] broadcast(v), dimensions={1}
  a = f32[4,6] add(d, b)
  ROOT t = (f32[4,6], f32[4,6]) tuple(a, d)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 2u);
  EXPECT_EQ(FusedComputation(*fusions[0]).root().opcode(), Opcode::kDot);
}

TEST(Fusion, TransposesBecomeDimensionsOfTheDot) {
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  x = f32[8,4] parameter(0)  w = f32[6,8] parameter(1)
  xt = f32[4,8] transpose(x), dimensions={1,0}  wt = f32[8,6] transpose(w), dimensions={1,0}
  d = f32[4,6] dot(xt, wt), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT dt = f32[6,4] transpose(d), dimensions={1,0}
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_EQ(FusedComputation(*fusions[0]).root().opcode(), Opcode::kDot);
}

TEST(Fusion, SeparatedBatchDimensionsAreTransposed) {
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  q = f32[2,5,3,4] parameter(0)  k = f32[2,7,3,4] parameter(1)
  ROOT d = f32[2,3,5,7] dot(q, k), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}
})");
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
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  a = f32[32,28,28,64] parameter(0)  b = f32[32,28,28,64] parameter(1)
  scale = f32[64] parameter(2)  offset = f32[64] parameter(3)
  x = f32[32,28,28,64] add(a, b)
  ROOT norm = (f32[32,28,28,64], f32[64], f32[64]) batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=3
})");
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
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  state = f32[16,8] parameter(0)  row = f32[1,8] parameter(1)  i = s32[] parameter(2)  zero = s32[] constant(0)
  twice = f32[1,8] add(row, row)
  ROOT d = f32[16,8] dynamic-update-slice(state, twice, i, zero)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  const auto operand = CanUpdateInPlace(*fusions[0], 0);
  ASSERT_TRUE(operand);
  EXPECT_EQ(fusions[0]->operand(*operand).parameter_number(), 0);
}

TEST(Fusion, AStencilOfTheStateIsNotInPlace) {
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  state = f32[16] parameter(0)  one = s32[] constant(1)
  left = f32[14] slice(state), slice={[0:14]}  right = f32[14] slice(state), slice={[2:16]}
  sum = f32[14] add(left, right)
  ROOT d = f32[16] dynamic-update-slice(state, sum, one)
})");
  const auto fusions = Fusions(module->entry());
  ASSERT_EQ(fusions.size(), 1u);
  EXPECT_FALSE(CanUpdateInPlace(*fusions[0], 0));
}

TEST(Fusion, ReshapesBetweenKernelsAreBitcasts) {
  const auto module = Optimized(R"(HloModule m
ENTRY e {
  x = f32[6,4] parameter(0)
  r = f32[2,3,4] reshape(x)
  ROOT t = (f32[2,3,4], f32[6,4]) tuple(r, x)
})");
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
