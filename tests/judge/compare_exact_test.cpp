// Comparators `exact` and `ensemble` (docs/comparison.md#exact) on cases worked by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "judge/bounds/exact_plan.h"
#include "judge/compare/compare.h"
#include "judge/compare/ensemble.h"
#include "parser/parser.h"
#include "tests/read_file.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Parsed(std::string text) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", std::move(text)));
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message());
  return module ? std::move(*module) : nullptr;
}

std::vector<Literal> Made(const Module& module, const ArgumentOptions& options) {
  auto values = MakeArguments(module, options);
  EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().message());
  return values ? *values : std::vector<Literal>();
}

Literal Interpreted(const Module& module, std::span<const Literal> args) {
  auto result = Interpret(module, args);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return result ? *result : Literal();
}

ExactPlan PlanOf(const Module& module, std::span<const Literal> args, const ExactOptions& options = {}) {
  ExactPlan plan(options);
  InterpretOptions watched;
  watched.on_value = [&](const Instruction& inst, const Literal& value) { plan.Saw(inst, value); };
  EXPECT_TRUE(Interpret(module, args, watched).has_value());
  return plan;
}

ExactPlan PlanOf(const std::string& text, int64_t bound = 8) {
  const auto module = Parsed(text);
  return PlanOf(*module, Made(*module, {.profile = InputProfile::kExact, .exact_bound = bound}));
}

TEST(Exact, MagnitudesAreMultiplesOfAPowerOfTwo) {
  Literal x(Shape(PrimitiveType::kF32, {4}));
  const auto set = [&](double a, double b, double c, double d) {
    x.SetDouble(0, a);
    x.SetDouble(1, b);
    x.SetDouble(2, c);
    x.SetDouble(3, d);
    return MagnitudeOf(x);
  };
  EXPECT_EQ(set(0, 3, -12, 6).most, 12);
  EXPECT_EQ(set(0, 3, -12, 6).unit, 0);
  EXPECT_EQ(set(4, 8, -12, 0).unit, 2);
  EXPECT_EQ(set(1, 0.25, 2, 0).unit, -2);
  EXPECT_EQ(set(5, -0.75, INFINITY, NAN).most, 5);
  EXPECT_EQ(set(5, -0.75, INFINITY, NAN).unit, -2);
}

// The sums are of 100 products of at most 64, and 6400 < 2^24, so f32 represents them exactly.
TEST(Exact, SumsThatFitAreExact) {
  const ExactPlan plan = PlanOf(ReadFile("testdata/judge/exact/dot.hlo"));
  EXPECT_TRUE(plan.exact()) << plan.reason();
  EXPECT_EQ(plan.instructions(), 3);
  EXPECT_FALSE(plan.zeros_have_signs());
}

// bf16 represents integers up to 256. 100 terms of at most 64 or 4 do not fit, but 100 terms of at most 1 do.
TEST(Exact, TheTypeDecides) {
  std::string text = ReadFile("testdata/judge/exact/dot.hlo");
  for (size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, "bf16");
  const ExactPlan plan = PlanOf(text.c_str());
  EXPECT_EQ(plan.reason(), "'z' (dot) has sums of at most 6400, which bf16 with 8 bits cannot hold");
  EXPECT_FALSE(PlanOf(text.c_str(), 2).exact());
  EXPECT_TRUE(PlanOf(text.c_str(), 1).exact());
}

