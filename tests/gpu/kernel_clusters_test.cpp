// Tests of clusters of blocks and of array groups: results, PTX, bugs that the sanitizer finds, and kernels that are
// rejected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/kernel/verify.h"
#include "tests/gpu/host_isa_levels.h"
#include "tests/gpu/kernel_buffers.h"
#include "tests/gpu/kernel_samples.h"

namespace hlo::kernel {
namespace {

bool Has(const SanitizerReport& report, Finding finding) {
  return std::ranges::any_of(report.findings, [&](const SanitizerFinding& f) { return f.finding == finding; });
}

int64_t Count(const Region& region, Op op) {
  int64_t count = 0;
  for (const Instruction& instruction : region.body) {
    count += instruction.op == op;
    for (const Region& inner : instruction.regions) count += Count(inner, op);
  }
  return count;
}

TEST(Clusters, ComputeRowSums) {
  constexpr int64_t kRows = 3, kColumns = 5000;
  const auto kernel = CompileHost(ClusterRowSum(kRows, kColumns, 4));
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<float> x(kRows * kColumns), y(kRows), share(kRows * 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17);
  void* const arguments[] = {x.data(), y.data(), share.data()};
  kernel->Launch(arguments);
  for (int64_t row = 0; row < kRows; ++row) {
    double sum = 0, shares = 0;
    for (int64_t column = 0; column < kColumns; ++column) sum += x[row * kColumns + column];
    for (int64_t rank = 0; rank < 4; ++rank) shares += share[row * 4 + rank];
    EXPECT_EQ(y[row], sum);  // The sums are integers below 2^24, so they are exact.
    EXPECT_NEAR(shares, 1, 1e-6);
  }
}

// A barrier of the cluster precedes the first read from other blocks, the next write to an array that other blocks
// read, and the end of a block.
TEST(Clusters, HaveBarriersWhereNecessary) {
  const Kernel kernel = ClusterRowSum(3, 5000, 4);
  EXPECT_EQ(Count(kernel.body, Op::kClusterBarrier), 4) << ToString(kernel);
  EXPECT_EQ(kernel.body.body.back().op, Op::kClusterBarrier);
  EXPECT_EQ(Count(RowReduce(5, 1000, 4).body, Op::kClusterBarrier), 0);
}

TEST(Clusters, PtxNamesTheClusterSizeAndIsAssembled) {
  const auto ptx = EmitPtx(ClusterRowSum(3, 5000, 4));
  ASSERT_TRUE(ptx) << ptx.error().message();
  for (const char* text : {".reqnctapercluster 4, 1, 1", "barrier.cluster.arrive.aligned",
                           "barrier.cluster.wait.aligned", "mapa.u64", "%cluster_ctarank"})
    EXPECT_NE(ptx->text.find(text), std::string::npos) << text << " in\n" << ptx->text;
  if (FindPtxas().empty()) GTEST_SKIP() << "ptxas not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin";
  const auto assembled = Ptxas(ptx->text, "sm_90", 300);
  ASSERT_TRUE(assembled) << assembled.error().message();
  EXPECT_EQ(assembled->kernels.front().spill_store_bytes, 0);
}

TEST(Clusters, AreRejectedBelowHopper) {
  const auto ptx = EmitPtx(ClusterRowSum(3, 5000, 4), {.arch = "sm_80"});
  ASSERT_FALSE(ptx);
  EXPECT_EQ(ptx.error().exit, ExitCode::kUnsupported);
  EXPECT_EQ(ptx.error().message(),
            "kernel 'cluster_row_sum' runs in clusters of 4 blocks, which need sm_90, but the target is sm_80");
}

TEST(Clusters, PlantedBugsAreDetected) {
  const Kernel kernel = ClusterRowSum(3, 5000, 4);
  const auto emulate = [&](KernelFault fault) {
    EmulateOptions options;
    options.nvptx.fault = fault;
    auto report = Emulate(kernel, MakeBuffers(kernel).arguments, options);
    EXPECT_TRUE(report);
    return std::move(*report);
  };
  const SanitizerReport missing = emulate(KernelFault::kMissingClusterBarrier);
  EXPECT_TRUE(Has(missing, Finding::kCrossBlockRace) && Has(missing, Finding::kUninitialisedShared))
      << missing.ToString();
  const SanitizerReport early = emulate(KernelFault::kEarlyExit);
  ASSERT_TRUE(Has(early, Finding::kEarlyExit)) << early.ToString();
  for (const SanitizerFinding& finding : early.findings) EXPECT_EQ(finding.finding, Finding::kEarlyExit);
}

TEST(Clusters, AnInvalidRankIsOutOfBounds) {
  for (const int64_t rank : {-1, 2}) {
    KernelBuilder k("beyond", 2, 32);
    k.SetCluster(2);
    const Array y = k.Output("y", Type::kF32, 64), own = k.Shared("own", Type::kF32, 32);
    const Value base = k.block() * 32;
    k.Tile(1, [&](Value i) { own.Store(i, k.Constant(Type::kF32, 1.0)); });
    k.Tile(1, [&](Value i) { y.Store(base + i, own.LoadFrom(k.Index(rank), i)); });
    const Kernel kernel = std::move(k).Build();
    const auto report = Emulate(kernel, MakeBuffers(kernel).arguments);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->findings.size(), 1u) << report->ToString();
    EXPECT_EQ(report->findings[0].finding, Finding::kOutOfBounds);
  }
}

TEST(Clusters, ChosenBlocksRunWithTheirCluster) {
  const Kernel kernel = ClusterRowSum(3, 5000, 4);
  const Buffers before = MakeBuffers(kernel), gpu = before.CopyWritten(kernel), host = before.CopyWritten(kernel);
  EmulateOptions options;
  options.blocks = {6, 5};
  const auto report = Emulate(kernel, gpu.arguments, options);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->ToString();
  const auto compiled = CompileHost(kernel);
  ASSERT_TRUE(compiled) << compiled.error().message();
  compiled->Run(host.arguments, 4, 8);
  const Written written = CompareWritten(kernel, before, host, gpu);
  EXPECT_EQ(written.differences, "");
  EXPECT_EQ(written.elements, 5);  // The cluster of the blocks writes a sum and four shares.
}

TEST(Clusters, BarriersInDivergentCodeAreRejected) {
  Kernel kernel = ClusterRowSum(3, 5000, 4);
  const auto is_if = [](const Instruction& instruction) { return instruction.op == Op::kIf; };
  const auto branch = std::ranges::find_if(kernel.body.body, is_if);
  ASSERT_NE(branch, kernel.body.body.end());
  branch->regions[0].body.push_back({.op = Op::kClusterBarrier});
  auto verified = Verify(kernel);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(), "'cluster-barrier' is in code that not all blocks of a cluster execute");
  branch->regions[0].body.pop_back();
  EXPECT_TRUE(Verify(kernel));
  kernel.cluster = 1;
  verified = Verify(kernel);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(), "'cluster-rank' of 'reduce.7' is in a kernel without clusters");
}

