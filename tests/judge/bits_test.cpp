// The judge by bits: it accepts right passes, finds wrong values where they are computed, and leaves bits of NaNs open.
#include "judge/bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "compare_widened_cases.h"
#include "driver/run/pass_segments.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

// Judges a pair of texts. Instructions of the same name have the same value, unless the name begins with "new".
struct Judged {
  std::unique_ptr<Module> before, after;
  BitsResult result;

  std::string after_name() const { return result.finding ? std::string(result.finding->after->name()) : ""; }
};

Judged JudgeTexts(std::string before, std::string after, const std::vector<Literal>& args,
                  const BitsOptions& options = {}) {
  Judged judged{Parsed(std::move(before)), Parsed(std::move(after)), {}};
  for (const Computation* computation : judged.after->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const Instruction* origin = Named(*judged.before, inst->name());
      if (origin != nullptr && !inst->name().starts_with("new")) inst->SetOrigin(origin->id());
    }
  }
  auto result = CompareByBits(*judged.before, *judged.after, args, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  if (result) judged.result = std::move(*result);
  return judged;
}

std::string Entry(const std::string& body) { return "HloModule m\nENTRY main {\n" + body + "\n}\n"; }

Literal F32s(const std::vector<double>& values) { return Literal::Vector(PrimitiveType::kF32, values); }
Literal S32(int64_t value) { return Literal::Scalar(PrimitiveType::kS32, value); }

TEST(JudgeBits, TheSameModuleMatches) {
  const auto module = Parsed(kModule);
  const auto same = module->Clone(/*as_input=*/true);
  const auto args = MakeArguments(*module);
  ASSERT_TRUE(args);
  const auto result = CompareByBits(*module, *same, *args);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, Verdict::kMatch);
  EXPECT_GE(result->values, 9);
  EXPECT_EQ(ToString(*result).substr(0, 8), "values: ");
}

TEST(JudgeBits, AWrongResultIsShown) {
  const Judged judged =
      JudgeTexts(Entry("x = f32[3] parameter(0)\n ROOT new = f32[3] add(x, x)"),
                 Entry("x = f32[3] parameter(0)\n ROOT new = f32[3] multiply(x, x)"), {F32s({0, 2, 3})});
  EXPECT_EQ(judged.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(judged.result.reason, "the result differs in 1 of 3 elements");
  ASSERT_TRUE(judged.result.finding);
  EXPECT_EQ(judged.result.finding->comparison.bad(), 1);
}

TEST(JudgeBits, ZerosOfBothSignsDiffer) {
  const char* kAdd = "x = f32[2] parameter(0)\n z = f32[2] constant({0, 0})\n ROOT new = f32[2] add(x, z)";
  const char* kItself = "x = f32[2] parameter(0)\n ROOT new = f32[2] copy(x)";
  EXPECT_EQ(JudgeTexts(Entry(kAdd), Entry(kItself), {F32s({1, -0.0})}).result.verdict, Verdict::kMismatch);
  EXPECT_EQ(JudgeTexts(Entry(kAdd), Entry(kItself), {F32s({1, 0})}).result.verdict, Verdict::kMatch);
}

TEST(JudgeBits, NansAreEqual) {
  const char* kNegated = "x = f32[2] parameter(0)\n ROOT new = f32[2] negate(x)";
  const char* kItself = "x = f32[2] parameter(0)\n ROOT new = f32[2] copy(x)";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(JudgeTexts(Entry(kNegated), Entry(kItself), {F32s({nan, nan})}).result.verdict, Verdict::kMatch);
}

TEST(JudgeBits, AWrongValueThatDoesNotReachTheResultIsFound) {
  const char* kBefore = R"(
    x = f32[3] parameter(0)
    e = f32[3] add(x, x)
    f = f32[3] abs(e)
    i = pred[3] compare(f, f), direction=LT
    ROOT new = pred[3] not(i))";
  const char* kAfter = R"(
    x = f32[3] parameter(0)
    e = f32[3] subtract(x, x)
    f = f32[3] abs(e)
    i = pred[3] compare(f, f), direction=LT
    ROOT new = pred[3] not(i))";
  const Judged judged = JudgeTexts(Entry(kBefore), Entry(kAfter), {F32s({1, 2, 3})});
  EXPECT_EQ(judged.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(judged.after_name(), "e");
  EXPECT_EQ(judged.result.reason, "'e' differs from 'e' before the passes in 3 of 3 elements");
}

