// Tests of chains of 100,000 instructions: no stage recurses over them on its stack.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "driver/inspect/cost.h"
#include "driver/inspect/extract.h"
#include "driver/inspect/graph.h"
#include "driver/inspect/stats.h"
#include "driver/lower.h"
#include "interp/interpreter.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "passes/pipeline.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

constexpr int kLength = 100'000;

// A chain of `length` instructions: p0, p0 + p1, p0 + p1 - p0, ...
std::string Lines(int length) {
  std::string text = "  p0 = f32[2,3] parameter(0)\n  p1 = f32[2,3] parameter(1)\n";
  for (int i = 0; i < length; ++i) {
    text += Str(i + 1 == length ? "  ROOT" : " ", " x.", i, " = f32[2,3] ", i % 2 == 0 ? "add(" : "subtract(",
                i == 0 ? std::string("p0") : Str("x.", i - 1), i % 2 == 0 ? ", p1)\n" : ", p0)\n");
  }
  return text;
}

std::string Chain(int length) { return Str("HloModule chain\nENTRY main {\n", Lines(length), "}\n"); }

std::string FusedChain(int length) {
  return Str("HloModule chain, is_scheduled=true\nfused {\n", Lines(length),
             "}\nENTRY main {\n  a = f32[2,3] parameter(0)\n  b = f32[2,3] parameter(1)\n"
             "  ROOT f = f32[2,3] fusion(a, b), kind=kLoop, calls=fused\n}\n");
}

// The arguments are small integers, so all sums are exact: p0 + (length / 2) * (p1 - p0).
void ExpectValue(const Module& module) {
  const std::vector<Literal> arguments = {Values(PrimitiveType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                                          Values(PrimitiveType::kF32, {2, 3}, {2, 2, 2, 5, 5, 5})};
  const auto result = Interpret(module, arguments);
  ASSERT_TRUE(result.has_value()) << result.error().message();
  for (int64_t i = 0; i < 6; ++i) {
    const double p0 = arguments[0].GetDouble(i), p1 = arguments[1].GetDouble(i);
    EXPECT_EQ(result->GetDouble(i), p0 + kLength / 2 * (p1 - p0)) << i;
  }
}

TEST(DeepChains, PassEveryStage) {
  const auto module = ParseText(Chain(kLength));
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(Verify(*module));
  EXPECT_EQ(Print(*ParseText(Print(*module))), Print(*module));
  ExpectValue(*module);
  ASSERT_TRUE(RunPipeline(*module, {.verify = [](const Module& m) { return Verify(m); }}));
  ExpectValue(*module);
  const auto kernels = Lower(*module, LowerStage::kKernels, "", DefaultDevice());
  ASSERT_TRUE(kernels.has_value()) << kernels.error().message();
}

TEST(DeepChains, AreInspected) {
  const auto module = ParseText(Chain(kLength));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(StatsOf(*module, 5).instructions, kLength + 2);
  EXPECT_EQ(CostReportOf(*module, DefaultDevice()).rows.size(), static_cast<size_t>(kLength));
  EXPECT_EQ(GraphOf(module->entry(), {}).nodes.size(), static_cast<size_t>(kLength) + 2);
  EXPECT_EQ(Extract(module->entry().root(), /*height=*/-1, /*users=*/false)->InstructionCount(), kLength + 2);
}

TEST(DeepChains, AreOneKernelIfTheTextSaysSo) {
  const auto module = ParseText(FusedChain(30'000));
  ASSERT_NE(module, nullptr);
  const auto kernel = Lower(*module, LowerStage::kPtx, "", DefaultDevice());
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message();
  EXPECT_GT(std::ranges::count(*kernel, '\n'), 30'000);
}

TEST(DeepChains, OfAnyLengthAreParsedAndRunAsOneFusion) {
  const auto module = ParseText(FusedChain(kLength));
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(Verify(*module));
  ExpectValue(*module);
  const auto kernel = Lower(*module, LowerStage::kHostAsm, "", DefaultDevice());
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message();
  EXPECT_NE(kernel->find("no kernel for 'f': its operations depend on each other"), std::string::npos) << *kernel;
}

// Each padding computes an index from the index before it.
TEST(DeepChains, OfIndicesAreRejected) {
  std::string text =
      "HloModule pads, is_scheduled=true\nfused {\n  x.0 = f32[7] parameter(0)\n  z = f32[] constant(0)\n";
  for (int i = 1; i <= 6200; ++i)
    text += Str(i == 6200 ? "  ROOT" : " ", " x.", i, " = f32[7] pad(x.", i - 1, ", z), padding=1_-1\n");
  text += "}\nENTRY main {\n  a = f32[7] parameter(0)\n  ROOT f = f32[7] fusion(a), kind=kLoop, calls=fused\n}\n";
  const auto module = ParseText(text);
  ASSERT_NE(module, nullptr);
  const auto kernel = Lower(*module, LowerStage::kKernels, "", DefaultDevice());
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message();
  EXPECT_NE(kernel->find("more than 500 operations compute indices from each other"), std::string::npos) << *kernel;
}

TEST(DeepChains, AreCompiled) {
  const auto module = ParseText(FusedChain(6200));
  ASSERT_NE(module, nullptr);
  for (const LowerStage stage : {LowerStage::kPtx, LowerStage::kHostAsm}) {
    const auto text = Lower(*module, stage, "", DefaultDevice());
    ASSERT_TRUE(text.has_value()) << text.error().message();
    EXPECT_GT(std::ranges::count(*text, '\n'), 6200);
  }
}

}  // namespace
}  // namespace hlo