TEST(Groups, AnAxpyOfTwentyTensorsIsCorrect) {
  const Kernel kernel = AxpyOfMany();
  const Buffers before = MakeBuffers(kernel), after = before.CopyWritten(kernel);
  const auto compiled = CompileHost(kernel);
  ASSERT_TRUE(compiled) << compiled.error().message();
  compiled->Launch(after.arguments);
  const float a = *static_cast<const float*>(before.arguments[0]);
  const std::vector<int64_t>& sizes = kernel.arrays[1].member_elements;
  ASSERT_EQ(before.arguments.size(), 1 + 2 * sizes.size());
  for (size_t tensor = 0; tensor < sizes.size(); ++tensor) {
    const auto* const x = static_cast<const float*>(before.arguments[1 + tensor]);
    const auto* const y = static_cast<const float*>(before.arguments[1 + sizes.size() + tensor]);
    const auto* const z = static_cast<const float*>(after.arguments[1 + sizes.size() + tensor]);
    for (int64_t i = 0; i < sizes[tensor]; ++i) ASSERT_EQ(z[i], y[i] + a * x[i]) << tensor << ", " << i;
  }
}

TEST(Groups, HaveWideAccessesAndAreAssembled) {
  const Kernel kernel = AxpyOfMany();
  std::vector<int64_t> sizes(1200, 4096);
  KernelBuilder k("copy_of_1200", 1200, 256);
  const ArrayGroup x = k.InputGroup("x", Type::kBF16, sizes), y = k.OutputGroup("y", Type::kBF16, sizes);
  const Value tensor = k.block();
  k.Loop(0, 4096, 2048,
         [&](Value begin) { k.Tile(8, [&](Value i) { y.Store(tensor, begin + i, x.Load(tensor, begin + i)); }); });
  const Kernel many = std::move(k).Build();
  for (const char* arch : {"sm_80", "sm_90"}) {
    const auto ptx = EmitPtx(kernel, {.arch = arch}), ptx_of_many = EmitPtx(many, {.arch = arch});
    ASSERT_TRUE(ptx && ptx_of_many);
    EXPECT_NE(ptx->text.find("ld.global.nc.v4.f32"), std::string::npos) << ptx->text;
    EXPECT_NE(ptx_of_many->text.find("st.global.v4"), std::string::npos) << ptx_of_many->text;
    if (FindPtxas().empty()) GTEST_SKIP() << "ptxas not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin";
    for (const Ptx& one : {*ptx, *ptx_of_many}) {
      const auto assembled = Ptxas(one.text, arch, 300);
      ASSERT_TRUE(assembled) << assembled.error().message();
      EXPECT_EQ(assembled->kernels.front().stack_bytes, 0) << one.text;
    }
  }
}