// ---- Bits of NaNs --------------------------------------------------------------------------------------------------

// x * 1 => x keeps a signalling NaN, whose bits a bitcast-convert shows.
Judged TimesOne(int64_t count, const std::string& wrong = "") {
  const std::string n = std::to_string(count);
  const std::string before = "p = u32[" + n + "] parameter(0)\n f = f32[" + n +
                             "] bitcast-convert(p)\n c = f32[] constant(1)\n" + "ones = f32[" + n +
                             "] broadcast(c), dimensions={}\n m = f32[" + n + "] multiply(f, ones)\n" +
                             "ROOT new = u32[" + n + "] bitcast-convert(m)";
  const std::string after = "p = u32[" + n + "] parameter(0)\n m = f32[" + n + "] bitcast-convert(p)\n" + wrong +
                            "ROOT new = u32[" + n + "] bitcast-convert(" + (wrong.empty() ? "m" : "w") + ")";
  Literal bits(Shape(PrimitiveType::kU32, {count}));
  for (int64_t i = 0; i < count; ++i) bits.SetInt(i, 0x3f800000 + i);
  bits.SetInt(1, 0x7f800001);
  return JudgeTexts(Entry(before), Entry(after), {bits});
}

TEST(JudgeBits, ASignallingNanBehindABitcastAccusesNobody) {
  const Judged few = TimesOne(200);
  EXPECT_EQ(few.result.verdict, Verdict::kMatch) << few.result.reason;
  EXPECT_EQ(few.result.undetermined, 1);
  EXPECT_NE(ToString(few.result).find("1 undetermined"), std::string::npos);
  const Judged many = TimesOne(4);
  EXPECT_EQ(many.result.verdict, Verdict::kInconclusive);
  EXPECT_EQ(many.result.reason, "25.0 % of the result depends on the bits of NaNs");
}

TEST(JudgeBits, ElementsThatDifferElsewhereAreWrongBesideANan) {
  const Judged judged = TimesOne(4, "w = f32[4] negate(m)\n");
  EXPECT_EQ(judged.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(judged.result.reason, "the result differs in 3 of 4 elements");
  EXPECT_EQ(judged.result.undetermined, 1);
  ASSERT_TRUE(judged.result.finding);
  EXPECT_EQ(judged.result.finding->comparison.bad(), 3);
}

TEST(JudgeBits, APairOfBitcastsThatGoesIsNotAccused) {
  const char* kBefore = R"(
    p = u32[4] parameter(0)
    f = f32[4] bitcast-convert(p)
    g = f32[4] negate(f)
    h = f32[4] negate(g)
    ROOT new = u32[4] bitcast-convert(h))";
  const char* kAfter = "p = u32[4] parameter(0)\n ROOT new = u32[4] copy(p)";
  Literal bits(Shape(PrimitiveType::kU32, {4}));
  for (int64_t i = 0; i < 4; ++i) bits.SetInt(i, 0x7f800001 + i);
  EXPECT_NE(JudgeTexts(Entry(kBefore), Entry(kAfter), {bits}).result.verdict, Verdict::kMismatch);
}

TEST(JudgeBits, TheOrderOfNansIsOpenInSorts) {
  const auto text = [](const std::string& key) {
    return R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER
}
ENTRY main {
  x = f32[6] parameter(0)
)" + key + R"(
  ROOT new = f32[6] sort(k), dimensions={0}, to_apply=less
})";
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Literal> args = {F32s({3, nan, 1, 2, 5, 4})};
  const Judged open = JudgeTexts(text("n = f32[6] negate(x)\n k = f32[6] negate(n)"),
                                 text("n = f32[6] negate(x)\n a = f32[6] abs(x)\n k = f32[6] negate(n)"), args);
  EXPECT_EQ(open.result.verdict, Verdict::kMatch);
  const Judged sign =
      JudgeTexts(text("k = f32[6] abs(x)"), text("n = f32[6] abs(x)\n o = f32[6] negate(n)\n k = f32[6] abs(o)"), args);
  EXPECT_EQ(sign.result.verdict, Verdict::kMatch);
  // The NaN is the last element in one text and the first in the other.
  const Judged moved = JudgeTexts(text("k = f32[6] abs(x)"),
                                  text("z = f32[6] constant({-nan, -nan, -nan, -nan, -nan, -nan})\n a = f32[6] abs(x)\n"
                                       "i = pred[6] compare(x, x), direction=NE\n k = f32[6] select(i, z, a)"),
                                  args);
  EXPECT_EQ(moved.result.verdict, Verdict::kInconclusive) << moved.result.reason;
}