TEST(Exact, FunctionsDivisionsAndOpenOrdersAreNamed) {
  const auto reason = [](const char* body) {
    return PlanOf((std::string("HloModule m\n"
                               "set { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }\n"
                               "lt { a = f32[] parameter(0) b = f32[] parameter(1) p = f32[] parameter(2) q = f32[] "
                               "parameter(3) ROOT c = pred[] compare(a, b), direction=LT }\n"
                               "mean { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] subtract(a, b) ROOT d = "
                               "f32[] add(c, b) }\n"
                               "ENTRY main {\n  x = f32[4] parameter(0)\n  i = s32[4,1] parameter(1)\n"
                               "  half = f32[] constant(0.5)\n  halves = f32[4] broadcast(half), dimensions={}\n"
                               "  third = f32[] constant(0.333)\n  thirds = f32[4] broadcast(third), dimensions={}\n") +
                   body + "\n}")
                      .c_str())
        .reason();
  };
  EXPECT_EQ(reason("  ROOT y = f32[4] exponential(x)"), "'y' (exponential) rounds");
  EXPECT_EQ(reason("  ROOT y = f32[4] divide(x, halves)"), "");
  EXPECT_EQ(reason("  ROOT y = f32[4] multiply(x, halves)"), "");
  EXPECT_EQ(reason("  ROOT y = f32[4] divide(halves, x)"),
            "'y' (divide) rounds: its divisors are not all the same power of two");
  EXPECT_NE(reason("  ROOT y = f32[4] multiply(x, thirds)"), "");
  EXPECT_NE(reason("  ROOT y = bf16[4] convert(thirds)"), "");
  EXPECT_EQ(reason("  ROOT y = bf16[4] convert(x)"), "");
  EXPECT_EQ(reason("  ROOT y = f32[4] reduce-precision(x), exponent_bits=5, mantissa_bits=3"), "");
  EXPECT_NE(reason("  ROOT y = f32[4] reduce-precision(x), exponent_bits=5, mantissa_bits=1"), "");
  EXPECT_EQ(reason("  ROOT y = f32[] reduce(x, half), dimensions={0}, to_apply=mean"),
            "'y' (reduce) combines elements by 'mean', which may round");
  EXPECT_EQ(reason("  ROOT y = (f32[4], f32[4]) sort(x, halves), dimensions={0}, to_apply=lt"),
            "'y' (sort) does not define the order of equal keys");
  EXPECT_EQ(reason("  ROOT y = (f32[4], f32[4]) sort(x, halves), dimensions={0}, is_stable=true, to_apply=lt"), "");
  const std::string scatter =
      "  ROOT y = f32[4] scatter(x, i, halves), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set";
  EXPECT_EQ(reason(scatter.c_str()), "'y' (scatter) keeps one of several updates, and it is not defined which one");
  EXPECT_EQ(reason((scatter + ", unique_indices=true").c_str()), "");
}

TEST(Exact, AnArgmaxWithoutATieBreakKeepsAnyOfEqualElements) {
  const auto reason = [](std::string_view pick) {
    return PlanOf(Str(R"(
pick {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  left = pred[] )",
                      pick, R"(
  x = f32[] select(left, a, b)
  n = s32[] select(left, i, j)
  ROOT both = (f32[], s32[]) tuple(x, n)
}
ENTRY main {
  x = f32[16] parameter(0)
  n = s32[16] iota(), iota_dimension=0
  least = f32[] constant(-inf)
  none = s32[] constant(0)
  ROOT most = (f32[], s32[]) reduce(x, n, least, none), dimensions={0}, to_apply=pick
})")
                      .c_str())
        .reason();
  };
  EXPECT_EQ(reason("or(more, tie)"), "");
  EXPECT_EQ(reason("copy(more)"),
            "'most' (reduce) keeps one of several equal elements, and it is not defined which one");
}

// 2049 needs 12 bits, which f32 has and tf32 has not.
TEST(Exact, Tf32HasElevenBits) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/dot.hlo"));
  std::vector<Literal> args = Made(*module, {.profile = InputProfile::kExact});
  args[0].SetDouble(0, 2049);
  EXPECT_TRUE(PlanOf(*module, args).exact());
  EXPECT_EQ(PlanOf(*module, args, {.allow_tf32 = true}).reason(),
            "'z' (dot) has operands of more than the 11 bits of tf32");
}

// Each iteration is judged by the values that it had in the run. The body multiplies by 3. f32 represents 3^15 exactly,
// but not 3^16.
TEST(Exact, LoopsAreWhatTheyWereInTheRun) {
  const std::string text = R"(HloModule m
condition { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(N) ROOT c = pred[] compare(i, n), direction=LT }
body {
  s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  odd = f32[] constant(3)
  odds = f32[2] broadcast(odd), dimensions={}
  y = f32[2] multiply(x, odds)
  ROOT t = (s32[], f32[2]) tuple(j, y)
}
ENTRY main {
  x = f32[2] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[2]) tuple(zero, x)
  ROOT w = (s32[], f32[2]) while(s), condition=condition, body=body
})";
  const auto with = [&](const char* trips) {
    std::string own = text;
    own.replace(own.find("constant(N)"), 11, std::string("constant(") + trips + ")");
    return PlanOf(own.c_str(), 1);
  };
  EXPECT_TRUE(with("15").exact()) << with("15").reason();  // 3^15 = 14348907 < 2^24
  EXPECT_EQ(with("16").reason(), "'y' (multiply) has products of at most 43046721, which f32 with 24 bits cannot hold");
}

TEST(Exact, ADroppedTermShows) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/dot.hlo"));
  std::vector<Literal> args = Made(*module, {.profile = InputProfile::kExact});
  const Literal expected = Interpreted(*module, args);
  Literal backward(expected.shape()), dropped(expected.shape());
  for (int64_t i = 0; i < 6; ++i) {
    float sum = 0;
    for (int64_t k = 99; k >= 0; --k)
      sum += args[0].data<float>()[i / 2 * 100 + k] * args[1].data<float>()[k * 2 + i % 2];
    backward.SetDouble(i, sum);
    dropped.SetDouble(i, sum - args[0].data<float>()[i / 2 * 100 + 99] * args[1].data<float>()[99 * 2 + i % 2]);
  }
  EXPECT_EQ(CompareBitwise(expected, backward).verdict, Verdict::kMatch);
  EXPECT_EQ(CompareBitwise(expected, dropped).bad(), 6);
}

