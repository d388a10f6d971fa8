// Loops in loops: two modules are compared on the states that the input's go through.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "interp/compare/widened.h"
#include "ir/module.h"
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
  if (result->finding) result->reason = ToString(*result);  // The modules die here.
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

// Each loop goes round once, and the innermost adds one.
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

// The inner loop goes round once each time, from another state; what a run noted of it is of the last.
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
      // i + 1 + (i == wrong)
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

// A state that doubles each difference, an invariant that each trip computes, a sum of products and what nothing reads.
constexpr const char* kChanging = R"(HloModule m
condition {
  s = (s32[], f32[3], f32[3,3], f32[3], f32[3], f32[60,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(60)
  ROOT go = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[3], f32[3,3], f32[3], f32[3], f32[60,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[3] get-tuple-element(s), index=1
  sum = f32[3,3] get-tuple-element(s), index=2
  w = f32[3] get-tuple-element(s), index=3
  dead = f32[3] get-tuple-element(s), index=4
  factor = f32[3] cosine(w)
  ones = f32[3] constant({1, 1, 1})
  rest = f32[3] subtract(ones, x)
  product = f32[3] multiply(x, rest)
  scaled = f32[3] multiply(product, factor)
  four = f32[] constant(3.9)
  fours = f32[3] broadcast(four), dimensions={}
  y = f32[3] multiply(scaled, fours)
  all = f32[60,3] get-tuple-element(s), index=5
  zero = s32[] constant(0)
  row = f32[1,3] dynamic-slice(all, i, zero), dynamic_slice_sizes={1,3}
  a = f32[3] reshape(row)
  outer = f32[3,3] dot(a, x), lhs_contracting_dims={}, rhs_contracting_dims={}
  more = f32[3,3] add(sum, outer)
  worse = f32[3] add(dead, x)
  ROOT t = (s32[], f32[3], f32[3,3], f32[3], f32[3], f32[60,3]) tuple(next, y, more, w, worse, all)
}
ENTRY main {
  w = f32[3] parameter(0)
  zero = s32[] constant(0)
  x = f32[3] constant({0.3, 0.45, 0.6})
  none = f32[3,3] constant({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}})
  places = f32[60,3] iota(), iota_dimension=0
  all = f32[60,3] sine(places)
  init = (s32[], f32[3], f32[3,3], f32[3], f32[3], f32[60,3]) tuple(zero, x, none, w, x, all)
  loop = (s32[], f32[3], f32[3,3], f32[3], f32[3], f32[60,3]) while(init), condition=condition, body=body
  last = f32[3] get-tuple-element(loop), index=1
  total = f32[3,3] get-tuple-element(loop), index=2
  ROOT r = (f32[3], f32[3,3]) tuple(last, total)
})";
const Literal kAngles = Literal::Vector<float>(PrimitiveType::kF32, {0.01, 0.02, 0.03});

void ChangeState(Module& m) {
  const Shape before = Named(m, "loop").shape();
  EXPECT_TRUE(
      RunPipeline(m, {.passes = "while-loop-invariant-code-motion,while-loop-dot-sinking,simplify-while-loops,dce"}));
  const auto is_loop = [](const Instruction* inst) { return inst->Is(Opcode::kWhile); };
  const auto& instructions = m.entry().Instructions();
  const auto loop = std::ranges::find_if(instructions, is_loop);
  ASSERT_TRUE(loop != instructions.end());
  EXPECT_FALSE(Compatible(before, (*loop)->shape())) << "no pass changed the state";
}

TEST(ComparedLoops, AStateThatPassesChangedIsComparedTripByTrip) {
  const WidenedResult result = Compared(kChanging, kAngles, ChangeState);
  EXPECT_EQ(result.verdict, Verdict::kMatch) << result.reason;
  EXPECT_GT(result.instructions, 60);
  // After 60 trips nothing is left of what an f64 knew of the first state.
  EXPECT_EQ(result.vacuous + result.undetermined + result.by_bits, 0);
}

TEST(ComparedLoops, AFaultInAChangedLoopIsNamedInItsTrip) {
  const WidenedResult result = Compared(kChanging, kAngles, [](Module& m) {
    ChangeState(m);
    Instruction& rest = Named(m, "rest");
    rest.ReplaceAllUses(rest.computation().Add(Opcode::kSubtract, rest.shape(), {&rest.operand(1), &rest.operand(0)}));
    rest.computation().RemoveDeadTree(rest);
  });
  ASSERT_EQ(result.verdict, Verdict::kMismatch);
  EXPECT_NE(result.reason.find("differs from 'rest' before the passes (iteration 0 of 'loop"), std::string::npos)
      << result.reason;
}

TEST(ComparedLoops, AFaultInWhatPassesAddedToTheStateIsFound) {
  for (const bool outside : {false, true}) {
    const WidenedResult result = Compared(kChanging, kAngles, [outside](Module& m) {
      ChangeState(m);
      if (outside) {  // cos(w) becomes sin(w), in front of the loop.
        for (Instruction* inst : m.entry().Instructions()) {
          if (inst->Is(Opcode::kCos))
            inst->ReplaceAllUses(m.entry().Add(Opcode::kSin, inst->shape(), {&inst->operand(0)}));
        }
        return;
      }
      for (Instruction* inst :
           Named(m, "y").computation().Instructions()) {  // Each row of a stack is put in one too far.
        if (!inst->Is(Opcode::kDynamicUpdateSlice)) continue;
        Computation& body = inst->computation();
        Instruction& one = body.AddConstant(Literal::Scalar(inst->operand(2).shape().type(), int64_t{1}));
        inst->SetOperand(2, body.Add(Opcode::kAdd, one.shape(), {&inst->operand(2), &one}));
        return;
      }
      ADD_FAILURE() << "nothing is stacked";
    });
    ASSERT_EQ(result.verdict, Verdict::kMismatch) << outside;
    EXPECT_NE(result.reason.find(outside ? "iteration 0 of 'loop" : "differs from 'total' before the passes"),
              std::string::npos)
        << result.reason;
  }
}

}  // namespace
}  // namespace hlo