// ---- Loops and conditionals ----------------------------------------------------------------------------------------

// The sum of v(i) for i in [0, n). `body` computes v.
std::string Loop(const std::string& body, const std::string& entry = "", const std::string& limit = "LT") {
  return R"(HloModule m
body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  c1 = s32[] constant(1)
  c5 = s32[] constant(5)
)" + body +
         R"(
  i1 = s32[] add(i, c1)
  t1 = s32[] add(t, v)
  ROOT r = (s32[], s32[]) tuple(i1, t1)
}
cond {
  cs = (s32[], s32[]) parameter(0)
  ci = s32[] get-tuple-element(cs), index=0
  n = s32[] constant(4)
  ROOT go = pred[] compare(ci, n), direction=)" +
         limit + R"(
}
ENTRY main {
  z = s32[] parameter(0)
)" + entry +
         R"(
  init = (s32[], s32[]) tuple(z, z)
  w = (s32[], s32[]) while(init), condition=cond, body=body
  ROOT new_result = s32[] get-tuple-element(w), index=1
})";
}

TEST(JudgeBits, AWrongValueInALoopIsFoundWithItsIteration) {
  // The first wrong iteration has i = 1, where i * i is not 2 i.
  const Judged judged =
      JudgeTexts(Loop("q = s32[] multiply(i, i)\n m = s32[] minimum(q, c5)\n v = s32[] multiply(m, c5)"),
                 Loop("q = s32[] add(i, i)\n m = s32[] minimum(q, c5)\n v = s32[] multiply(m, c5)"), {S32(0)});
  EXPECT_EQ(judged.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(judged.after_name(), "q");
  ASSERT_TRUE(judged.result.finding);
  EXPECT_EQ(judged.result.finding->loop, "iteration 1 of 'w'");
}

TEST(JudgeBits, WhatLeavesALoopIsNotAccused) {
  const Judged judged =
      JudgeTexts(Loop("v = s32[] multiply(c5, c5)"),
                 Loop("v = s32[] constant(25)", "c5 = s32[] constant(5)\n v = s32[] multiply(c5, c5)"), {S32(0)});
  EXPECT_EQ(judged.result.verdict, Verdict::kMatch) << judged.result.reason;
}

TEST(JudgeBits, AnUnrolledLoopIsCompared) {
  const auto unrolled = [](const std::string& last) {
    return Entry(R"(
    z = s32[] parameter(0)
    c5 = s32[] constant(5)
    one = s32[] constant(1)
    two = s32[] constant(2)
    three = s32[] constant(3)
    v0 = s32[] multiply(z, c5)
    v1 = s32[] multiply(one, c5)
    v2 = s32[] multiply(two, c5)
    v = s32[] multiply()" +
                 last + R"(, c5)
    k1 = s32[] add(v0, v1)
    k2 = s32[] add(k1, v2)
    ROOT new_result = s32[] add(k2, v))");
  };
  const std::string before = Loop("v = s32[] multiply(i, c5)");
  EXPECT_EQ(JudgeTexts(before, unrolled("three"), {S32(0)}).result.verdict, Verdict::kMatch);
  const Judged wrong = JudgeTexts(before, unrolled("c5"), {S32(0)});
  EXPECT_EQ(wrong.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(wrong.after_name(), "v");
}

TEST(JudgeBits, APassThatMakesALoopEndlessIsFound) {
  BitsOptions options;
  options.interpret.max_loop_iterations = 10000;
  const Judged judged =
      JudgeTexts(Loop("v = s32[] multiply(i, c5)"), Loop("v = s32[] multiply(i, c5)", "", "NE"), {S32(2)}, options);
  EXPECT_EQ(judged.result.verdict, Verdict::kMatch) << judged.result.reason;
  const Judged endless =
      JudgeTexts(Loop("v = s32[] multiply(i, c5)"), Loop("v = s32[] multiply(i, c5)", "", "GE"), {S32(9)}, options);
  EXPECT_EQ(endless.result.verdict, Verdict::kMismatch) << endless.result.reason;
  EXPECT_EQ(endless.result.reason,
            "the loop 'w' does not end within 10000 iterations, and before the passes it ended after 0");
  const Judged both = JudgeTexts(Loop("v = s32[] multiply(i, c5)", "", "GE"),
                                 Loop("v = s32[] multiply(i, c5)", "", "GE"), {S32(9)}, options);
  EXPECT_EQ(both.result.verdict, Verdict::kInconclusive) << both.result.reason;
}

TEST(JudgeBits, BothBranchesOfAConditionalMayBeComputed) {
  const char* kBefore = R"(HloModule m
yes {
  a = s32[] parameter(0)
  ROOT y = s32[] multiply(a, a)
}
no {
  b = s32[] parameter(0)
  ROOT n = s32[] add(b, b)
}
body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  p = pred[] compare(i, c2), direction=LT
  o = s32[] conditional(p, i, i), true_computation=yes, false_computation=no
  i1 = s32[] add(i, c1)
  t1 = s32[] add(t, o)
  ROOT r = (s32[], s32[]) tuple(i1, t1)
}
cond {
  cs = (s32[], s32[]) parameter(0)
  ci = s32[] get-tuple-element(cs), index=0
  c4 = s32[] constant(4)
  ROOT go = pred[] compare(ci, c4), direction=LT
}
ENTRY main {
  z = s32[] parameter(0)
  init = (s32[], s32[]) tuple(z, z)
  w = (s32[], s32[]) while(init), condition=cond, body=body
  ROOT new_result = s32[] get-tuple-element(w), index=1
})";
  std::string after = kBefore;
  const std::string conditional = "o = s32[] conditional(p, i, i), true_computation=yes, false_computation=no";
  after.replace(after.find(conditional), conditional.size(),
                "y = s32[] multiply(i, i)\n n = s32[] add(i, i)\n o = s32[] select(p, y, n)");
  for (const std::string name : {"yes {\n  a = s32[] parameter(0)\n  ROOT y = s32[] multiply(a, a)\n}",
                                 "no {\n  b = s32[] parameter(0)\n  ROOT n = s32[] add(b, b)\n}"})
    after.erase(after.find(name), name.size());
  const Judged judged = JudgeTexts(kBefore, after, {S32(0)});
  EXPECT_EQ(judged.result.verdict, Verdict::kMatch) << judged.result.reason;
  after.replace(after.find("select(p, y, n)"), 15, "select(p, n, y)");
  EXPECT_EQ(JudgeTexts(kBefore, after, {S32(0)}).result.verdict, Verdict::kMismatch);
}