// ---- Ensemble -------------------------------------------------------------------------------------------------------

EnsembleResult Ensemble(const Module& module, std::span<const Literal> args, const Literal& actual) {
  auto result = CompareEnsemble(module, args, actual);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return result ? *result : EnsembleResult();
}

// Roundings explain f32 sums in any order. They do not explain sums that lack a term or were computed in bf16.
TEST(Ensemble, OrdersMatchAndWrongSumsAreSuspect) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/sum.hlo"));
  for (const InputProfile profile : {InputProfile::kNormal, InputProfile::kXla}) {
    const std::vector<Literal> args = Made(*module, {.profile = profile});
    const std::span<const float> x = args[0].data<float>();
    Literal forward(module->entry().root().shape()), backward = forward, tree = forward, dropped = forward;
    for (int64_t row = 0; row < 20; ++row) {
      float up = 0, down = 0;
      for (int64_t k = 0; k < 2000; ++k) up += x[row * 2000 + k];
      for (int64_t k = 1999; k >= 0; --k) down += x[row * 2000 + k];
      std::vector<float> parts(x.begin() + row * 2000, x.begin() + (row + 1) * 2000);
      while (parts.size() > 1) {
        for (size_t k = 0; k < parts.size() / 2; ++k) parts[k] = parts[2 * k] + parts[2 * k + 1];
        if (parts.size() % 2 != 0) parts[parts.size() / 2] = parts.back();
        parts.resize((parts.size() + 1) / 2);
      }
      forward.SetDouble(row, up);
      backward.SetDouble(row, down);
      tree.SetDouble(row, parts[0]);
      dropped.SetDouble(row, up - x[row * 2000 + 77]);
    }
    for (const Literal* honest : {&forward, &backward, &tree}) {
      const EnsembleResult result = Ensemble(*module, args, *honest);
      EXPECT_FALSE(result.suspect) << ToString(result);
      EXPECT_EQ(result.runs, 24);
    }
    EXPECT_GT(Ensemble(*module, args, forward).worst(), 0.01);  // The result differs from the sum without roundings.
    const EnsembleResult wrong = Ensemble(*module, args, dropped);
    EXPECT_TRUE(wrong.suspect);
    EXPECT_GT(wrong.outputs[0].worst, 1000);
    EXPECT_GT(wrong.outputs[0].rms, 100);
  }
}

TEST(Ensemble, ANarrowResultMayBeOffByItsOwnStep) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/a_narrow_result_may_be_off_by_its_own_step.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  const Literal rounded = Interpreted(*module, args);
  Literal fused = rounded, wrong = rounded;
  for (int64_t i = 0; i < 300; ++i) {
    const double exact = args[0].GetDouble(i) * args[1].GetDouble(i) + args[0].GetDouble(i);
    fused.SetDouble(i, exact);
    wrong.SetDouble(i, exact * 1.05);
  }
  EXPECT_FALSE(Ensemble(*module, args, rounded).suspect) << ToString(Ensemble(*module, args, rounded));
  EXPECT_FALSE(Ensemble(*module, args, fused).suspect) << ToString(Ensemble(*module, args, fused));
  EXPECT_TRUE(Ensemble(*module, args, wrong).suspect) << ToString(Ensemble(*module, args, wrong));
  // bf16 has 8 significand bits, so half a step of rounding is 2^-9 to 2^-8 of the number.
  const double digits = Ensemble(*module, args, rounded).outputs[0].digits;
  EXPECT_TRUE(digits > -10.5 && digits < -7) << digits;
}

// A tanh of f32 may be off by 2 ulps, as in other implementations, but not by 20.
TEST(Ensemble, FunctionsMayBeOffByTheirUlps) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/functions_may_be_off_by_their_ulps.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  const Literal exact = Interpreted(*module, args);
  const auto off_by = [&](int steps) {
    Literal result = exact;
    for (int64_t i = 0; i < 300; ++i) {
      float y = exact.data<float>()[i];
      for (int step = 0; step < steps; ++step) y = std::nextafter(y, i % 2 == 0 ? 2.0f : -2.0f);
      result.SetDouble(i, y);
    }
    return Ensemble(*module, args, result);
  };
  EXPECT_FALSE(off_by(1).suspect) << ToString(off_by(1));
  EXPECT_TRUE(off_by(20).suspect) << ToString(off_by(20));
}

