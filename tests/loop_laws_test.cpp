// Tests that two parts of the program agree on constants in the state of loops: passes fold them, and KnownValues knows
// them in the input, so that the comparison expects the folding. Small loops of every kind test both.
#include <gtest/gtest.h>

#include "base/text.h"
#include "interp/shadow/known_values.h"
#include "passes/pipeline.h"
#include "tests/interp_values.h"

namespace hlo {
namespace {

// A loop whose element 1, x, starts as 3 and becomes `next`. c is always 5, d changes, and i counts the trips.
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

enum class Side { kBoth, kNeither, kKnown, kPasses };  // The parts that determine the last value of x.

struct Next {
  std::string_view text;
  Side after_few, after_many;  // After few or many trips of integers.
  Side floats_after_few, floats_after_many;
};

// Two kinds of values are known to one part alone. KnownValues interprets loops with few trips, because unrolling and
// folding would give the same value. Passes see a value that depends on a constant in the state, such as a counter's
// step, only after they have moved the constant into the body.
constexpr Next kNext[] = {
    {"x", Side::kBoth, Side::kBoth, Side::kBoth, Side::kBoth},
    {"c", Side::kBoth, Side::kBoth, Side::kBoth, Side::kBoth},
    {"d", Side::kNeither, Side::kNeither, Side::kNeither, Side::kNeither},
    {"constant(7)", Side::kBoth, Side::kBoth, Side::kBoth, Side::kBoth},
    {"add(x, k)", Side::kBoth, Side::kBoth, Side::kKnown, Side::kNeither},
    {"add(k, x)", Side::kBoth, Side::kBoth, Side::kKnown, Side::kNeither},
    {"subtract(x, k)", Side::kBoth, Side::kBoth, Side::kKnown, Side::kNeither},
    {"subtract(k, x)", Side::kKnown, Side::kNeither, Side::kKnown, Side::kNeither},
    {"multiply(x, k)", Side::kKnown, Side::kNeither, Side::kKnown, Side::kNeither},
    {"negate(x)", Side::kKnown, Side::kNeither, Side::kKnown, Side::kNeither},
    {"maximum(x, k)", Side::kKnown, Side::kNeither, Side::kKnown, Side::kNeither},
    {"minimum(x, k)", Side::kKnown, Side::kNeither, Side::kKnown, Side::kNeither},
    {"add(x, c)", Side::kBoth, Side::kPasses, Side::kKnown, Side::kNeither},
    {"add(c, k)", Side::kBoth, Side::kPasses, Side::kBoth, Side::kPasses},
    {"add(k, k)", Side::kBoth, Side::kBoth, Side::kBoth, Side::kBoth},
    {"add(x, d)", Side::kNeither, Side::kNeither, Side::kNeither, Side::kNeither},
    {"add(d, k)", Side::kNeither, Side::kNeither, Side::kNeither, Side::kNeither},
    {"multiply(d, k)", Side::kNeither, Side::kNeither, Side::kNeither, Side::kNeither},
};

class LoopLaws : public testing::TestWithParam<std::string_view> {};

TEST_P(LoopLaws, PassesFoldTheKnownValues) {
  const std::string_view type = GetParam();
  constexpr std::string_view kPasses =
      "constant_folding,simplify-while-loops,constant_folding,simplify-while-loops,constant_folding,tuple-simplifier,"
      "dce";
  for (const Next& next : kNext) {
    for (const int trips : {0, 1, 2, 5, 64, 65, 1000}) {
      const auto module = ParseText(LoopText(type, next.text, trips));
      ASSERT_NE(module, nullptr);
      const KnownValues known(*module, [](const Literal&) { return true; });
      const auto value = known.Value(module->entry().root());
      const auto optimized = module->Clone();
      ASSERT_TRUE(RunPipeline(*optimized, {.passes = std::string(kPasses)}));
      const Instruction& root = optimized->entry().root();
      const bool is_folded = root.Is(Opcode::kConstant);
      const std::string which = Str(next.text, " after ", trips, " trips: ");
      const bool few = trips <= 64;
      const Side side = type == "f32" ? (few ? next.floats_after_few : next.floats_after_many)
                                      : (few ? next.after_few : next.after_many);
      if (trips >= 2) {
        EXPECT_EQ(value.has_value(), side == Side::kBoth || side == Side::kKnown) << which << "known";
        EXPECT_EQ(is_folded, side == Side::kBoth || side == Side::kPasses) << which << "folded";
      } else {
        EXPECT_EQ(value.has_value(), is_folded) << which;
      }
      if (!value || !is_folded) continue;
      const ShadowValue folded = ToShadow(root.literal());
      EXPECT_TRUE(folded.IsFloat() ? value->value.BitEquals(folded.value) : value->exact.BitEquals(folded.exact))
          << which;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LoopLaws, testing::Values("s32", "u8", "f32"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hlo