TEST(JudgeBits, AWrongValueInATakenBranchIsFound) {
  const auto text = [](const std::string& op, const std::string& more = "") {
    return R"(HloModule m
yes {
  a = f32[3] parameter(0)
  q = f32[3] )" +
           op + R"((a, a)
  s = f32[3] abs(q)
  ROOT y = pred[3] compare(s, s), direction=LT
}
no {
  b = f32[3] parameter(0)
  ROOT n = pred[3] compare(b, b), direction=EQ
}
ENTRY main {
  p = pred[] parameter(0)
  x = f32[3] parameter(1)
)" + more + R"(
  ROOT new = pred[3] conditional(p, x, x), true_computation=yes, false_computation=no
})";
  };
  for (const bool taken : {true, false}) {
    Literal pred(Shape::Scalar(PrimitiveType::kPred));
    pred.SetInt(0, taken);
    const Judged judged = JudgeTexts(text("add"), text("multiply"), {pred, F32s({1, 3, 4})});
    EXPECT_EQ(judged.result.verdict, taken ? Verdict::kMismatch : Verdict::kMatch) << judged.result.reason;
    EXPECT_EQ(judged.after_name(), taken ? "q" : "");
  }
}

// ---- Several devices -----------------------------------------------------------------------------------------------

TEST(JudgeBits, ResultsOfAllDevicesAreCompared) {
  const auto text = [](const std::string& scale) {
    return R"(HloModule m, replica_count=2
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b)
}
ENTRY main {
  x = s32[3] parameter(0)
  r = u32[] replica-id()
  i = s32[] convert(r)
  f = s32[3] broadcast(i), dimensions={}
  m = s32[3] )" +
           scale + R"((x, f)
  all = s32[3] all-reduce(m), replica_groups={{0,1}}, to_apply=sum
  ROOT new = (s32[3], s32[3]) tuple(all, x)
})";
  };
  const std::vector<Literal> args = {Literal::Vector(PrimitiveType::kS32, std::vector<int64_t>{1, 2, 3})};
  EXPECT_EQ(JudgeTexts(text("add"), text("add"), args).result.verdict, Verdict::kMatch);
  const Judged judged = JudgeTexts(text("multiply"), text("subtract"), args);
  EXPECT_EQ(judged.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(judged.after_name(), "m");
}

