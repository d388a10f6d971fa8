// Tests that mutated kernels have other results than correct ones, and respect their arrays and barriers.
#include "gpu/kernel/mutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/host.h"
#include "gpu/kernel/verify.h"
#include "tests/gpu/kernel_buffers.h"
#include "tests/gpu/kernel_samples.h"

namespace hlo::kernel {
namespace {

TEST(KernelMutation, IsSafeAndChangesResults) {
  std::map<std::string_view, int> planted, shown;
  for (const Kernel& sound : SampleKernels()) {
    const Steering steering = FindSteering(sound);
    const Buffers before = MakeBuffers(sound), expected = MakeBuffers(sound);
    ASSERT_TRUE(Emulate(sound, expected.arguments));
    for (const Mutation& mutation : Mutations()) {
      SCOPED_TRACE(sound.name + ": " + std::string(mutation.name));
      Kernel mutated = sound;
      if (!mutation.apply(mutated, steering)) {
        EXPECT_EQ(Hash(mutated), Hash(sound)) << "changed, though it does not fit";
        continue;
      }
      ++planted[mutation.name];
      EXPECT_NE(Hash(mutated), Hash(sound));
      const Status verified = Verify(mutated);
      EXPECT_TRUE(verified) << verified.error().message();
      const Buffers emulated = MakeBuffers(sound), host = MakeBuffers(sound);
      const auto report = Emulate(mutated, emulated.arguments);
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->clean()) << report->ToString();
      const Kernel* const one[] = {&mutated};
      const double quickly[] = {0};
      const auto compiled = CompileHost(one, quickly);
      ASSERT_TRUE(compiled) << compiled.error().message();
      compiled->front().Launch(host.arguments);
      EXPECT_EQ(CompareWritten(sound, before, host, emulated).differences, "");
      shown[mutation.name] += !CompareWritten(sound, before, expected, emulated).differences.empty();
    }
  }
  // Most samples store, read and add. None has a NaN, so max_ignores_nan shows only in the next test.
  EXPECT_GE(shown["tail"], 90);
  EXPECT_GE(shown["dropped_term"], 40);
  EXPECT_GE(planted["max_ignores_nan"], 5);
  EXPECT_GE(shown["rounded_twice"], 8);
  EXPECT_GE(planted["ties_away"], 8);
  EXPECT_GE(shown["wrong_index"], 70);
  EXPECT_GE(planted["near_limit"], 4);
  EXPECT_GE(planted["zero_scalar"], 1);
}

Kernel Applied(const Kernel& sound, std::string_view name) {
  Kernel mutated = sound;
  EXPECT_TRUE(FindMutation(name)->apply(mutated, FindSteering(sound))) << name;
  return mutated;
}

std::vector<float> RunOn(const Kernel& kernel, std::vector<float> input, size_t outputs) {
  std::vector<float> output(outputs, 0.0f);
  const std::vector<void*> arguments = {input.data(), output.data()};
  const auto report = Emulate(kernel, arguments);
  EXPECT_TRUE(report && report->clean());
  return output;
}

TEST(KernelMutation, MaximumIgnoresNanOfEitherSide) {
  KernelBuilder k("max", 1, 32);
  const Array x = k.Input("x", Type::kF32, 64), y = k.Output("y", Type::kF32, 32);
  k.Tile(1, [&](Value i) { y.Store(i, Max(x.Load(i), x.Load(i + 32))); });
  const Kernel kernel = std::move(k).Build();
  std::vector<float> input(64, 1.0f);
  input[0] = input[33] = NAN;
  const std::vector<float> sound = RunOn(kernel, input, 32),
                           wrong = RunOn(Applied(kernel, "max_ignores_nan"), input, 32);
  for (const size_t i : {0, 1}) {
    EXPECT_TRUE(std::isnan(sound[i]));
    EXPECT_EQ(wrong[i], 1.0f);
  }
}

TEST(KernelMutation, DropsOneTermOfARow) {
  const Kernel kernel = RowReduce(2, 600, 1);
  std::vector<float> input(1200, 1.0f);
  EXPECT_EQ(RunOn(kernel, input, 2), (std::vector<float>{600, 600}));
  EXPECT_EQ(RunOn(Applied(kernel, "dropped_term"), input, 2), (std::vector<float>{599, 599}));
  input[599] = 100;
  EXPECT_EQ(RunOn(Applied(kernel, "dropped_term"), input, 2), (std::vector<float>{599, 599}));
}

TEST(KernelMutation, DropsTheLastTermOfAnUnrolledSum) {
  KernelBuilder k("three", 1, 32);
  const Array x = k.Input("x", Type::kF32, 96), y = k.Output("y", Type::kF32, 32);
  k.Tile(1, [&](Value i) { y.Store(i, x.Load(i) + x.Load(i + 32) + x.Load(i + 64)); });
  const Kernel kernel = std::move(k).Build();
  EXPECT_EQ(RunOn(Applied(kernel, "dropped_term"), std::vector<float>(96, 1.0f), 32), std::vector<float>(32, 2.0f));
}

TEST(KernelMutation, OmitsTheLastElementOfATile) {
  const Kernel kernel = RowReduce(1, 8, 1);
  EXPECT_EQ(RunOn(Applied(kernel, "tail"), std::vector<float>(8, 1.0f), 1), std::vector<float>{0});
  KernelBuilder k("copy", 1, 32);
  const Array x = k.Input("x", Type::kF32, 20), y = k.Output("y", Type::kF32, 20);
  k.Tile(1, k.Index(20), [&](Value i) { y.Store(i, x.Load(i)); });
  std::vector<float> expected(20, 1.0f);
  expected[19] = 0;
  EXPECT_EQ(RunOn(Applied(std::move(k).Build(), "tail"), std::vector<float>(20, 1.0f), 20), expected);
}

TEST(KernelMutation, DoesNotChangeAddresses) {
  KernelBuilder k("gather", 1, 32);
  const Array at = k.Input("at", Type::kS32, 32), x = k.Input("x", Type::kF32, 32), y = k.Output("y", Type::kF32, 32);
  k.Tile(1, [&](Value i) { y.Store(i, x.Load(Convert(at.Load(i), Type::kIndex))); });
  const Kernel kernel = std::move(k).Build();
  const Steering steering = FindSteering(kernel);
  EXPECT_EQ(steering.arrays, (std::vector<bool>{true, false, false}));
  std::vector<bool> also = {false, false, true};
  EXPECT_TRUE(FindSteering(kernel, also).arrays[1]) << "the elements of x go to an array that steers another kernel";
  Kernel mutated = kernel;
  EXPECT_FALSE(FindMutation("tail")->apply(mutated, FindSteering(kernel, also)));
}

}  // namespace
}  // namespace hlo::kernel
