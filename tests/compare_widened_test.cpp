// Comparator B: a pass that keeps the meaning passes, one that does not is named, and the comparators against a
// reference.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "interp/arguments/arguments.h"
#include "interp/compare/compare.h"
#include "interp/compare/widened.h"
#include "parser/parser.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Parsed(std::string text) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", std::move(text)));
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message());
  return module ? std::move(*module) : nullptr;
}

constexpr const char* kModule = R"(HloModule m
add {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b)
}
double {
  d = bf16[6,8] parameter(0)
  ROOT dd = bf16[6,8] add(d, d)
}
ENTRY main {
  x = bf16[6,8] parameter(0)
  y = bf16[6,8] parameter(1)
  c = bf16[] constant(3)
  cs = bf16[6,8] broadcast(c), dimensions={}
  p = bf16[6,8] multiply(x, cs)
  q = bf16[6,8] add(p, y)
  e = bf16[6,8] exponential(q)
  f = bf16[6,8] call(e), to_apply=double
  zero = bf16[] constant(0)
  sum = bf16[6] reduce(f, zero), dimensions={1}, to_apply=add
  ROOT t = (bf16[6,8], bf16[6]) tuple(q, sum)
})";

Instruction* Named(const Module& module, std::string_view name) {
  for (const Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  return nullptr;
}

WidenedResult Widened(const std::function<void(Module&)>& pass, const char* text = kModule) {
  const auto module = Parsed(text);
  const auto optimized = module->Clone(/*as_input=*/true);
  pass(*optimized);
  const auto args = MakeArguments(*module);
  EXPECT_TRUE(args.has_value());
  auto result = CompareWidened(*module, *optimized, *args);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  if (!result) return {};
  if (result->finding) {  // The modules die here; names stay in the text.
    result->reason = ToString(*result);
  }
  return std::move(*result);
}

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
  // 3 => 3.004: less than half a step of bf16 at 3.
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
  EXPECT_NE(result.reason.find("should have the value of 'p'"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("SCALED by 1.00133"), std::string::npos) << result.reason;
}

TEST(Widened, TheFirstWrongInstructionIsNamedAndNoLaterOne) {
  const WidenedResult result = Widened([](Module& m) {
    Instruction& q = *Named(m, "q");
    q.ReplaceAllUses(m.entry().Add(Opcode::kSubtract, q.shape(), {&q.operand(0), &q.operand(1)}));
    m.entry().RemoveDeadTree(q);
  });
  ASSERT_EQ(result.verdict, Verdict::kMismatch);
  EXPECT_NE(result.reason.find("should have the value of 'q'"), std::string::npos) << result.reason;
}

TEST(Widened, AFoldedConstantIsRoundedInItsType) {
  // exp(3) folded in bf16 is off by half a step of bf16, rightly; by more it is wrong.
  constexpr const char* kFold = R"(HloModule m
ENTRY main {
  x = bf16[4] parameter(0)
  c = bf16[] constant(3)
  e = bf16[] exponential(c)
  es = bf16[4] broadcast(e), dimensions={}
  ROOT y = bf16[4] multiply(x, es)
})";
  for (const double factor : {1.0, 1.05}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          Instruction& e = *Named(m, "e");
          e.ReplaceAllUses(m.entry().AddConstant(Literal::Scalar(PrimitiveType::kBF16, std::exp(3.0) * factor)));
          m.entry().RemoveDeadTree(e);
        },
        kFold);
    EXPECT_EQ(result.verdict, factor == 1.0 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

TEST(Widened, APaddingThatWasFoldedIsRoundedInItsType) {
  // What is updated is one number everywhere, as a pass may find: exp(y - y + 3) as bf16.
  constexpr const char* kUpdate = R"(HloModule m
ENTRY main {
  x = bf16[2] parameter(0)
  y = bf16[4] parameter(1)
  zeros = bf16[4] subtract(y, y)
  c = bf16[] constant(3)
  cs = bf16[4] broadcast(c), dimensions={}
  threes = bf16[4] add(zeros, cs)
  e = bf16[4] exponential(threes)
  two = s32[] constant(2)
  ROOT updated = bf16[4] dynamic-update-slice(e, x, two)
})";
  for (const double factor : {1.0, 1.05}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          Instruction& updated = *Named(m, "updated");
          Instruction& padding = m.entry().AddConstant(Literal::Scalar(PrimitiveType::kBF16, std::exp(3.0) * factor));
          updated.ReplaceAllUses(m.entry().Add(Opcode::kPad, updated.shape(), {&updated.operand(1), &padding},
                                               PadAttrs{.padding = PaddingConfig{{PaddingDim{.low = 2}}}}));
          m.entry().RemoveDeadTree(updated);
        },
        kUpdate);
    EXPECT_EQ(result.verdict, factor == 1.0 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

TEST(Widened, AConstantFoldedAfterInliningIsRoundedInItsType) {
  // high - low is 2 in f32, a tie: the difference from 1.99999994 is all that is left of 2 - it.
  constexpr const char* kInline = R"(HloModule m
scale {
  x = f32[4] parameter(0)
  low = f32[] parameter(1)
  high = f32[] parameter(2)
  width = f32[] subtract(high, low)
  widths = f32[4] broadcast(width), dimensions={}
  two = f32[] constant(2)
  twos = f32[4] broadcast(two), dimensions={}
  rest = f32[4] subtract(twos, widths)
  ROOT y = f32[4] add(x, rest)
}
ENTRY main {
  x = f32[4] parameter(0)
  low = f32[] constant(-0.99999994)
  high = f32[] constant(1)
  ROOT y = f32[4] call(x, low, high), to_apply=scale
})";
  for (const double width : {2.0, 2.00001}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          ASSERT_TRUE(RunPipeline(m, {.passes = "call-inliner"}));
          for (Instruction* inst : m.entry().Instructions()) {
            if (inst->Is(Opcode::kSubtract) && inst->shape().IsScalar())
              inst->ReplaceAllUses(m.entry().AddConstant(Literal::Scalar(PrimitiveType::kF32, width)));
          }
        },
        kInline);
    EXPECT_EQ(result.verdict, width == 2.0 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

// The pass that folds 'rest' to `value`, after inlining.
std::function<void(Module&)> FoldsRest(double value) {
  return [=](Module& m) {
    ASSERT_TRUE(RunPipeline(m, {.passes = "fusion-dissolver,call-inliner"}));
    Instruction* rest = nullptr;
    for (const Computation* computation : m.Computations()) {
      for (Instruction* inst : computation->Instructions()) {
        if (inst->name().starts_with("rest")) rest = inst;
      }
    }
    ASSERT_NE(rest, nullptr);
    Computation& computation = rest->computation();
    Instruction& constant = computation.AddConstant(Literal::Scalar(PrimitiveType::kF32, value));
    rest->ReplaceAllUses(rest->shape().IsScalar()
                             ? constant
                             : computation.Add(Opcode::kBroadcast, rest->shape(), {&constant}, DimensionsAttrs{}));
  };
}

// Rounded in its type it is as good as what it was, another value is not. Where nothing but the rounding is left,
// bounds are vacuous, and few others make that a match.
void ExpectFoldable(const char* text, double value, double wrong = 1e-5) {
  const WidenedResult right = Widened(FoldsRest(value), text), other = Widened(FoldsRest(value + wrong), text);
  const bool is_vacuous = right.vacuous * 2 > right.elements;
  EXPECT_EQ(right.verdict, is_vacuous ? Verdict::kInconclusive : Verdict::kMatch) << right.reason;
  EXPECT_FALSE(right.finding) << right.reason;
  EXPECT_EQ(other.verdict, Verdict::kMismatch) << other.reason;
}

// Below, exp(1) is rounded in f32 and 2.7182818 subtracted from it: half a step is all that is left.
TEST(Widened, AConstantFoldedAfterAFusionWasDissolvedIsRoundedInItsType) {
  ExpectFoldable(R"(HloModule m
fused {
  p = f32[4] parameter(0)
  e = f32[4] exponential(p)
  c = f32[] constant(2.7182817)
  cs = f32[4] broadcast(c), dimensions={}
  rest = f32[4] subtract(e, cs)
  ROOT pair = (f32[4], f32[4]) tuple(e, rest)
}
ENTRY main {
  x = f32[4] parameter(0)
  one = f32[] constant(1)
  ones = f32[4] broadcast(one), dimensions={}
  f = (f32[4], f32[4]) fusion(ones), kind=kLoop, calls=fused
  r = f32[4] get-tuple-element(f), index=1
  ROOT y = f32[4] multiply(x, r)
})",
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

TEST(Widened, ASplatOfAnySizeIsKnownThroughMovements) {
  ExpectFoldable(R"(HloModule m
ENTRY main {
  i = s32[] parameter(0)
  x = f32[200,64] parameter(1)
  one = f32[] constant(1)
  ones = f32[64,300] broadcast(one), dimensions={}
  turned = f32[300,64] transpose(ones), dimensions={1,0}
  zero = s32[] constant(0)
  part = f32[200,64] dynamic-slice(turned, i, zero), dynamic_slice_sizes={200,64}
  e = f32[200,64] exponential(part)
  c = f32[] constant(2.7182817)
  cs = f32[200,64] broadcast(c), dimensions={}
  rest = f32[200,64] subtract(e, cs)
  ROOT y = f32[200,64] multiply(x, rest)
})",
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

TEST(Widened, WhatALoopHandsOnIsKnownOutside) {
  ExpectFoldable(R"(HloModule m
condition {
  s = (s32[], f32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT go = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  step = s32[] constant(2)
  next = s32[] add(i, step)
  same = f32[] get-tuple-element(s), index=1
  y = f32[4] get-tuple-element(s), index=2
  z = f32[4] negate(y)
  ROOT t = (s32[], f32[], f32[4]) tuple(next, same, z)
}
ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  one = f32[] constant(1)
  init = (s32[], f32[], f32[4]) tuple(zero, one, x)
  loop = (s32[], f32[], f32[4]) while(init), condition=condition, body=body
  same1 = f32[] get-tuple-element(loop), index=1
  e = f32[] exponential(same1)
  c = f32[] constant(2.7182817)
  rest = f32[] subtract(e, c)
  all = f32[4] broadcast(rest), dimensions={}
  w = f32[4] get-tuple-element(loop), index=2
  ROOT y1 = f32[4] multiply(w, all)
})",
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

// A body's or branch's own constants: its root, and what every index of a map computes alike.
TEST(Widened, ConstantsInsideBodiesAreFoldedInTheirType) {
  ExpectFoldable(R"(HloModule m
mapped {
  p = f32[] parameter(0)
  one = f32[] constant(1)
  e = f32[] exponential(one)
  c = f32[] constant(2.7182817)
  rest = f32[] subtract(e, c)
  ROOT r = f32[] multiply(p, rest)
}
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] map(x), dimensions={0}, to_apply=mapped
})",
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
  ExpectFoldable(R"(HloModule m
yes {
  p = f32[] parameter(0)
  one = f32[] constant(1)
  ROOT rest = f32[] exponential(one)
}
no {
  q = f32[] parameter(0)
  ROOT minus = f32[] negate(q)
}
ENTRY main {
  go = pred[] constant(true)
  x = f32[] parameter(0)
  ROOT y = f32[] conditional(go, x, x), true_computation=yes, false_computation=no
})",
                 static_cast<double>(std::exp(1.0f)));
}

// A constant that a map is given everywhere is known in its body, whatever its other operands are.
TEST(Widened, AMapOfAConstantIsFoldedInItsType) {
  ExpectFoldable(R"(HloModule m
mapped {
  p = f32[] parameter(0)
  n = s32[] parameter(1)
  e = f32[] exponential(p)
  c = f32[] constant(2.7182817)
  ROOT rest = f32[] subtract(e, c)
}
ENTRY main {
  x = f32[4] parameter(0)
  n = s32[4] parameter(1)
  one = f32[] constant(1)
  ones = f32[4] broadcast(one), dimensions={}
  m = f32[4] map(ones, n), dimensions={0}, to_apply=mapped
  ROOT y = f32[4] multiply(x, m)
})",
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

TEST(Widened, ASumOfConstantsHasTheBoundOfASum) {
  // 341 squares of acos(0) in f32, one after the other, and in f64 are 1.7e-3 of 841 apart.
  constexpr const char* kDot = R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[341] broadcast(zero), dimensions={}
  a = f32[341] acos(zeros)
  dot = f32[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  dots = f32[4] broadcast(dot), dimensions={}
  ROOT y = f32[4] add(x, dots)
})";
  for (const double factor : {1.0, 1.0001}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          ASSERT_TRUE(RunPipeline(m, {.passes = "cublas-gemm-rewriter"}));
          if (factor == 1.0) return;
          Instruction& y = m.entry().root();
          Instruction& c = m.entry().AddConstant(Literal::Scalar(PrimitiveType::kF32, factor));
          Instruction& cs = m.entry().Add(Opcode::kBroadcast, y.shape(), {&c}, DimensionsAttrs{});
          y.SetOperand(1, m.entry().Add(Opcode::kMultiply, y.shape(), {&y.operand(1), &cs}));
        },
        kDot);
    EXPECT_EQ(result.verdict, factor == 1.0 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

TEST(Widened, AConstantThatAPassMadeIsRoundedWhereItIsMovedToo) {
  // The pass knows that the zero is one, the check does not.
  ExpectFoldable(R"(HloModule m
ENTRY main {
  i = s32[] parameter(0)
  x = f32[4] parameter(1)
  none = s32[] constant(0)
  zero = s32[] and(i, none)
  f = f32[] convert(zero)
  one = f32[] constant(1)
  sum = f32[] add(f, one)
  rest = f32[] exponential(sum)
  all = f32[4] broadcast(rest), dimensions={}
  ROOT y = f32[4] multiply(x, all)
})",
                 static_cast<double>(std::exp(1.0f)));
}

// The compare is true and the difference 0, whatever x is: bf16 constants that are rounded in f32 again.
TEST(Widened, WhatIsTheSameWhateverTheOperandsAreIsKnown) {
  for (const char* op : {"o = s32[] subtract(i, i)", "o = s32[] xor(i, i)", "o = s32[] and(i, none)",
                         "c = pred[] compare(i, i), direction=GT\n  o = s32[] convert(c)"}) {
    SCOPED_TRACE(op);
    ExpectFoldable((std::string(R"(HloModule m
ENTRY main {
  i = s32[] parameter(0)
  x = f32[4] parameter(1)
  none = s32[] constant(0)
  )") + op + R"(
  zero = bf16[] convert(o)
  one = bf16[] constant(1)
  sum = bf16[] add(zero, one)
  e = bf16[] exponential(sum)
  wide = f32[] convert(e)
  rest = f32[] exponential(wide)
  all = f32[4] broadcast(rest), dimensions={}
  ROOT y = f32[4] multiply(x, all)
})")
                       .c_str(),
                   static_cast<double>(std::exp(2.71875f)), 3);
  }
}

// acosh(1) is at the end of its domain, so f64 does not determine it; the pass knows the 1.
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

// 1, computed with a rounding, may be just below: its floor is computed, and open.
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

// The parts of complex numbers have bounds: another order is within them, other parts are not.
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

TEST(Widened, AWrongDecisionOnConstantsIsNamed) {
  // 4.1 * 100 is 410 in f32; 409 is what truncation leaves without the rounding.
  constexpr const char* kDecide = R"(HloModule m
ENTRY main {
  x = s32[4] parameter(0)
  a = f32[] constant(4.1)
  b = f32[] constant(100)
  c = f32[] multiply(a, b)
  d = s32[] convert(c)
  ds = s32[4] broadcast(d), dimensions={}
  ROOT y = s32[4] add(x, ds)
})";
  for (const int folded : {410, 409}) {
    const WidenedResult result = Widened(
        [&](Module& m) {
          Instruction& d = *Named(m, "d");
          d.ReplaceAllUses(m.entry().AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{folded})));
          m.entry().RemoveDeadTree(d);
        },
        kDecide);
    EXPECT_EQ(result.verdict, folded == 410 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
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
  EXPECT_NE(result.reason.find("should have the value of 'z' (iteration 0 of 'loop')"), std::string::npos)
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

// ---- Against a reference
// -----------------------------------------------------------------------------------------------

Literal Floats(const std::vector<float>& values) {
  Literal literal(Shape(PrimitiveType::kF32, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) literal.SetDouble(i, values[i]);
  return literal;
}

TEST(Tolerance, TableAndXlaRule) {
  const Literal expected = Floats({1, 100, -3, 0});
  EXPECT_EQ(CompareTolerance(expected, Floats({1.00001f, 100.001f, -3, -0.0f})).verdict, Verdict::kMatch);
  EXPECT_EQ(CompareTolerance(expected, Floats({1.01f, 100, -3, 0})).bad(), 1);
  // XLA's rule asks that both bounds be broken.
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
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return i > 250 ? NAN : value(i); }), "STALE MEMORY");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return BF16ToFloat(FloatToBF16(value(i))); }), "ROUNDED TO bf16");
  EXPECT_EQ(looks(300, value, [&](int64_t i) { return value(i / 4 * 4 + 3 - i % 4); }), "PERMUTED");
  // Too far for its bound, and yet in no other's place.
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