// Arguments of the kernel SumOfMany. The sizes of its arrays are an argument.
struct Sums {
  std::vector<std::vector<_Float16>> x;
  std::vector<int64_t> sizes;
  std::vector<double> sums = std::vector<double>(40, -1);
  std::vector<void*> arguments;

  Sums() {
    for (int64_t tensor = 0; tensor < 40; ++tensor) {
      sizes.push_back(tensor * 7 % 50);
      x.emplace_back(sizes.back() + 1);
      for (int64_t i = 0; i < sizes.back(); ++i) x.back()[i] = static_cast<_Float16>(i * 0.25 - 3);
    }
    arguments = {sizes.data(), sums.data()};
    for (auto& one : x) arguments.push_back(one.data());
  }
};

TEST(Groups, SizesMayBeArgumentsOfTheLaunch) {
  Sums emulated;
  const auto report = Emulate(SumOfMany(), emulated.arguments);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->clean()) << report->ToString();
  for (int64_t tensor = 0; tensor < 40; ++tensor) {
    const auto size = static_cast<double>(emulated.sizes[tensor]);
    EXPECT_EQ(emulated.sums[tensor], size * (size - 1) / 8 - 3 * size) << tensor;
  }
  AtEveryHostIsa([&] {
    Sums host;
    const auto compiled = CompileHost(SumOfMany());
    ASSERT_TRUE(compiled) << compiled.error().message();
    compiled->Launch(host.arguments);
    EXPECT_EQ(host.sums, emulated.sums);
  });
}

TEST(Groups, AccessesOutOfBoundsNameTheMember) {
  const Kernel kernel = AxpyOfMany(/*overrun=*/1);
  const auto report = Emulate(kernel, MakeBuffers(kernel).arguments);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_FALSE(report->clean());
  for (const SanitizerFinding& finding : report->findings) EXPECT_EQ(finding.finding, Finding::kOutOfBounds);
  EXPECT_EQ(report->findings[0].array.substr(1), "[1]") << report->ToString();
  EXPECT_EQ(report->findings[0].element, 37) << report->ToString();
  Sums sums;
  const auto by_launch = Emulate(SumOfMany(/*overrun=*/1), sums.arguments);
  ASSERT_TRUE(by_launch) << by_launch.error().message();
  EXPECT_TRUE(Has(*by_launch, Finding::kOutOfBounds));
}

TEST(Groups, AnInvalidMemberIsOutOfBounds) {
  KernelBuilder k("beyond", 1, 32);
  const ArrayGroup x = k.InputGroup("x", Type::kF32, {8, 8});
  const Array y = k.Output("y", Type::kF32, 32);
  k.Tile(1, [&](Value i) { y.Store(i, x.Load(i % 3, i % 8)); });
  const Kernel kernel = std::move(k).Build();
  const auto report = Emulate(kernel, MakeBuffers(kernel).arguments);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_FALSE(report->clean());
  EXPECT_EQ(report->findings[0].finding, Finding::kOutOfBounds);
  EXPECT_EQ(report->findings[0].array, "x[2]");
}

TEST(Verify, DistinguishesGroupsFromArrays) {
  Kernel kernel = AxpyOfMany();
  ASSERT_TRUE(Verify(kernel));
  kernel.arrays[1].members = 0;
  const auto verified = Verify(kernel);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(), "'load-member' of 'axpy.9' accesses 'x', which is not a group of arrays");
}

}  // namespace
}  // namespace hlo::kernel
