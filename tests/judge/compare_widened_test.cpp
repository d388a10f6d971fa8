// Tests that judge/compare/widened.h matches a pass that keeps the meaning and names a pass that does not. Also tests
// the comparators with a reference.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare_widened_cases.h"
#include "judge/compare/compare.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

TEST(Widened, NothingChangedMatches) {
  const WidenedResult result = Widened([](Module&) {});
  EXPECT_EQ(result.verdict, Verdict::kMatch);
  EXPECT_GE(result.instructions, 6);
  EXPECT_EQ(result.undetermined, 0);
}

TEST(Widened, AnotherFormulaOfTheSameMeaningMatches) {
  // x * 3 + y => y + (x + x + x).
  const WidenedResult result = Widened([](Module& m) {
    Instruction& q = *Named(m, "q");
    Instruction& x = *Named(m, "x");
    Computation& entry = m.entry();
    Instruction& two = entry.Add(Opcode::kAdd, x.shape(), {&x, &x});
    Instruction& three = entry.Add(Opcode::kAdd, x.shape(), {&two, &x});
    q.ReplaceAllUses(entry.Add(Opcode::kAdd, x.shape(), {Named(m, "y"), &three}));
    entry.RemoveDeadTree(q);
  });
  EXPECT_EQ(result.verdict, Verdict::kMatch) << result.reason;
}

TEST(Widened, AWrongConstantThatBF16HidesIsNamed) {
  // 3 => 3.004. The difference is less than half a step of bf16 at 3.
  const WidenedResult result = Widened([](Module& m) {
    Instruction& p = *Named(m, "p");
    Computation& entry = m.entry();
    Instruction& wide = entry.Add(Opcode::kConvert, p.shape().WithType(PrimitiveType::kF32), {&p.operand(0)});
    Instruction& c = entry.AddConstant(Literal::Scalar(PrimitiveType::kF32, 3.004));
    Instruction& cs = entry.Add(Opcode::kBroadcast, wide.shape(), {&c}, DimensionsAttrs{});
    Instruction& product = entry.Add(Opcode::kMultiply, wide.shape(), {&wide, &cs});
    p.ReplaceAllUses(entry.Add(Opcode::kConvert, p.shape(), {&product}));
    entry.RemoveDeadTree(p);
  });
  EXPECT_EQ(result.verdict, Verdict::kMismatch);
  EXPECT_NE(result.reason.find("differs from 'p' before the passes"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("SCALED by 1.00133"), std::string::npos) << result.reason;
}

TEST(Widened, TheFirstWrongInstructionIsNamedAndNoLaterOne) {
  const WidenedResult result = Widened([](Module& m) {
    Instruction& q = *Named(m, "q");
    q.ReplaceAllUses(m.entry().Add(Opcode::kSubtract, q.shape(), {&q.operand(0), &q.operand(1)}));
    m.entry().RemoveDeadTree(q);
  });
  ASSERT_EQ(result.verdict, Verdict::kMismatch);
  EXPECT_NE(result.reason.find("differs from 'q' before the passes"), std::string::npos) << result.reason;
}

// f64 does not determine acosh(1), because 1 is at the end of its domain. The pass knows the exact operand and folds it
// to 0.
TEST(Widened, WhatIsNotDeterminedIsTakenFromTheOptimizedModule) {
  constexpr const char* kAcosh = R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  a = f32[4] tanh(x)
  b = f32[4] abs(a)
  s = f32[4] subtract(b, b)
  one = f32[] constant(1)
  ones = f32[4] broadcast(one), dimensions={}
  c = f32[4] add(s, ones)
  d = f32[4] acosh(c)
  two = f32[] constant(2)
  twos = f32[4] broadcast(two), dimensions={}
  e = f32[4] add(d, twos)
  ROOT t = (f32[4], f32[4]) tuple(d, e)
})";
  for (const double sum : {2.0, 2.5}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          Computation& entry = m.entry();
          const auto splat = [&](double value) -> Instruction& {
            Instruction& constant = entry.AddConstant(Literal::Scalar(PrimitiveType::kF32, value));
            return entry.Add(Opcode::kBroadcast, Named(m, "d")->shape(), {&constant}, DimensionsAttrs{});
          };
          Named(m, "d")->ReplaceAllUses(splat(0));
          Named(m, "e")->ReplaceAllUses(splat(sum));
        },
        kAcosh);
    if (sum == 2.0) EXPECT_NE(result.verdict, Verdict::kMismatch) << result.reason;
    else EXPECT_EQ(result.verdict, Verdict::kMismatch) << result.reason;
  }
}

