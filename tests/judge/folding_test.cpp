// The judge of passes that fold values. A folded value must have the bits of the interpreter's value.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare_widened_cases.h"
#include "judge/bits.h"
#include "judge/sample.h"
#include "passes/pipeline.h"
#include "tests/read_file.h"

namespace hlo {
namespace {

struct Folded {
  Verdict verdict = Verdict::kMatch;
  std::string reason;
};

// Judges `pass` by whole values and by samples, and expects the same verdict.
Folded Judged(const std::function<void(Module&)>& pass, const std::string& text = kModule) {
  const auto module = Parsed(text);
  const auto after = module->Clone(/*as_input=*/true);
  pass(*after);
  const auto args = MakeArguments(*module);
  EXPECT_TRUE(args.has_value());
  const auto bits = CompareByBits(*module, *after, *args);
  EXPECT_TRUE(bits.has_value()) << (bits ? "" : bits.error().message());
  const auto sample = CompareBySample(*module, *after, *args, OriginsOf::kBefore, Preserves::kExact, {});
  EXPECT_TRUE(sample.has_value()) << (sample ? "" : sample.error().message());
  if (!bits || !sample) return {Verdict::kUnsupported, ""};
  EXPECT_EQ(bits->verdict, sample->verdict) << bits->reason << sample->reason;
  return {bits->verdict, bits->reason};
}

TEST(JudgeFolding, AFoldedConstantIsRoundedInItsType) {
  // A right exp(3) in bf16 is off by half a step of bf16. A larger error is wrong.
  const std::string kFold = ReadFile("testdata/judge/folding/fold.hlo");
  for (const double factor : {1.0, 1.05}) {
    const Folded result = Judged(
        [&](Module& m) {
          Instruction& e = *Named(m, "e");
          e.ReplaceAllUses(m.entry().AddConstant(Literal::Scalar(PrimitiveType::kBF16, std::exp(3.0) * factor)));
          m.entry().RemoveDeadTree(e);
        },
        kFold);
    EXPECT_EQ(result.verdict, factor == 1.0 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

TEST(JudgeFolding, APaddingThatWasFoldedIsRoundedInItsType) {
  // `e` is exp(y - y + 3) in bf16. A pass may find that all its elements are equal, and make a pad of the update.
  const std::string kUpdate = ReadFile("testdata/judge/folding/update.hlo");
  for (const double factor : {1.0, 1.05}) {
    const Folded result = Judged(
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

TEST(JudgeFolding, APaddingThatWasFoldedAndConvertedIsRoundedInTheTypeBefore) {
  // exp(3) is 20.0855, and 20.125 after the conversions to bf16 and f32. Other f32 numbers that are as close to exp(3)
  // are wrong.
  const std::string kConverted = ReadFile("testdata/judge/folding/converted.hlo");
  for (const double padded : {20.125, 20.0625, 20.0}) {
    const Folded result = Judged(
        [&](Module& m) {
          Instruction &wide = *Named(m, "wide"), &x = *Named(m, "x");
          Instruction& padding = m.entry().AddConstant(Literal::Scalar(PrimitiveType::kF32, padded));
          Instruction& part = m.entry().Add(Opcode::kConvert, x.shape().WithType(PrimitiveType::kF32), {&x});
          wide.ReplaceAllUses(m.entry().Add(Opcode::kPad, wide.shape(), {&part, &padding},
                                            PadAttrs{.padding = PaddingConfig{{PaddingDim{.low = 2}}}}));
          m.entry().RemoveDeadTree(wide);
        },
        kConverted);
    EXPECT_EQ(result.verdict, padded == 20.125 ? Verdict::kMatch : Verdict::kMismatch)
        << padded << ": " << result.reason;
  }
}

TEST(JudgeFolding, AConstantFoldedAfterInliningIsRoundedInItsType) {
  // high - low rounds to 2 in f32. Without this rounding, 2 minus the difference would not be 0.
  const std::string kInline = ReadFile("testdata/judge/folding/inline.hlo");
  for (const double width : {2.0, 2.00001}) {
    const Folded result = Judged(
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

void ExpectFoldable(const std::string& text, double value, double wrong = 1e-5) {
  const Folded right = Judged(FoldsRest(value), text), other = Judged(FoldsRest(value + wrong), text);
  EXPECT_EQ(right.verdict, Verdict::kMatch) << right.reason;
  EXPECT_EQ(other.verdict, Verdict::kMismatch) << other.reason;
}

// exp(1) - 2.7182817 is 0 if exp(1) is rounded to f32, but not in f64.
TEST(JudgeFolding, AConstantFoldedAfterAFusionWasDissolvedIsRoundedInItsType) {
  ExpectFoldable(
      ReadFile("testdata/judge/folding/a_constant_folded_after_a_fusion_was_dissolved_is_rounded_in_its_type.hlo"),
      static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

TEST(JudgeFolding, ASplatOfAnySizeIsKnownThroughMovements) {
  ExpectFoldable(ReadFile("testdata/judge/folding/a_splat_of_any_size_is_known_through_movements.hlo"),
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

TEST(JudgeFolding, WhatALoopHandsOnIsKnownOutside) {
  ExpectFoldable(ReadFile("testdata/judge/folding/what_a_loop_hands_on_is_known_outside.hlo"),
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

// Constants in bodies and branches: their roots, and values that are equal for every index of a map.
TEST(JudgeFolding, ConstantsInsideBodiesAreFoldedInTheirType) {
  ExpectFoldable(ReadFile("testdata/judge/folding/constants_inside_bodies_are_folded_in_their_type.hlo"),
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
  ExpectFoldable(ReadFile("testdata/judge/folding/constants_inside_bodies_are_folded_in_their_type_2.hlo"),
                 static_cast<double>(std::exp(1.0f)));
}

// If all elements of a map's operand are equal, it is a known constant in the body, for any other operands.
TEST(JudgeFolding, AMapOfAConstantIsFoldedInItsType) {
  ExpectFoldable(ReadFile("testdata/judge/folding/a_map_of_a_constant_is_folded_in_its_type.hlo"),
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

// A sort of equal elements has the same elements in any order.
TEST(JudgeFolding, ASortMovesAConstant) {
  ExpectFoldable(ReadFile("testdata/judge/folding/a_sort_moves_a_constant.hlo"),
                 static_cast<double>(std::exp(1.0f) - 2.7182817f));
}

TEST(JudgeFolding, AFactorThatIsOneInItsTypeIsGone) {
  for (const std::string_view trips : {"5", "3"}) {  // tanh(4), tanh(2)
    const std::string text = Str(R"(HloModule m
body {
  state = (s32[], bf16[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  last = bf16[] convert(i)
  all = bf16[4] broadcast(last), dimensions={}
  ROOT after = (s32[], bf16[4]) tuple(next, all)
}
condition {
  state = (s32[], bf16[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  trips = s32[] constant()",
                                 trips, R"()
  ROOT more = pred[] compare(i, trips), direction=LT
}
ENTRY main {
  x = bf16[4] parameter(0)
  zero = s32[] constant(0)
  state = (s32[], bf16[4]) tuple(zero, x)
  loop = (s32[], bf16[4]) while(state), condition=condition, body=body
  last = bf16[4] get-tuple-element(loop), index=1
  t = bf16[4] tanh(last)
  p = bf16[4] multiply(x, t)
  ROOT y = bf16[4] add(p, p)
})");
    const Folded result = Judged(
        [](Module& m) {
          Instruction& product = *Named(m, "p");
          product.ReplaceAllUses(product.operand(0));
          m.entry().RemoveDeadTree(product);
        },
        text.c_str());
    EXPECT_EQ(result.verdict, trips == "5" ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

TEST(JudgeFolding, ASumOfConstantsHasTheBoundOfASum) {
  // 341 squares of acos(0) are added in order in f32. The sum differs from the sum in f64.
  const std::string kDot = ReadFile("testdata/judge/folding/dot.hlo");
  for (const double factor : {1.0, 1.0001}) {
    const Folded result = Judged(
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

TEST(JudgeFolding, AConstantThatAPassMadeIsRoundedWhereItIsMovedToo) {
  // The operand of the conversion is 0 for every i.
  ExpectFoldable(ReadFile("testdata/judge/folding/a_constant_that_a_pass_made_is_rounded_where_it_is_moved_too.hlo"),
                 static_cast<double>(std::exp(1.0f)));
}

// The comparison is false, and the other results are 0, for every i. exp(1) is rounded to bf16 and the next result to
// f32.
TEST(JudgeFolding, WhatIsTheSameWhateverTheOperandsAreIsKnown) {
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

// Passes fold the reverse of a reverse. The folded number must have the interpreter's bits: roundings to bf16 give 87,
// where f64 gives 86.
TEST(JudgeFolding, WhatAlgebraTellsIsWhatTheInterpreterMakes) {
  const std::string kAlgebra = ReadFile("testdata/judge/folding/algebra.hlo");
  for (const int64_t folded : {87, 90}) {
    for (const bool fuses : {false, true}) {
      SCOPED_TRACE(testing::Message() << folded << (fuses ? ", fused" : ""));
      const Folded result = Judged(
          [&](Module& m) {
            Instruction& whole = *Named(m, "whole");
            Computation& entry = m.entry();
            Instruction& constant = entry.AddConstant(Literal::Scalar(PrimitiveType::kS32, folded));
            whole.ReplaceAllUses(entry.Add(Opcode::kBroadcast, whole.shape(), {&constant}, DimensionsAttrs{}));
            entry.RemoveDeadTree(whole);
            if (!fuses) return;
            ASSERT_TRUE(RunPipeline(m, {.passes = "fusion"}));
          },
          kAlgebra);
      EXPECT_EQ(result.verdict == Verdict::kMatch, folded == 87) << result.reason;
    }
  }
}

TEST(JudgeFolding, AProductOfNothingIsNoNumberWhereThereIsNoZero) {
  const std::string kNothing = ReadFile("testdata/judge/folding/nothing.hlo");
  for (const double value : {std::nan(""), 1.0}) {
    const Folded result = Judged(
        [&](Module& m) {
          Instruction& dot = *Named(m, "dot");
          Computation& entry = m.entry();
          Instruction& constant = entry.AddConstant(Literal::Scalar(PrimitiveType::kF8E8M0FNU, value));
          dot.ReplaceAllUses(entry.Add(Opcode::kBroadcast, dot.shape(), {&constant}, DimensionsAttrs{}));
          entry.RemoveDeadTree(dot);
        },
        kNothing);
    EXPECT_EQ(result.verdict, value == 1.0 ? Verdict::kMismatch : Verdict::kMatch) << result.reason;
  }
}

TEST(JudgeFolding, APaddingInTwoStepsIsTheSame) {
  const auto pads_in_two_steps = [&](Module& m) {
    Instruction &pad = *Named(m, "pad"), &least = *Named(m, "least");
    Computation& entry = m.entry();
    PaddingConfig padding{{PaddingDim{.low = 3}, PaddingDim{.high = 1000}}};
    Instruction& padded = entry.Add(Opcode::kPad, Shape(PrimitiveType::kF32, {9, 1008}),
                                    {&pad.operand(0), &pad.operand(1)}, PadAttrs{.padding = std::move(padding)});
    pad.ReplaceAllUses(entry.Add(Opcode::kSlice, pad.shape(), {&padded}, SliceAttrs{{{{0, 9, 1}, {0, 8, 1}}}}));
    entry.RemoveDeadTree(pad);
    least.ReplaceAllUses(least.operand(0));
    entry.RemoveDeadTree(least);
    Named(m, "e")->SetOrigin(-1);  // Inlined instructions have no origin.
  };
  const std::string kPads = ReadFile("testdata/judge/folding/pads.hlo");
  const Folded result = Judged(pads_in_two_steps, kPads);
  EXPECT_EQ(result.verdict, Verdict::kMatch) << result.reason;
}

TEST(JudgeFolding, AWrongDecisionOnConstantsIsNamed) {
  // 4.1 * 100 is 410 in f32. Without this rounding, the truncation gives 409.
  const std::string kDecide = ReadFile("testdata/judge/folding/decide.hlo");
  for (const int folded : {410, 409}) {
    const Folded result = Judged(
        [&](Module& m) {
          Instruction& d = *Named(m, "d");
          d.ReplaceAllUses(m.entry().AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{folded})));
          m.entry().RemoveDeadTree(d);
        },
        kDecide);
    EXPECT_EQ(result.verdict, folded == 410 ? Verdict::kMatch : Verdict::kMismatch) << result.reason;
  }
}

}  // namespace
}  // namespace hlo
