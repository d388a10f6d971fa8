// Computations that call each other 100,000 deep: no stage walks them on its stack.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "interp/interpreter.h"
#include "interp/shadow.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "tests/interp_values.h"

namespace hlo {
namespace {

constexpr int kDepth = 100'000;

// Each computation calls the one before; the innermost negates.
std::string Chain(int depth, std::string_view call, std::string_view callee) {
  std::string text = "HloModule deep\n";
  for (int i = 0; i <= depth; ++i) {
    text += i == depth ? "ENTRY main {\n" : Str("level_", i, " {\n");
    text += Str("  p", i, " = f32[2,3] parameter(0)\n  ROOT r", i, " = f32[2,3] ");
    text += i == 0 ? Str("negate(p0)\n}\n") : Str(call, "(p", i, "), ", callee, "=level_", i - 1, "\n}\n");
  }
  return text;
}

const Literal kArgument = Values(PrimitiveType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
const Literal kNegated = Values(PrimitiveType::kF32, {2, 3}, {-1, -2, -3, -4, -5, -6});

void ExpectValue(const Module& module) {
  InterpretOptions options;
  options.max_depth = 2 * kDepth;
  const auto result = Interpret(module, std::vector{kArgument}, options);
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_TRUE(result->BitEquals(kNegated));
}

TEST(DeepCalls, GoThroughEveryStage) {
  const std::string text = Chain(kDepth, "call", "to_apply");
  const auto module = ParseText(text);
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(Verify(*module));
  // Each computation once, and in its place.
  const std::string printed = Print(*module);
  EXPECT_NE(printed.find(Str("to_apply=%level_", kDepth - 1)), std::string::npos);
  EXPECT_EQ(std::ranges::count(printed, '{'), std::ranges::count(printed, '}'));
  ExpectValue(*module);
  ASSERT_TRUE(RunPipeline(*module));
  ExpectValue(*module);
}

TEST(DeepCalls, FusionsInFusionsRun) {
  const auto module = ParseText(Chain(kDepth, "fusion", "kind=kLoop, calls"));
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(Verify(*module));
  ExpectValue(*module);
}

// The shadow has a stack, and says how far it goes.
TEST(DeepCalls, TheShadowStops) {
  const ShadowValue argument = ToShadow(kArgument);
  const auto shallow = ParseText(Chain(100, "call", "to_apply")), deep = ParseText(Chain(5000, "call", "to_apply"));
  ASSERT_TRUE(EvaluateShadowOf(shallow->entry().root(), std::vector{argument}).has_value());
  const auto stopped = EvaluateShadowOf(deep->entry().root(), std::vector{argument});
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().exit, ExitCode::kUnsupported);
}

}  // namespace
}  // namespace hlo
