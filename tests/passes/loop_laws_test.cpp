// Tests which results of small loops passes fold, and that a folded number is the interpreter's.
#include <gtest/gtest.h>

#include "base/text.h"
#include "interp/arguments/arguments.h"
#include "judge/bits.h"
#include "passes/pipeline.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

// The state is (i, x, c, d). i counts the trips, x starts as 3 and becomes `next`, c stays 5, d changes.
std::string LoopText(std::string_view type, std::string_view next, int trips) {
  const std::string t(type), state = Str("(s32[], ", t, "[], ", t, "[], ", t, "[])");
  const bool is_name = next.size() == 1;
  const std::string made = is_name ? "" : Str("  next = ", t, "[] ", next, "\n"), handed_on(is_name ? next : "next");
  return Str("HloModule m\nless {\n  s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
             "  n = s32[] constant(", trips, ")\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n",
             "step {\n  s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n", "  x = ", t,
             "[] get-tuple-element(s), index=1\n  c = ", t, "[] get-tuple-element(s), index=2\n  d = ", t,
             "[] get-tuple-element(s), index=3\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  k = ", t,
             "[] constant(2)\n  e = ", t, "[] multiply(d, k)\n  f = ", t, "[] add(e, c)\n", made, "  ROOT r = ", state,
             " tuple(j, ", handed_on, ", c, f)\n}\n", "ENTRY main {\n  zero = s32[] constant(0)\n  x = ", t,
             "[] constant(3)\n  c = ", t, "[] constant(5)\n  d = ", t, "[] parameter(0)\n  start = ", state,
             " tuple(zero, x, c, d)\n  loop = ", state, " while(start), condition=less, body=step\n  ROOT last = ", t,
             "[] get-tuple-element(loop), index=1\n}\n");
}

// Whether passes fold x after the loop: after at most 64 trips and after more, of integers and of floats.
struct Next {
  std::string_view text;
  bool after_few, after_many, floats_after_few, floats_after_many;
};

constexpr Next kNext[] = {
    {"x", true, true, true, true},
    {"c", true, true, true, true},
    {"d", false, false, false, false},
    {"constant(7)", true, true, true, true},
    {"add(x, k)", true, true, false, false},
    {"add(k, x)", true, true, false, false},
    {"subtract(x, k)", true, true, false, false},
    {"subtract(k, x)", false, false, false, false},
    {"multiply(x, k)", false, false, false, false},
    {"negate(x)", false, false, false, false},
    {"maximum(x, k)", false, false, false, false},
    {"minimum(x, k)", false, false, false, false},
    {"add(x, c)", true, true, false, false},
    {"add(c, k)", true, true, true, true},
    {"add(k, k)", true, true, true, true},
    {"add(x, d)", false, false, false, false},
    {"add(d, k)", false, false, false, false},
    {"multiply(d, k)", false, false, false, false},
};

class LoopLaws : public testing::TestWithParam<std::string_view> {};

TEST_P(LoopLaws, PassesFoldWhatTheInterpreterComputes) {
  const std::string_view type = GetParam();
  constexpr std::string_view kPasses =
      "constant_folding,simplify-while-loops,constant_folding,simplify-while-loops,constant_folding,tuple-simplifier,"
      "dce";
  for (const Next& next : kNext) {
    for (const int trips : {0, 1, 2, 5, 64, 65, 1000}) {
      const auto module = ParseText(LoopText(type, next.text, trips));
      ASSERT_NE(module, nullptr);
      const auto optimized = module->Clone(/*as_input=*/true);
      ASSERT_TRUE(RunPipeline(*optimized, {.passes = std::string(kPasses)}));
      const Instruction& root = optimized->entry().root();
      const bool is_folded = root.Is(Opcode::kConstant);
      const std::string which = Str(next.text, " after ", trips, " trips: ");
      const bool few = trips <= 64;
      const bool folds = type == "f32" ? (few ? next.floats_after_few : next.floats_after_many)
                                       : (few ? next.after_few : next.after_many);
      if (trips >= 2) {
        EXPECT_EQ(is_folded, folds) << which;
      }
      const auto args = MakeArguments(*module);
      ASSERT_TRUE(args);
      const auto bits = CompareByBits(*module, *optimized, *args);
      ASSERT_TRUE(bits) << bits.error().message();
      EXPECT_EQ(bits->verdict, Verdict::kMatch) << which << bits->reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LoopLaws, testing::Values("s32", "u8", "f32"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hlo