// `c` is 1 up to a rounding, so it may be slightly below 1, and its floor is undetermined. The computed floor is 1.
TEST(Widened, WhatIsPickedByAnOpenIndexIsOpen) {
  constexpr const char* kFloor = R"(HloModule m
ENTRY main {
  x = f32[] parameter(0)
  y = f32[4] parameter(1)
  a = f32[] tanh(x)
  s = f32[] subtract(a, a)
  one = f32[] constant(1)
  c = f32[] add(s, one)
  f = f32[] floor(c)
  i = s32[] convert(f)
  p = f32[1] dynamic-slice(y, i), dynamic_slice_sizes={1}
  ROOT n = f32[1] negate(p)
})";
  for (const int64_t index : {0, 1}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          Instruction& constant = m.entry().AddConstant(Literal::Scalar(PrimitiveType::kS32, index));
          const auto slice = Named(m, "p");
          Instruction& picked = m.entry().Add(slice->opcode(), slice->shape(), {&m.entry().parameter(1), &constant},
                                              slice->attrs<DynamicSliceAttrs>());
          slice->ReplaceAllUses(picked);
        },
        kFloor);
    EXPECT_EQ(result.verdict, index == 1 ? Verdict::kMatch : Verdict::kInconclusive) << result.reason;
  }
}

// The parts of complex numbers have bounds. A product in another order is within them. The real part in place of the
// imaginary one, or another factor, is not.
TEST(Widened, ComplexArithmeticIsJudgedByItsParts) {
  constexpr const char* kProducts = R"(HloModule m
add {
  a = c64[] parameter(0)
  b = c64[] parameter(1)
  ROOT s = c64[] add(a, b)
}
ENTRY main {
  x = c64[3,5] parameter(0)
  y = c64[3,5] parameter(1)
  z = c64[3,5] parameter(2)
  xy = c64[3,5] multiply(x, y)
  xyz = c64[3,5] multiply(xy, z)
  zero = c64[] constant((0, 0))
  sum = c64[3] reduce(xyz, zero), dimensions={1}, to_apply=add
  ROOT i = f32[3] imag(sum)
})";
  const auto with = [&](const std::function<void(Module&)>& pass) { return Widened(pass, kProducts); };
  const WidenedResult regrouped = with([](Module& m) {
    Computation& entry = m.entry();
    Instruction& yz = entry.Add(Opcode::kMultiply, Named(m, "y")->shape(), {Named(m, "y"), Named(m, "z")});
    Instruction& again = entry.Add(Opcode::kMultiply, yz.shape(), {Named(m, "x"), &yz});
    Named(m, "xyz")->ReplaceAllUses(again);
  });
  EXPECT_EQ(regrouped.verdict, Verdict::kMatch) << regrouped.reason;
  EXPECT_EQ(regrouped.undetermined + regrouped.by_bits, 0);
  const WidenedResult wrong = with([](Module& m) {
    Instruction& real = m.entry().Add(Opcode::kReal, Named(m, "i")->shape(), {Named(m, "sum")});
    m.entry().SetRoot(real);
  });
  EXPECT_EQ(wrong.verdict, Verdict::kMismatch) << wrong.reason;
  const WidenedResult other_factor = with([](Module& m) {
    Instruction& other = m.entry().Add(Opcode::kMultiply, Named(m, "xy")->shape(), {Named(m, "xy"), Named(m, "y")});
    Named(m, "xyz")->ReplaceAllUses(other);
  });
  EXPECT_EQ(other_factor.verdict, Verdict::kMismatch) << other_factor.reason;
}

