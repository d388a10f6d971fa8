// Tests of computations that call each other 100,000 levels deep: no stage recurses over them on its stack.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "judge/bounds/shadow.h"
#include "passes/pipeline.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

constexpr int kDepth = 100'000;

// Each computation calls the one before it. The innermost computation negates.
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

TEST(DeepCalls, PassEveryStage) {
  const std::string text = Chain(kDepth, "call", "to_apply");
  const auto module = ParseText(text);
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(Verify(*module));
  const std::string printed = Print(*module);
  EXPECT_NE(printed.find(Str("to_apply=%level_", kDepth - 1)), std::string::npos);
  EXPECT_EQ(std::ranges::count(printed, '{'), std::ranges::count(printed, '}'));
  ExpectValue(*module);
  ASSERT_TRUE(RunPipeline(*module));
  ExpectValue(*module);
}

// level_i adds its argument to itself and then calls level_i-1 `calls` times in a row.
std::string Nest(int depth, int calls) {
  std::string text = "HloModule nest\n";
  for (int i = 0; i <= depth; ++i) {
    text += i == depth ? "ENTRY main {\n" : Str("level_", i, " {\n");
    text += Str("  p = f32[2,3] parameter(0)\n  x0 = f32[2,3] add(p, p)\n");
    for (int k = 1; i > 0 && k <= calls; ++k)
      text += Str("  x", k, " = f32[2,3] call(x", k - 1, "), to_apply=level_", i - 1, "\n");
    text += Str("  ROOT r = f32[2,3] negate(x", i > 0 ? calls : 0, ")\n}\n");
  }
  return text;
}

// The inliner copies instructions directly to their final computation, so the work is proportional to the size of the
// result.
TEST(DeepCalls, AreInlinedOnce) {
  constexpr int kLevels = 20'000;
  const auto module = ParseText(Nest(kLevels, 1));
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(RunPipeline(*module, {.passes = "call-inliner"}));
  EXPECT_EQ(module->Computations().size(), 1u);
  EXPECT_EQ(module->InstructionCount(), 2 * (kLevels + 1) + 1);
  size_t longest = 0;
  for (const Instruction* inst : module->entry().instructions()) longest = std::max(longest, inst->name().size());
  EXPECT_LE(longest, 10u);
}

// Two calls in each of 40 levels are 2^40 bodies. The inliner copies up to its limit and keeps the other calls.
TEST(DeepCalls, StayCallsBeyondTheLimitOfInlining) {
  const auto module = ParseText(Nest(40, 2));
  ASSERT_NE(module, nullptr);
  const PipelineOptions options{.passes = "call-inliner{instructions=10000}"};
  ASSERT_TRUE(RunPipeline(*module, options));
  ASSERT_TRUE(Verify(*module));
  EXPECT_LE(module->entry().InstructionCount(), 10'000);
  EXPECT_GT(module->entry().InstructionCount(), 5'000);
}

TEST(DeepCalls, NestedFusionsRun) {
  const auto module = ParseText(Chain(kDepth, "fusion", "kind=kLoop, calls"));
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(Verify(*module));
  ExpectValue(*module);
}

// Constraints on arguments pass from the uses back through calls and operands.
TEST(DeepCalls, ConstrainArguments) {
  std::string text = "HloModule deep\n";
  for (int i = 0; i < kDepth; ++i) {
    text += Str("level_", i, " {\n  p", i, " = (s32[], f32[7]) parameter(0)\n");
    if (i == 0) {
      text +=
          "  at = s32[] get-tuple-element(p0), index=0\n  x = f32[7] get-tuple-element(p0), index=1\n"
          "  one = f32[1] dynamic-slice(x, at), dynamic_slice_sizes={1}\n"
          "  y = f32[7] dynamic-update-slice(x, one, at)\n"
          "  ROOT r0 = (s32[], f32[7]) tuple(at, y)\n}\n"
          "once { p = (s32[], f32[7]) parameter(0) ROOT no = pred[] constant(false) }\n";
    } else {
      text += Str("  ROOT r", i, " = (s32[], f32[7]) while(p", i, "), condition=once, body=level_", i - 1, "\n}\n");
    }
  }
  text +=
      Str("ENTRY main {\n  at = s32[] parameter(0)\n  x = f32[7] parameter(1)\n"
          "  s = (s32[], f32[7]) tuple(at, x)\n  ROOT r = (s32[], f32[7]) while(s), condition=once, body=level_",
          kDepth - 1, "\n}\n");
  const auto module = ParseText(text);
  ASSERT_NE(module, nullptr);
  const auto arguments = MakeArguments(*module, {.seed = 3});
  ASSERT_TRUE(arguments.has_value()) << arguments.error().message();
  EXPECT_GE((*arguments)[0].GetInt(0), 0);
  EXPECT_LT((*arguments)[0].GetInt(0), 7);
}

// The shadow recurses. Beyond its depth limit it returns an error.
TEST(DeepCalls, ExceedTheDepthOfTheShadow) {
  const ShadowValue argument = ToShadow(kArgument);
  const auto shallow = ParseText(Chain(100, "call", "to_apply")), deep = ParseText(Chain(5000, "call", "to_apply"));
  ASSERT_TRUE(EvaluateShadowOf(shallow->entry().root(), std::vector{argument}).has_value());
  const auto stopped = EvaluateShadowOf(deep->entry().root(), std::vector{argument});
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().exit, ExitCode::kUnsupported);
}

}  // namespace
}  // namespace hlo