// Integers and movements are not rounded.
TEST(Ensemble, WhatIsNotRoundedHasNoRoom) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/what_is_not_rounded_has_no_room.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  Literal result = Interpreted(*module, args);
  EXPECT_EQ(Ensemble(*module, args, result).worst(), 0);
  result.mutable_elements()[0].SetInt(3, 1 + result.elements()[0].GetInt(3));
  const EnsembleResult off = Ensemble(*module, args, result);
  EXPECT_TRUE(off.suspect);
  EXPECT_EQ(off.outputs[0].worst_element, 3);
  EXPECT_EQ(off.outputs[1].worst, 0);
}

TEST(Ensemble, WhatHasNoCounterpartIsSaid) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/what_has_no_counterpart_is_said.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  const EnsembleResult result = Ensemble(*module, args, args[0]);
  EXPECT_EQ(result.runs, 0);
  EXPECT_NE(result.unsupported, "");
}

// The error of a transform depends on its length.
TEST(Ensemble, ComplexNumbersAreRoundedInBothParts) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/complex_numbers_are_rounded_in_both_parts.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  auto right = Interpret(*module, args);
  ASSERT_TRUE(right);
  const EnsembleResult explained = Ensemble(*module, args, *right);
  EXPECT_EQ(explained.runs, 24);
  EXPECT_FALSE(explained.suspect) << ToString(explained);
  right->SetComplex(5, right->GetComplex(5) + std::complex<double>(0, 1e-3));
  EXPECT_TRUE(Ensemble(*module, args, *right).suspect);
}

// Roundings before the conversion move some numbers to the next integer.
TEST(Ensemble, IntegersFlipAsOftenAsInTheRuns) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/integers_flip_as_often_as_in_the_runs.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  auto right = Interpret(*module, args);
  ASSERT_TRUE(right);
  EXPECT_FALSE(Ensemble(*module, args, *right).suspect);
  Literal wrong = *right;
  for (int64_t i = 0; i < 4096; ++i) wrong.SetInt(i, wrong.GetInt(i) + 1);
  EXPECT_TRUE(Ensemble(*module, args, wrong).suspect);
  right->SetInt(7, right->GetInt(7) + 100);
  EXPECT_TRUE(Ensemble(*module, args, *right).suspect);
}

// The limit grows with the number of elements, because the largest of many draws is larger. It also grows if there are
// few runs, because few runs estimate a deviation less precisely.
TEST(Ensemble, TheLimitGrowsWithTheElements) {
  EnsembleOutput output{.elements = 100, .runs = 24, .worst = 8.4};
  EXPECT_TRUE(output.IsSuspect());
  output.elements = 20'000;
  EXPECT_FALSE(output.IsSuspect());
  output.worst = 8.7;
  EXPECT_TRUE(output.IsSuspect());
  output.runs = 12;
  EXPECT_FALSE(output.IsSuspect());
}

// The terms of the gradient cancel, so the result consists of rounding errors.
TEST(Ensemble, BatchNormsRoundInside) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/batch_norms_round_inside.hlo"));
  std::vector<Literal> args;
  for (const Instruction* parameter : module->entry().parameters()) args.emplace_back(parameter->shape());
  for (int64_t i = 0; i < 64; ++i) args[0].SetDouble(i, i % 2 == 0 ? 1 + i : -i);
  args[1].SetDouble(0, 1);
  args[2].SetDouble(0, 0);
  args[3].SetDouble(0, 1);
  for (int64_t i = 0; i < 64; ++i) args[4].SetDouble(i, 0.1);
  Literal rounded(module->entry().root().shape());
  for (int64_t i = 0; i < 64; ++i) rounded.SetDouble(i, i % 2 == 0 ? 2e-9 : -2e-9);
  EXPECT_FALSE(Ensemble(*module, args, rounded).suspect);
  for (int64_t i = 0; i < 64; ++i) rounded.SetDouble(i, 1e-3);
  EXPECT_TRUE(Ensemble(*module, args, rounded).suspect);
}

TEST(Ensemble, WhatTakesTooLongIsNotRun) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/sum.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  const Literal sums(module->entry().root().shape());
  const auto result = CompareEnsemble(*module, args, sums, {.most_seconds = 1e-9});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->unsupported.starts_with("6 runs would take about ")) << result->unsupported;
  EXPECT_TRUE(result->outputs.empty());
}

TEST(Ensemble, BitsKeepTheirTypes) {
  const auto module = Parsed(ReadFile("testdata/judge/exact/bits_keep_their_types.hlo"));
  const std::vector<Literal> args = Made(*module, {});
  const Literal result = Interpreted(*module, args);
  EXPECT_EQ(Ensemble(*module, args, result).worst(), 0);
  EXPECT_TRUE(Ensemble(*module, args, args[0]).suspect);  // The arguments still have their signs.
}

}  // namespace
}  // namespace hlo