// ---- Sizes and what cannot be judged -------------------------------------------------------------------------------

std::string DynamicSum(const std::string& size) {
  return R"(HloModule m
ad {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}
ENTRY main {
  x = s32[8] parameter(0)
  n = s32[] parameter(1)
  )" + size +
         R"(
  d = s32[<=8] set-dimension-size(x, m), dimensions={0}
  z = s32[] constant(0)
  t = s32[] reduce(d, z), dimensions={0}, to_apply=ad
  ROOT r = (s32[<=8], s32[]) tuple(d, t)
})";
}

TEST(JudgeBits, DynamicSizesAreCompared) {
  const std::vector<Literal> args = {Literal::Vector(PrimitiveType::kS32, std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}),
                                     S32(3)};
  const std::string before = DynamicSum("m = s32[] copy(n)");
  EXPECT_EQ(JudgeTexts(before, DynamicSum("m = s32[] add(n, n)\n"), args).after_name(), "m");
  EXPECT_EQ(JudgeTexts(before, before, args).result.verdict, Verdict::kMatch);
  std::string cut = DynamicSum("m = s32[] copy(n)\n new_m = s32[] add(n, n)");
  cut.replace(cut.find("set-dimension-size(x, m)"), 24, "set-dimension-size(x, new_m)");
  const Judged judged = JudgeTexts(before, cut, args);
  EXPECT_EQ(judged.result.verdict, Verdict::kMismatch);
  EXPECT_EQ(judged.after_name(), "d");
  EXPECT_EQ(judged.result.reason, "'d' differs from 'd' before the passes in size");
}

TEST(JudgeBits, WhatCannotBeInterpretedIsNotJudged) {
  const Judged judged =
      JudgeTexts(Entry("x = f32[3] parameter(0)\n ROOT new = f32[3] custom-call(x), custom_call_target=\"nobody\""),
                 Entry("x = f32[3] parameter(0)\n ROOT new = f32[3] custom-call(x), custom_call_target=\"nobody\""),
                 {F32s({0, 2, 3})});
  EXPECT_EQ(judged.result.verdict, Verdict::kUnsupported);
  EXPECT_NE(judged.result.reason.find("nobody"), std::string::npos) << judged.result.reason;
}

// ---- Segments of a pipeline ----------------------------------------------------------------------------------------

struct RunOfSegments {
  std::unique_ptr<Module> input;
  std::unique_ptr<PassSegments> segments;
};

RunOfSegments RunSegments(const std::string& text, const PipelineOptions& pipeline, const std::vector<Literal>& args,
                          InstanceJudge judge = nullptr) {
  RunOfSegments run;
  run.input = Parsed(text);
  run.segments = std::make_unique<PassSegments>(
      *run.input, args, SegmentOptions{.bits = {}, .judge = std::move(judge), .pipeline = pipeline});
  PipelineOptions options = pipeline;
  options.before = [&](const PassRun& pass, Module& module) { return run.segments->Before(pass, module); };
  options.after = [&](const PassRun& pass, Module& module) { return run.segments->After(pass, module); };
  const auto module = run.input->Clone(/*as_input=*/true);
  const auto report = RunPipeline(*module, options);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message());
  EXPECT_TRUE(run.segments->Finish(*module));
  return run;
}

constexpr const char* kTimesZero = R"(HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] copy(x)
  c = f32[] constant(0)
  z = f32[3] broadcast(c), dimensions={}
  p = f32[3] multiply(y, z)
  l = f32[3] logistic(x)
  ROOT r = (f32[3], f32[3]) tuple(p, l)
})";

