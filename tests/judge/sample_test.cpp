// The judge by samples: moved values are not computed, values of a run do not make a right pass wrong, and slices have
// the bits of the whole.
#include "judge/sample.h"

#include <gtest/gtest.h>

#include <bit>

#include "compare_widened_cases.h"
#include "interp/nan_bits.h"
#include "judge/bounds/slice.h"
#include "judge/value_numbers.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

struct Judged {
  std::unique_ptr<Module> before, after;
  SampleResult result;
};

// Instructions of the same name have the same value, unless the name begins with "new".
Judged JudgeTexts(std::string before, std::string after, const SampleOptions& options = {},
                  Preserves promise = Preserves::kExact) {
  Judged judged{Parsed(std::move(before)), Parsed(std::move(after)), {}};
  for (const Computation* computation : judged.after->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const Instruction* origin = Named(*judged.before, inst->name());
      if (origin != nullptr && !inst->name().starts_with("new")) inst->SetOrigin(origin->id());
    }
  }
  const auto args = MakeArguments(*judged.before);
  EXPECT_TRUE(args);
  auto result = CompareBySample(*judged.before, *judged.after, *args, OriginsOf::kBefore, promise, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  if (result) judged.result = std::move(*result);
  return judged;
}

SampleResult AfterPass(const std::string& text, const std::function<void(Module&)>& pass,
                       const SampleOptions& options = {}) {
  const auto module = Parsed(text);
  const auto after = module->Clone(/*as_input=*/true);
  pass(*after);
  const auto args = MakeArguments(*module);
  EXPECT_TRUE(args);
  auto result = CompareBySample(*module, *after, *args, OriginsOf::kBefore, Preserves::kExact, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return result ? std::move(*result) : SampleResult();
}

std::string Entry(const std::string& body) { return "HloModule m\nENTRY main {\n" + body + "\n}\n"; }

TEST(JudgeSample, NothingIsComputedOfWhatIsTheSame) {
  for (const char* passes : {"", "dce", "call-inliner,dce", "cse", "fusion"}) {
    const SampleResult result = AfterPass(kModule, [&](Module& m) { ASSERT_TRUE(RunPipeline(m, {.passes = passes})); });
    EXPECT_EQ(result.verdict, Verdict::kMatch) << passes;
    EXPECT_EQ(result.changed, 0) << passes;
  }
}

TEST(JudgeSample, AChangedValueIsCompared) {
  const std::string before =
      Entry("x = f32[5000] parameter(0)\n y = f32[5000] add(x, x)\n ROOT z = f32[5000] exponential(y)");
  const auto with = [&](const char* y) {
    return JudgeTexts(before, Entry(std::string("x = f32[5000] parameter(0)\n new.c = f32[] constant(2)\n"
                                                "new.cs = f32[5000] broadcast(new.c), dimensions={}\n y = f32[5000] ") +
                                    y + "\n ROOT z = f32[5000] exponential(y)"));
  };
  const Judged right = with("multiply(x, new.cs)"), wrong = with("add(x, new.cs)");
  EXPECT_EQ(right.result.verdict, Verdict::kMatch) << right.result.reason;
  EXPECT_EQ(right.result.changed, 1);
  EXPECT_EQ(right.result.by_bits, 1);
  ASSERT_EQ(wrong.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(wrong.result.finding->before->name(), "y");
  EXPECT_EQ(wrong.result.reason.substr(0, 40), "'y' differs from 'y' before the passes i");
}

TEST(JudgeSample, ExchangedResultsAreFound) {
  const auto results = [](const char* order) {
    return Entry(
        Str("x = f32[3] parameter(0)\n y = f32[3] negate(x)\n z = f32[3] abs(x)\n ROOT t = (f32[3], f32[3]) tuple(",
            order, ")"));
  };
  EXPECT_EQ(JudgeTexts(results("y, z"), results("y, z")).result.verdict, Verdict::kMatch);
  EXPECT_EQ(JudgeTexts(results("y, z"), results("z, y")).result.verdict, Verdict::kMismatch);
}

// A run stored another value of 'a' than the interpreter computes, as a kernel may. The difference of two equal values
// is still 0, and a pass that uses this is right.
TEST(JudgeSample, ValuesOfARunAccuseNoPass) {
  const std::string head = "x = f32[5000] parameter(0)\n a = f32[5000] exponential(x)\n";
  const std::string before = Entry(head +
                                   "b = f32[5000] exponential(x)\n d = f32[5000] subtract(a, b)\n"
                                   "ROOT t = (f32[5000], f32[5000]) tuple(a, d)");
  const auto after = [&](const char* d) {
    return Entry(head + Str("d = f32[5000] ", d, "\n ROOT t = (f32[5000], f32[5000]) tuple(a, d)"));
  };
  const auto module = Parsed(before);
  const int id = Named(*module, "a")->id();
  SampleOptions options;
  options.left.has = [&](int value) { return value == id; };
  options.left.take = [&](int) -> Result<std::shared_ptr<const Literal>> {
    Literal left(Shape(PrimitiveType::kF32, {5000}));
    for (int64_t i = 0; i < 5000; ++i) left.SetDouble(i, 1.5);
    return std::make_shared<const Literal>(std::move(left));
  };
  EXPECT_EQ(JudgeTexts(before, after("subtract(a, a)"), options).result.verdict, Verdict::kMatch);
  EXPECT_EQ(JudgeTexts(before, after("add(a, a)"), options).result.verdict, Verdict::kMismatch);
  const std::string folded = Entry(head +
                                   "c = f32[] constant(0)\n d = f32[5000] broadcast(c), dimensions={}\n"
                                   "ROOT t = (f32[5000], f32[5000]) tuple(a, d)");
  EXPECT_EQ(JudgeTexts(before, folded, options).result.verdict, Verdict::kMatch);
}

TEST(JudgeSample, ALargeProductIsSampled) {
  const std::string before = Entry(
      "x = f32[600,300] parameter(0)\n y = f32[300,500] parameter(1)\n"
      "d = f32[600,500] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "ROOT n = f32[600,500] negate(d)");
  const auto after = [](const char* x) {
    return Entry(Str("x = f32[600,300] parameter(0)\n y = f32[300,500] parameter(1)\n new.x = f32[600,300] ", x,
                     "(x)\n new.d = f32[600,500] dot(new.x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
                     "ROOT n = f32[600,500] copy(new.d)"));
  };
  const SampleOptions options = {.work_limit = 20'000'000};
  const Judged right = JudgeTexts(before, after("negate"), options), wrong = JudgeTexts(before, after("abs"), options);
  EXPECT_EQ(right.result.verdict, Verdict::kMatch) << right.result.reason;
  EXPECT_GE(right.result.elements, 4096);
  EXPECT_LT(right.result.elements, 300'000);
  EXPECT_EQ(wrong.result.verdict, Verdict::kMismatch);
}

TEST(JudgeSample, WhatTakesTooLongIsOpen) {
  const std::string before = Entry(
      "x = f32[900,900] parameter(0)\n"
      "ROOT s = f32[900,900] cholesky(x), lower=true");
  const std::string after = Entry(
      "x = f32[900,900] parameter(0)\n new.c = f32[900,900] negate(x)\n"
      "new.n = f32[900,900] negate(new.c)\n ROOT s = f32[900,900] cholesky(new.n), lower=true");
  const Judged judged = JudgeTexts(before, after, {.work_limit = 1000});
  EXPECT_EQ(judged.result.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(judged.result.beyond_work);
  EXPECT_NE(judged.result.reason.find("--work_limit"), std::string::npos) << judged.result.reason;
}

// ---- Loops ---------------------------------------------------------------------------------------------------------

// A loop with an element that changes, a constant element, a sum of products, and an element that nothing reads.
constexpr const char* kLoop = R"(HloModule m
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
  y = f32[3] multiply(product, factor)
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

// The passes change the state: they drop an element that nothing reads, and they add a hoisted value.
void ChangeState(Module& m) {
  const Shape before = Named(m, "loop")->shape();
  ASSERT_TRUE(RunPipeline(m, {.passes = "while-loop-invariant-code-motion,simplify-while-loops,dce"}));
  for (const Instruction* inst : m.entry().Instructions())
    EXPECT_FALSE(inst->Is(Opcode::kWhile) && Compatible(before, inst->shape())) << "no pass changed the state";
}

void Replace(Instruction& inst, Opcode opcode, const std::vector<int>& order) {
  std::vector<Instruction*> operands;
  for (const int i : order) operands.push_back(&inst.operand(i));
  inst.ReplaceAllUses(inst.computation().Add(opcode, inst.shape(), operands));
  inst.computation().RemoveDeadTree(inst);
}

TEST(JudgeSample, ALoopWhoseStatePassesChangedIsTheSame) {
  const SampleResult result = AfterPass(kLoop, ChangeState);
  EXPECT_EQ(result.verdict, Verdict::kMatch) << result.reason;
  EXPECT_EQ(result.changed, 0);
}

TEST(JudgeSample, AFaultInABodyIsNamedInItsIteration) {
  for (const bool changes_state : {false, true}) {
    const SampleResult result = AfterPass(kLoop, [&](Module& m) {
      if (changes_state) ChangeState(m);
      Replace(*Named(m, "rest"), Opcode::kSubtract, {1, 0});
    });
    ASSERT_EQ(result.verdict, Verdict::kMismatch);
    EXPECT_NE(result.reason.find("'rest' before the passes"), std::string::npos) << result.reason;
  }
}

TEST(JudgeSample, AFaultInWhatPassesHoistedIsFound) {
  const SampleResult result = AfterPass(kLoop, [](Module& m) {
    ChangeState(m);
    for (Instruction* inst : m.entry().Instructions()) {
      if (inst->Is(Opcode::kCos)) inst->ReplaceAllUses(m.entry().Add(Opcode::kSin, inst->shape(), {&inst->operand(0)}));
    }
  });
  EXPECT_EQ(result.verdict, Verdict::kMismatch) << result.reason;
}

TEST(JudgeSample, AFaultThatOnlyLaterIterationsShowIsFound) {
  const SampleResult result = AfterPass(kLoop, [](Module& m) {
    // Replaces i + 1 by i + 1 + (i > 20).
    Instruction& next = *Named(m, "next");
    Computation& body = next.computation();
    Instruction& twenty = body.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{20}));
    Instruction& later = body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&next.operand(0), &twenty},
                                  CompareAttrs{.direction = ComparisonDirection::kGt});
    Instruction& extra = body.Add(Opcode::kConvert, next.shape(), {&later});
    Instruction& sum = body.Add(Opcode::kAdd, next.shape(), {&next.operand(0), &next.operand(1)});
    next.ReplaceAllUses(body.Add(Opcode::kAdd, next.shape(), {&sum, &extra}));
    body.RemoveDeadTree(next);
  });
  EXPECT_EQ(result.verdict, Verdict::kMismatch) << result.reason;
}

// The wrong condition is right in all states with which iterations begin.
TEST(JudgeSample, ALoopThatEndsTooLateIsFound) {
  const SampleResult result = AfterPass(kLoop, [](Module& m) {
    Instruction& go = *Named(m, "go");
    go.ReplaceAllUses(go.computation().Add(Opcode::kCompare, go.shape(), {&go.operand(0), &go.operand(1)},
                                           CompareAttrs{.direction = ComparisonDirection::kLe}));
  });
  ASSERT_EQ(result.verdict, Verdict::kMismatch) << result.reason;
  EXPECT_EQ(result.finding->loop, "iteration 60 of 'loop'");
}

// ---- Slices --------------------------------------------------------------------------------------------------------

TEST(JudgeSample, SlicesHaveTheBitsOfTheWhole) {
  const char* const bodies[] = {
      "x = f32[90,70] parameter(0)\n y = f32[70,110] parameter(1)\n"
      "ROOT d = f32[90,110] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
      "x = bf16[7,40,30] parameter(0)\n y = bf16[7,30,50] parameter(1)\n"
      "ROOT d = f32[7,40,50] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}",
      "x = f32[3,20,21,5] parameter(0)\n y = f32[3,3,5,8] parameter(1)\n"
      "ROOT c = f32[3,20,21,8] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
      "x = bf16[2,6,24,25] parameter(0)\n y = bf16[12,3,3,2] parameter(1)\n"
      "ROOT c = bf16[2,12,13,25] convolution(x, y), window={size=3x2 stride=2x1 pad=2_1x1_0 rhs_reversal=1x0}, "
      "dim_labels=bf01_oi01->bf01, feature_group_count=2",
      "x = f32[120,90] parameter(0)\n y = f32[120,90] exponential(x)\n t = f32[90,120] transpose(y), dimensions={1,0}\n"
      "ROOT s = f32[80,50] slice(t), slice={[10:90], [0:100:2]}",
  };
  for (const char* body : bodies) {
    const auto module = Parsed(Entry(body));
    const auto args = MakeArguments(*module);
    ASSERT_TRUE(args);
    std::vector<shadow::ConeArgument> cone_args;
    for (size_t i = 0; i < args->size(); ++i)
      cone_args.push_back({.literal = &(*args)[i], .value = {}, .key = static_cast<int>(i)});
    const shadow::Cone cone = shadow::ConeOf(module->entry().root(), cone_args, nullptr, nullptr);
    const auto slices = shadow::SlicesOfBoth(cone, cone, 1000, int64_t{1} << 40, 7);
    ASSERT_TRUE(slices && *slices) << body;
    const auto whole = Interpret(*module, *args);
    ASSERT_TRUE(whole);
    for (const auto* side : {&(*slices)->before, &(*slices)->after}) {
      const auto some = shadow::InterpretSlice(*side->module, side->wanted, (*slices)->args, {});
      ASSERT_TRUE(some) << some.error().message();
      const std::vector<int64_t>& points = (*slices)->points;
      ASSERT_EQ(some->shape().NumElements(), std::ssize(points));
      EXPECT_GE(std::ssize(points), 64);
      EXPECT_LT(std::ssize(points), 1000);
      for (size_t i = 0; i < points.size(); ++i)
        ASSERT_EQ(some->GetDouble(static_cast<int64_t>(i)), whole->GetDouble(points[i])) << body << points[i];
    }
  }
}

}  // namespace
}  // namespace hlo
