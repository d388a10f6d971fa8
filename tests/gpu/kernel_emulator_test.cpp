// Tests that the host lowering and the emulated GPU code agree bit by bit, and that the sanitizer finds planted bugs
// and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "tests/gpu/host_isa_levels.h"
#include "tests/gpu/kernel_buffers.h"
#include "tests/gpu/kernel_samples.h"

namespace hlo::kernel {
namespace {

void AddOps(const Region& region, std::set<Op>* ops) {
  for (const Instruction& instruction : region.body) {
    ops->insert(instruction.op);
    for (const Region& inner : instruction.regions) AddOps(inner, ops);
  }
}

// Each op must be in a sample, because the next test compares only samples. conditions_test.cpp tests conditions.
TEST(Kernel, EachOpOccursInASample) {
  std::set<Op> ops;
  for (const Kernel& kernel : SampleKernels()) AddOps(kernel.body, &ops);
  ops.insert(Op::kSetCondition);
#define HLO_KERNEL_OP(Name, text, operands, effects, sameness) \
  EXPECT_TRUE(ops.contains(Op::k##Name)) << "no kernel of tests/gpu/kernel_samples.h has '" << text << "'";
#include "gpu/kernel/kernel_ops.def"
}

TEST(Kernel, HostAndEmulatedGpuAgreeBitByBit) {
  const std::vector<Kernel> kernels = SampleKernels();
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels) all.push_back(&kernel);
  std::vector<Buffers> emulated;
  for (const Kernel& kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    emulated.push_back(MakeBuffers(kernel));
    const auto report = Emulate(kernel, emulated.back().arguments);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->clean()) << report->ToString();
  }
  AtEveryHostIsa([&] {
    const std::vector<double> nothing(all.size(), 0);
    for (const std::span<const double> shares : {std::span<const double>(nothing), std::span<const double>()}) {
      const auto compiled = CompileHost(all, shares);
      ASSERT_TRUE(compiled) << compiled.error().message();
      for (size_t k = 0; k < kernels.size(); ++k) {
        SCOPED_TRACE(kernels[k].name);
        const Buffers host = MakeBuffers(kernels[k]);
        (*compiled)[k].Launch(host.arguments);
        EXPECT_EQ(CompareWritten(kernels[k], MakeBuffers(kernels[k]), host, emulated[k]).differences, "");
      }
    }
  });
}

TEST(Kernel, PtxasAcceptsAllPtx) {
  if (FindPtxas().empty()) GTEST_SKIP() << "ptxas not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin";
  std::vector<Ptx> parts;
  for (Kernel& kernel : SampleKernels()) {
    kernel.name += std::to_string(parts.size());
    auto ptx = EmitPtx(kernel);
    ASSERT_TRUE(ptx) << ptx.error().message();
    parts.push_back(std::move(*ptx));
  }
  const auto assembled = Ptxas(JoinPtx(parts), "sm_90", 300);
  ASSERT_TRUE(assembled) << assembled.error().message();
  EXPECT_EQ(assembled->kernels.size(), parts.size());
  for (const PtxasKernel& kernel : assembled->kernels) {
    EXPECT_EQ(kernel.spill_store_bytes, 0) << kernel.entry;
    EXPECT_EQ(kernel.stack_bytes, 0) << kernel.entry;
    EXPECT_GT(kernel.registers, 0) << kernel.entry;
  }
  EXPECT_FALSE(assembled->cubin.empty());
  const auto rejected = Ptxas(".version 8.3\nnonsense\n");
  ASSERT_FALSE(rejected);
  EXPECT_NE(rejected.error().message().find("fatal"), std::string::npos) << rejected.error().message();
}

// The emulator copies as late as the kernel permits. The host copies at once.
TEST(Kernel, ACopyWithoutAWaitIsMissing) {
  for (const bool waits : {true, false}) {
    const Kernel kernel = AsyncRows(Type::kF32, waits);
    const Buffers before = MakeBuffers(kernel), gpu = before.CopyWritten(kernel), host = before.CopyWritten(kernel);
    ASSERT_TRUE(Emulate(kernel, gpu.arguments));
    const auto compiled = CompileHost(kernel);
    ASSERT_TRUE(compiled) << compiled.error().message();
    compiled->Launch(host.arguments);
    EXPECT_EQ(CompareWritten(kernel, before, host, gpu).differences.empty(), waits);
  }
}

TEST(Kernel, AsynchronousCopiesAreAssembledForAmpereAndHopper) {
  if (FindPtxas().empty()) GTEST_SKIP() << "ptxas not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin";
  for (const char* arch : {"sm_80", "sm_90"}) {
    const auto ptx = EmitPtx(AsyncRows(Type::kF32), {.arch = arch});
    ASSERT_TRUE(ptx) << ptx.error().message();
    EXPECT_NE(ptx->text.find("cp.async.cg.shared.global"), std::string::npos) << ptx->text;
    EXPECT_NE(ptx->text.find("cp.async.wait_group 1"), std::string::npos) << ptx->text;
    const auto assembled = Ptxas(ptx->text, arch, 300);
    ASSERT_TRUE(assembled) << assembled.error().message();
    EXPECT_EQ(assembled->kernels.front().spill_store_bytes, 0);
  }
}

struct PlantedBug {
  const char* name;
  KernelFault fault;
  Kernel (*kernel)();
  std::vector<Finding> expected;    // All of these are found.
  std::vector<Finding> companions;  // Findings that may accompany the expected ones.
};

Kernel TransposeSample() { return Transpose(64, 96); }
Kernel RowSample() { return RowReduce(5, 1000, 4); }
Kernel ElementwiseSample() {
  return Elementwise("add", Type::kF32, 4096, 4, [](Value x, Value y) { return x + y; });
}

TEST(Sanitizer, FindsPlantedBugs) {
  using enum Finding;
  const PlantedBug bugs[] = {
      {"missing barrier", KernelFault::kMissingBarrier, TransposeSample, {kSharedRace}, {kUninitialisedShared}},
      {"missing barrier in a reduction",
       KernelFault::kMissingBarrier,
       RowSample,
       {kSharedRace},
       {kUninitialisedShared}},
      {"shared race", KernelFault::kSharedRace, TransposeSample, {kSharedRace}, {}},
      {"out of bounds", KernelFault::kOutOfBounds, ElementwiseSample, {kOutOfBounds}, {}},
      {"misaligned vector", KernelFault::kMisalignedVector, ElementwiseSample, {kMisaligned}, {kOutOfBounds}},
      {"uninitialised shared read", KernelFault::kUninitialisedShared, RowSample, {kUninitialisedShared}, {}},
      {"divergent barrier",
       KernelFault::kDivergentBarrier,
       TransposeSample,
       {kDivergentBarrier},
       {kSharedRace, kUninitialisedShared}},
      {"cross-block race", KernelFault::kCrossBlockRace, ElementwiseSample, {kCrossBlockRace}, {}},
  };
  for (const PlantedBug& bug : bugs) {
    SCOPED_TRACE(bug.name);
    const Kernel kernel = bug.kernel();
    const Buffers buffers = MakeBuffers(kernel);
    EmulateOptions options;
    options.nvptx.fault = bug.fault;
    const auto report = Emulate(kernel, buffers.arguments, options);
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding expected : bug.expected) {
      EXPECT_TRUE(std::any_of(report->findings.begin(), report->findings.end(),
                              [&](const auto& f) { return f.finding == expected; }))
          << "not found: " << ToString(expected);
    }
    for (const SanitizerFinding& finding : report->findings) {
      const auto among = [&](const std::vector<Finding>& kinds) {
        return std::find(kinds.begin(), kinds.end(), finding.finding) != kinds.end();
      };
      EXPECT_TRUE(among(bug.expected) || among(bug.companions)) << finding.ToString();
    }
  }
}

TEST(Sanitizer, NamesThePlace) {
  const Kernel kernel = ElementwiseSample();
  const Buffers buffers = MakeBuffers(kernel);
  EmulateOptions options;
  options.nvptx.fault = KernelFault::kOutOfBounds;
  const auto report = Emulate(kernel, buffers.arguments, options);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].ToString(), "out of bounds at 'z'[4096], block 0 thread 0, in 'fusion.1' (4096 times)");
}

}  // namespace
}  // namespace hlo::kernel