TEST(PassSegments, ExactInstancesAreJudgedTogetherAndOthersAlone) {
  int asked = 0;
  const RunOfSegments run =
      RunSegments(kTimesZero, {.passes = "algsimp,cse,dce,logistic-expander,algsimp,dce"}, {F32s({1, 2, 0.3})},
                  [&](const PassRun& pass, const Module& before, const Module& after) -> Result<InstanceVerdict> {
                    ++asked;
                    EXPECT_EQ(NameOf(pass), "logistic-expander#1");
                    EXPECT_EQ(after.entry().root().origin(), before.entry().root().id());
                    return InstanceVerdict{};
                  });
  const SegmentsResult& result = run.segments->result();
  EXPECT_EQ(result.verdict, Verdict::kMatch);
  EXPECT_EQ(result.other_instances, 1);
  EXPECT_EQ(result.equal_in_bits + result.by_residues + asked, 1);
  EXPECT_GE(result.segments, 1);
  EXPECT_GT(result.values, 0);
}

// Sums over a window and over a whole array of dynamic size, through the complete pipeline.
TEST(PassSegments, ModulesOfDynamicSizesGetAVerdict) {
  const char* kRunningSum = R"(HloModule m
ad {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}
ENTRY main {
  x = s32[8] parameter(0)
  n = s32[] parameter(1)
  d = s32[<=8] set-dimension-size(x, n), dimensions={0}
  z = s32[] constant(0)
  c = s32[<=8] reduce-window(d, z), window={size=8 pad=7_0}, to_apply=ad
  t = s32[] reduce(c, z), dimensions={0}, to_apply=ad
  g = s32[] get-dimension-size(c), dimensions={0}
  ROOT r = (s32[], s32[], s32[<=8]) tuple(t, g, c)
})";
  const Literal x = Literal::Vector(PrimitiveType::kS32, std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  for (const int64_t size : {0, 5, 8}) {
    const RunOfSegments run = RunSegments(kRunningSum, {}, {x, S32(size)});
    const SegmentsResult& result = run.segments->result();
    EXPECT_EQ(result.verdict, Verdict::kMatch) << size << ": " << (result.open.empty() ? "" : result.open[0].reason);
    EXPECT_GE(result.values, 3);
  }
}

TEST(PassSegments, APlantedFaultIsFoundAndItsInstanceNamed) {
  const PipelineOptions pipeline = {.passes = "dce,cse,algsimp,dce,cse", .inject = "algsimp:multiply_by_zero"};
  const std::vector<Literal> args = {F32s({1, -2, 0.5})};
  const RunOfSegments run = RunSegments(kTimesZero, pipeline, args);
  ASSERT_TRUE(run.segments->is_wrong());
  const SegmentsResult& result = run.segments->result();
  EXPECT_EQ(result.verdict, Verdict::kMismatch);
  EXPECT_TRUE(result.wrong->exact);
  ASSERT_TRUE(result.finding);
  EXPECT_EQ(result.finding->before->name(), "p");
  const auto again = [&](const PassObserver& before, const PassObserver& after) -> Result<std::unique_ptr<Module>> {
    PipelineOptions options = pipeline;
    options.before = before;
    options.after = after;
    std::unique_ptr<Module> module = run.input->Clone(/*as_input=*/true);
    TRY(RunPipeline(*module, options));
    return module;
  };
  const auto wrong = FirstWrongInstance(*result.wrong, args, {}, again);
  ASSERT_TRUE(wrong) << wrong.error().message();
  EXPECT_EQ(NameOf(*wrong), "algsimp#1");
}

TEST(PassSegments, AFaultBehindAnInstanceThatIsNotExactIsFound) {
  const RunOfSegments run = RunSegments(
      kTimesZero, {.passes = "logistic-expander,cse,algsimp,dce", .inject = "algsimp:multiply_by_zero"},
      {F32s({1, -2, 0.5})},
      [](const PassRun&, const Module&, const Module&) -> Result<InstanceVerdict> { return InstanceVerdict{}; });
  ASSERT_TRUE(run.segments->is_wrong());
  ASSERT_TRUE(run.segments->result().finding);
  EXPECT_EQ(run.segments->result().finding->before->name(), "p");
}

}  // namespace
}  // namespace hlo