TEST(Widened, ARootThatBecameAParameterIsCompared) {
  constexpr const char* kNegate = R"(HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  ROOT y = f32[3] negate(x)
})";
  const WidenedResult result = Widened([](Module& m) { m.entry().SetRoot(m.entry().parameter(0)); }, kNegate);
  EXPECT_EQ(result.verdict, Verdict::kMismatch) << result.reason;
}

constexpr const char* kLoop = R"(HloModule m
condition {
  s = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(40)
  ROOT go = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[5] get-tuple-element(s), index=1
  h = f32[] constant(0.5)
  hs = f32[5] broadcast(h), dimensions={}
  y = f32[5] multiply(x, hs)
  z = f32[5] sine(y)
  ROOT t = (s32[], f32[5]) tuple(next, z)
}
ENTRY main {
  x = f32[5] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[5]) tuple(zero, x)
  loop = (s32[], f32[5]) while(init), condition=condition, body=body
  ROOT r = f32[5] get-tuple-element(loop), index=1
})";

TEST(Widened, LoopBodiesAreComparedOnTheirStates) {
  EXPECT_EQ(Widened([](Module&) {}, kLoop).verdict, Verdict::kMatch);
  const WidenedResult result = Widened(
      [](Module& m) {
        Instruction& z = *Named(m, "z");
        z.ReplaceAllUses(z.computation().Add(Opcode::kTanh, z.shape(), {&z.operand(0)}));
        z.computation().RemoveDeadTree(z);
      },
      kLoop);
  ASSERT_EQ(result.verdict, Verdict::kMismatch);
  EXPECT_NE(result.reason.find("differs from 'z' before the passes (iteration 0 of 'loop')"), std::string::npos)
      << result.reason;
}

TEST(Widened, WithoutOriginsTheResultsAreCompared) {
  const auto module = Parsed(kModule);
  const auto same = Parsed(kModule),
             other = Parsed(std::string(kModule).replace(std::string(kModule).find("constant(3)"), 11, "constant(2)"));
  const auto args = MakeArguments(*module);
  EXPECT_EQ(CompareWidened(*module, *same, *args)->verdict, Verdict::kMatch);
  EXPECT_EQ(CompareWidened(*module, *other, *args)->verdict, Verdict::kMismatch);
}

// ---- Comparisons with a reference -----------------------------------------------------------------------------------

