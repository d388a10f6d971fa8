// Host lowering and emulated GPU code agree to the bit; the sanitizer is silent on good kernels and finds planted bugs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "gpu/kernel/emulator.h"
#include "gpu/kernel/host.h"
#include "gpu/kernel/nvptx.h"
#include "tests/kernel_samples.h"

namespace hlo::kernel {
namespace {

struct Buffers {
  std::vector<std::vector<char>> storage;
  std::vector<void*> arguments;
};

// Inputs: small numbers of both signs, some zeros; integers of all sizes. Outputs: 0x55. Counters: zero.
Buffers MakeBuffers(const Kernel& kernel) {
  std::mt19937_64 random(11);
  Buffers buffers;
  for (const int parameter : kernel.Parameters()) {
    const ArrayInfo& array = kernel.arrays[parameter];
    const int bytes = Bytes(array.type);
    std::vector<char> data(array.elements * bytes, array.kind == ArrayKind::kInOut ? 0 : 0x55);
    for (int64_t i = 0; i < array.elements && array.kind == ArrayKind::kInput; ++i) {
      const double number = static_cast<double>(static_cast<int64_t>(random() % 4001) - 2000) / 256;
      char* const at = data.data() + i * bytes;
      if (array.type == Type::kF32) {
        const float value = static_cast<float>(number);
        std::memcpy(at, &value, 4);
      } else if (array.type == Type::kF64) {
        std::memcpy(at, &number, 8);
      } else if (array.type == Type::kF16) {
        const _Float16 value = static_cast<_Float16>(number);
        std::memcpy(at, &value, 2);
      } else if (array.type == Type::kBF16) {
        const float value = static_cast<float>(number);
        std::memcpy(at, reinterpret_cast<const char*>(&value) + 2, 2);
      } else {
        const uint64_t value = random() % 3 == 0 ? random() % 40 - 5 : random();
        std::memcpy(at, &value, bytes);
      }
    }
    buffers.storage.push_back(std::move(data));
  }
  for (std::vector<char>& data : buffers.storage) buffers.arguments.push_back(data.data());
  return buffers;
}

// NaN equals NaN.
bool SameElement(Type type, const char* a, const char* b) {
  if (std::memcmp(a, b, Bytes(type)) == 0) return true;
  const auto is_nan = [&](const char* at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, Bytes(type));
    if (type == Type::kF16) return (bits & 0x7fff) > 0x7c00;
    if (type == Type::kBF16) return (bits & 0x7fff) > 0x7f80;
    if (type == Type::kF32) return (bits & 0x7fffffff) > 0x7f800000;
    return type == Type::kF64 && (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  };
  return is_nan(a) && is_nan(b);
}

TEST(Kernel, HostAndEmulatedGpuAgreeToTheBit) {
  const std::vector<Kernel> kernels = SampleKernels();
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels) all.push_back(&kernel);
  const auto compiled = CompileHost(all);
  ASSERT_TRUE(compiled) << compiled.error().message();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const Kernel& kernel = kernels[k];
    SCOPED_TRACE(kernel.name);
    Buffers host = MakeBuffers(kernel), gpu = MakeBuffers(kernel);
    (*compiled)[k].Launch(host.arguments);
    const auto report = Emulate(kernel, gpu.arguments);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->clean()) << report->ToString();
    const std::vector<int> parameters = kernel.Parameters();
    for (size_t p = 0; p < parameters.size(); ++p) {
      const ArrayInfo& array = kernel.arrays[parameters[p]];
      int64_t different = 0, first = -1;
      for (int64_t i = 0; i < array.elements; ++i) {
        if (SameElement(array.type, &host.storage[p][i * Bytes(array.type)], &gpu.storage[p][i * Bytes(array.type)]))
          continue;
        ++different;
        if (first < 0) first = i;
      }
      EXPECT_EQ(different, 0) << array.name << " first at " << first << " of " << array.elements;
    }
  }
}

TEST(Kernel, PtxasTakesAllPtx) {
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
  EXPECT_EQ(assembled->spill_store_bytes, 0);
  EXPECT_EQ(assembled->stack_bytes, 0);
  EXPECT_GT(assembled->registers, 0);
  EXPECT_FALSE(assembled->cubin.empty());
  const auto rejected = Ptxas(".version 8.3\nnonsense\n");
  ASSERT_FALSE(rejected);
  EXPECT_NE(rejected.error().message().find("fatal"), std::string::npos) << rejected.error().message();
}

struct PlantedBug {
  const char* name;
  KernelFault fault;
  Kernel (*kernel)();
  std::vector<Finding> expected;    // All of them are found...
  std::vector<Finding> companions;  // ...and nothing but these besides.
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
    Buffers buffers = MakeBuffers(kernel);
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
  Buffers buffers = MakeBuffers(kernel);
  EmulateOptions options;
  options.nvptx.fault = KernelFault::kOutOfBounds;
  const auto report = Emulate(kernel, buffers.arguments, options);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].ToString(), "out of bounds at 'z'[4096], block 0 thread 0, in 'fusion.1' (4096 times)");
}

}  // namespace
}  // namespace hlo::kernel
