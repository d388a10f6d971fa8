// Tests comparisons of modules with nested loops. Both run each iteration from the state that the loop had before the
// passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "ir/module.h"
#include "judge/compare/widened.h"
#include "parser/parser.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

WidenedResult Compared(const std::string& text, const Literal& arg, const std::function<void(Module&)>& pass) {
  const auto module = Parse(std::make_shared<SourceText>("test.hlo", text));
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  const auto optimized = (*module)->Clone(/*as_input=*/true);
  pass(*optimized);
  auto result = CompareWidened(**module, *optimized, std::span(&arg, 1));
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  if (!result) return {};
  // The finding refers to modules whose lifetime ends with this function.
  if (result->finding) result->reason = ToString(*result);
  return std::move(*result);
}

Instruction& Named(Module& module, std::string_view name) {
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->name() == name) return *inst;
    }
  }
  ADD_FAILURE() << name;
  return module.entry().root();
}

// A nest of loops with one iteration each. The innermost loop adds 1.
std::string Nest(int depth) {
  std::string text = "HloModule nest\n";
  for (int i = 0; i < depth; ++i) {
    text += Str("once.", i, " {\n  s = (s32[], f32[3]) parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n",
                "  one = s32[] constant(1)\n  ROOT go = pred[] compare(k, one), direction=LT\n}\n", "body.", i,
                " {\n  s = (s32[], f32[3]) parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n",
                "  x = f32[3] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n  next = s32[] add(k, one)\n");
    if (i == 0) text += "  c = f32[3] constant({1, 1, 1})\n  y = f32[3] add(x, c)\n";
    else
      text += Str("  zero = s32[] constant(0)\n  init = (s32[], f32[3]) tuple(zero, x)\n  loop.", i,
                  " = (s32[], f32[3]) while(init), condition=once.", i - 1, ", body=body.", i - 1, "\n  y.", i,
                  " = f32[3] get-tuple-element(loop.", i, "), index=1\n");
    text += Str("  ROOT r = (s32[], f32[3]) tuple(next, ", i == 0 ? "y" : Str("y.", i), ")\n}\n");
  }
  return text + Str("ENTRY main {\n  x = f32[3] parameter(0)\n  zero = s32[] constant(0)\n",
                    "  init = (s32[], f32[3]) tuple(zero, x)\n  loop = (s32[], f32[3]) while(init), condition=once.",
                    depth - 1, ", body=body.", depth - 1, "\n  ROOT r = f32[3] get-tuple-element(loop), index=1\n}\n");
}

const Literal kThree = Literal::Vector<float>(PrimitiveType::kF32, {1, 2, 3});

TEST(ComparedLoops, NestedDeepMatch) {
  const WidenedResult result = Compared(Nest(60), kThree, [](Module&) {});
  EXPECT_EQ(result.verdict, Verdict::kMatch) << result.reason;
  EXPECT_GT(result.instructions, 60 * 7);
}

TEST(ComparedLoops, AFaultInTheInnermostIsFound) {
  for (const int depth : {1, 2, 20}) {
    const WidenedResult result = Compared(Nest(depth), kThree, [](Module& m) {
      Instruction& y = Named(m, "y");
      y.ReplaceAllUses(y.computation().Add(Opcode::kMultiply, y.shape(), {&y.operand(0), &y.operand(1)}));
      y.computation().RemoveDeadTree(y);
    });
    ASSERT_EQ(result.verdict, Verdict::kMismatch) << depth;
    EXPECT_NE(result.reason.find("differs from 'y' before the passes"), std::string::npos) << result.reason;
  }
}

// The inner loop has one iteration in each outer iteration, from another state each time. Only its last execution is
// recorded.
TEST(ComparedLoops, AFaultInOneIterationOfTheOuterIsFound) {
  const char* text = R"(HloModule m
once {
  s = (s32[], s32[]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ROOT go = pred[] compare(k, one), direction=LT
}
inner_body {
  s = (s32[], s32[]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(k, one)
  more = s32[] add(i, one)
  ROOT r = (s32[], s32[]) tuple(next, more)
}
condition {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=0
  ROOT go = pred[] compare(i, n), direction=LT
}
outer_body {
  s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(zero, i)
  inner = (s32[], s32[]) while(init), condition=once, body=inner_body
  j = s32[] get-tuple-element(inner), index=1
  ROOT r = (s32[], s32[]) tuple(n, j)
}
ENTRY main {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(n, zero)
  outer = (s32[], s32[]) while(init), condition=condition, body=outer_body
  ROOT r = s32[] get-tuple-element(outer), index=1
})";
  const Literal six = Literal::Scalar(PrimitiveType::kS32, int64_t{6});
  EXPECT_EQ(Compared(text, six, [](Module&) {}).verdict, Verdict::kMatch);
  for (const int64_t wrong : {0, 3, 5}) {
    const WidenedResult result = Compared(text, six, [wrong](Module& m) {
      // Replaces i + 1 by i + 1 + (i == wrong).
      Instruction& more = Named(m, "more");
      Computation& body = more.computation();
      Instruction& at = body.AddConstant(Literal::Scalar(PrimitiveType::kS32, wrong));
      Instruction& is_there = body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&more.operand(0), &at},
                                       CompareAttrs{.direction = ComparisonDirection::kEq});
      Instruction& extra = body.Add(Opcode::kConvert, more.shape(), {&is_there});
      Instruction& sum = body.Add(Opcode::kAdd, more.shape(), {&more.operand(0), &more.operand(1)});
      more.ReplaceAllUses(body.Add(Opcode::kAdd, more.shape(), {&sum, &extra}));
      body.RemoveDeadTree(more);
    });
    ASSERT_EQ(result.verdict, Verdict::kMismatch) << wrong;
    EXPECT_NE(result.reason.find(Str("iteration ", wrong, " of 'outer', iteration 0 of 'inner'")), std::string::npos)
        << result.reason;
  }
}

}  // namespace
}  // namespace hlo