Literal Floats(const std::vector<float>& values) {
  Literal literal(Shape(PrimitiveType::kF32, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) literal.SetDouble(i, values[i]);
  return literal;
}

TEST(Tolerance, TableAndXlaRule) {
  const Literal expected = Floats({1, 100, -3, 0});
  EXPECT_EQ(CompareTolerance(expected, Floats({1.00001f, 100.001f, -3, -0.0f})).verdict, Verdict::kMatch);
  EXPECT_EQ(CompareTolerance(expected, Floats({1.01f, 100, -3, 0})).bad(), 1);
  // XLA's rule finds a mismatch only if both bounds are exceeded.
  EXPECT_EQ(CompareTolerance(expected, Floats({1.0009f, 100.09f, -3, 0.0009f}), XlaTolerance()).verdict,
            Verdict::kMatch);
  EXPECT_EQ(CompareTolerance(expected, Floats({1.0011f, 100.11f, -3, 0.0011f}), XlaTolerance()).bad(), 3);
  EXPECT_EQ(CompareTolerance(Floats({INFINITY}), Floats({-INFINITY}), XlaTolerance()).bad(), 1);
  EXPECT_EQ(CompareTolerance(Floats({NAN}), Floats({NAN}), XlaTolerance()).bad(), 0);
  EXPECT_EQ(CompareTolerance(Floats({1}), Floats({NAN}), XlaTolerance()).bad(), 1);
  Tolerance one_step;
  one_step.max_ulps = 1;
  EXPECT_EQ(CompareTolerance(Floats({1, 1}), Floats({std::nextafter(1.0f, 2.0f), 1.000001f}), one_step).bad(), 1);
}

TEST(Bitwise, ZerosDifferAndNaNsDoNot) {
  EXPECT_EQ(CompareBitwise(Floats({NAN, 0, 1}), Floats({-NAN, 0, 1})).verdict, Verdict::kMatch);
  EXPECT_EQ(CompareBitwise(Floats({0}), Floats({-0.0f})).bad(), 1);
}

TEST(Reports, MismatchSaysWhereAndWhat) {
  std::vector<float> expected(256), actual;
  for (size_t i = 0; i < 256; ++i) expected[i] = 0.5f + static_cast<float>((i * 37) % 256);
  actual = expected;
  for (size_t i = 3; i < 256; i += 8) actual[i] = -expected[i];
  Comparison comparison = CompareTolerance(Floats(expected), Floats(actual));
  const TensorComparison& tensor = comparison.outputs[0];
  EXPECT_EQ(tensor.where, "every 8th of dim 0 from 3 (32 of 256)");
  ASSERT_EQ(tensor.looks_like.size(), 2u);
  EXPECT_EQ(tensor.looks_like[0], "SIGN FLIPPED");
  EXPECT_EQ(tensor.looks_like[1], "EVERY K-TH ELEMENT: every 8th of dim 0, from 3");
  EXPECT_EQ(tensor.worst.size(), 5u);
  const std::string details = Details(tensor);
  EXPECT_NE(details.find("{} worst 5 of 32"), std::string::npos) << details;
  EXPECT_NE(OutputTable(comparison, true).find("32 (12.5%)"), std::string::npos);
  JsonWriter json;
  WriteJson(json, comparison);
  EXPECT_TRUE(json.text().starts_with(
      R"({"verdict":"MISMATCH","elements":256,"checked":256,"outputs":[{"output":[],"shape":"f32[256]")"))
      << json.text();
}

TEST(Reports, Recognisers) {
  const auto looks = [](int64_t count, const std::function<float(int64_t)>& expected,
                        const std::function<float(int64_t)>& actual) {
    std::vector<float> e, a;
    for (int64_t i = 0; i < count; ++i) {
      e.push_back(expected(i));
      a.push_back(actual(i));
    }
    const auto found = CompareTolerance(Floats(e), Floats(a)).outputs[0].looks_like;
    return found.empty() ? "" : found[0].substr(0, found[0].find(':'));
  };
  const auto value = [](int64_t i) { return std::sin(static_cast<float>(i) * 1.7f) * 3 + 4; };
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return value(i + 1); }), "SHIFTED");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return value(i) * 2; }), "SCALED by 2");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return value(i) + 5; }), "CONSTANT OFFSET of 5");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return i > 250 ? NAN : value(i); }), "NaN, OR STALE MEMORY");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return BF16ToFloat(FloatToBF16(value(i))); }), "ROUNDED TO bf16");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return value(i / 4 * 4 + 3 - i % 4); }), "PERMUTED");
  // Every third element is off by 2^-18 of its value. This exceeds its bound, but is not the value of another element.
  std::vector<float> exact, rounded;
  for (int64_t i = 0; i < 300; ++i) {
    exact.push_back(value(i));
    rounded.push_back(value(i) * (i % 3 == 0 ? 1 + 0x1p-18f : 1));
  }
  const auto near = CompareTolerance(Floats(exact), Floats(rounded), Tolerance{.rel = 1e-7}).outputs[0].looks_like;
  EXPECT_EQ(near, std::vector<std::string>{"EVERY K-TH ELEMENT: every 3rd of dim 0, from 0"});
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return i * i * 0.1f - 3; }), "EVERYTHING WRONG");
}

}  // namespace
}  // namespace hlo
