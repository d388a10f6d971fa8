// The shadow's bounds of elements: no permitted implementation exceeds them, and planted mistakes do.
#include <algorithm>
#include <array>
#include <numeric>

#include "tests/judge/compare_shadow_cases.h"

namespace hlo {
namespace {

// ---- Elementwise ----------------------------------------------------------------------------------------------------

TEST(Shadow, MultiplyAddWithAndWithoutFma) {
  Program p;
  Instruction& a = p.Parameter(kF32, {1000});
  Instruction& b = p.Parameter(kF32, {1000});
  Instruction& c = p.Parameter(kF32, {1000});
  Instruction& sum = p.Op(Opcode::kAdd, {&p.Op(Opcode::kMultiply, {&a, &b}), &c});
  const Literal x = Random({1000}, 12), y = Random({1000}, 13), z = Random({1000}, 14);
  const auto at = [](const Literal& l, int64_t i) { return l.data<float>()[i]; };
  EXPECT_EQ(p.Local(sum, {x, y, z}, Floats({1000}, [&](int64_t i) { return at(x, i) * at(y, i) + at(z, i); })).verdict,
            Verdict::kMatch);
  const Comparison fused =
      p.Local(sum, {x, y, z}, Floats({1000}, [&](int64_t i) { return std::fma(at(x, i), at(y, i), at(z, i)); }));
  EXPECT_EQ(fused.verdict, Verdict::kMatch);
  // A result that is off by two ulps exceeds the bound wherever nothing cancels.
  const Comparison off = p.Local(sum, {x, y, z}, Floats({1000}, [&](int64_t i) {
                                   const float right = std::fma(at(x, i), at(y, i), at(z, i));
                                   return std::nextafter(std::nextafter(right, 10.0f), 10.0f);
                                 }));
  EXPECT_GT(off.bad(), 500);
}

TEST(Shadow, OneRoundingIsCheckedToHalfAStep) {
  Program p;
  Instruction& product = p.Op(Opcode::kMultiply, {&p.Parameter(kF32, {1000}), &p.Parameter(kF32, {1000})});
  const Literal x = Random({1000}, 15), y = Random({1000}, 16);
  const auto at = [](const Literal& l, int64_t i) { return l.data<float>()[i]; };
  EXPECT_EQ(p.Local(product, {x, y}, Floats({1000}, [&](int64_t i) { return at(x, i) * at(y, i); })).verdict,
            Verdict::kMatch);
  EXPECT_GT(
      p.Local(product, {x, y}, Floats({1000}, [&](int64_t i) { return std::nextafter(at(x, i) * at(y, i), 2.0f); }))
          .bad(),
      950);
}

TEST(Shadow, ExpOffByEightStepsIsAViolation) {
  Program p;
  Instruction& exp = p.Op(Opcode::kExp, {&p.Parameter(kF32, {1000})});
  const Literal x = Random({1000}, 17, -20, 20);
  const auto with_error = [&](int steps) {
    return Floats({1000}, [&](int64_t i) {
      float y = static_cast<float>(std::exp(static_cast<double>(x.data<float>()[i])));
      for (int s = 0; s < steps; ++s) y = std::nextafter(y, INFINITY);
      return y;
    });
  };
  EXPECT_EQ(p.Local(exp, {x}, with_error(0)).verdict, Verdict::kMatch);
  EXPECT_EQ(p.Local(exp, {x}, with_error(1)).verdict, Verdict::kMatch);
  EXPECT_EQ(p.Local(exp, {x}, with_error(8)).bad(), 1000);
}

TEST(Shadow, WrongTailElementIsFoundAndNamed) {
  Program p;
  Instruction& x = p.Parameter(kF32, {7, 1000});
  Instruction& y = p.Op(Opcode::kTanh, {&p.Op(Opcode::kAdd, {&x, &x})});
  const Literal in = Random({7, 1000}, 18);
  const Literal out = Floats({7, 1000}, [&](int64_t i) {
    const float v = in.data<float>()[i];
    return i % 1000 >= 960 ? 0 : static_cast<float>(std::tanh(2.0 * v));
  });
  const Comparison comparison = p.Local(y, {in}, out);
  ASSERT_EQ(comparison.verdict, Verdict::kMismatch);
  const TensorComparison& tensor = comparison.outputs[0];
  EXPECT_EQ(tensor.bad(), 7 * 40);
  EXPECT_EQ(tensor.where, "dim 1 in [960,999] (40 of 1000), all of dim 0");
  EXPECT_EQ(tensor.looks_like[0], "ZEROS: never written, or cleared");
  EXPECT_EQ(tensor.looks_like[1], "PARTIAL TILE: the last 40 of dim 1 (1000 mod 64)");
}

TEST(Shadow, DoubleRoundingToBF16IsAViolation) {
  Program p;
  Instruction& x = p.Parameter(kF32, {20000});
  Instruction& narrow = p.entry.Add(Opcode::kConvert, Shape(PrimitiveType::kBF16, {20000}), {&x});
  const Literal in = Random({20000}, 19);
  Literal once(Shape(PrimitiveType::kBF16, {20000})), twice = once;
  for (int64_t i = 0; i < 20000; ++i) {
    const float v = in.data<float>()[i];
    once.SetDouble(i, v);
    // Rounds to 11 bits first, as f16 without its range would.
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    const uint32_t eleven = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
    twice.SetDouble(i, std::bit_cast<float>(eleven));
  }
  EXPECT_EQ(p.Local(narrow, {in}, once).verdict, Verdict::kMatch);
  EXPECT_GT(p.Local(narrow, {in}, twice).bad(),
            300);  // One result in 32 is close enough to a tie, and half of these are rounded in the wrong direction.
}

// A plan says that each instruction rounds to its type. So a number that is known before its last rounding has one
// right result, even halfway between two numbers of the type.
TEST(Shadow, ATieHasOneRightResult) {
  constexpr PrimitiveType kBF16 = PrimitiveType::kBF16;
  Program p;
  Instruction& x = p.Parameter(kBF16, {4});
  Instruction& y = p.Parameter(kBF16, {4});
  const std::vector<Literal> in{Literal::Vector(kBF16, std::vector{1., 1.0078125, -2., 3.}),
                                Literal::Vector(kBF16, std::vector{0.00390625, 0.00390625, -0.0078125, 0.25})};
  const std::vector<double> even{1, 1.015625, -2, 3.25}, away{1.0078125, 1.015625, -2.015625, 3.25};
  for (const bool converts : {false, true}) {
    Instruction& sum = p.Op(Opcode::kAdd, {&x, &y});
    Instruction* root = &sum;
    PrecisionPlan plan{.instructions = {}, .contract = false};
    if (converts) {
      const Shape wide(kF32, {4});
      Instruction& exact = p.entry.Add(
          Opcode::kAdd, wide, {&p.entry.Add(Opcode::kConvert, wide, {&x}), &p.entry.Add(Opcode::kConvert, wide, {&y})});
      root = &p.entry.Add(Opcode::kConvert, Shape(kBF16, {4}), {&exact});
    }
    for (const Instruction* inst : p.entry.Instructions()) plan.instructions[inst->id()].hold = inst->shape().type();
    LocalOptions options;
    options.plan = &plan;
    EXPECT_EQ(p.Local(*root, in, Literal::Vector(kBF16, even), options).bad(), 0);
    EXPECT_EQ(p.Local(*root, in, Literal::Vector(kBF16, away), options).bad(), 2);
  }
}

// Our maximum follows IEEE 754-2019, for which -0 is less than 0. XLA's interpreter keeps the first of two equal
// numbers. So both zeros are right, even if the operands are known.
TEST(Shadow, TheMaximumOfTwoZerosIsEither) {
  Program p;
  Instruction& x = p.Parameter(kF32, {2});
  Instruction& y = p.Parameter(kF32, {2});
  for (const Opcode opcode : {Opcode::kMaximum, Opcode::kMinimum}) {
    const Literal zeros = Floats({2}, [](int64_t i) { return i == 0 ? 0.0f : -0.0f; }),
                  others = Floats({2}, [](int64_t i) { return i == 0 ? -0.0f : 0.0f; });
    Instruction& extreme = p.Op(opcode, {&x, &y});
    for (const Literal* actual : {&zeros, &others}) EXPECT_EQ(p.Local(extreme, {zeros, others}, *actual).bad(), 0);
    EXPECT_EQ(p.Local(extreme, {zeros, zeros}, others).bad(), 2);
  }
}

TEST(Shadow, NarrowFusionMayStayWideInside) {
  Program p;
  Instruction& a = p.Parameter(PrimitiveType::kBF16, {2000});
  Instruction& b = p.Parameter(PrimitiveType::kBF16, {2000});
  Instruction& y = p.Op(Opcode::kMultiply, {&p.Op(Opcode::kAdd, {&a, &b}), &b});
  const Literal x = ToBF16(Random({2000}, 20)), z = ToBF16(Random({2000}, 21));
  Literal stepwise(Shape(PrimitiveType::kBF16, {2000})), wide = stepwise;
  for (int64_t i = 0; i < 2000; ++i) {
    const float sum = static_cast<float>(x.GetDouble(i)) + static_cast<float>(z.GetDouble(i));
    wide.SetDouble(i, sum * static_cast<float>(z.GetDouble(i)));
    stepwise.SetDouble(i, BF16ToFloat(FloatToBF16(sum)) * static_cast<float>(z.GetDouble(i)));
  }
  EXPECT_EQ(p.Local(y, {x, z}, stepwise).verdict, Verdict::kMatch);
  EXPECT_EQ(p.Local(y, {x, z}, wide).verdict, Verdict::kMatch);
  // If the plan holds the intermediate value in f32, rounding it to bf16 is wrong.
  PrecisionPlan plan;
  plan.instructions[y.operand(0).id()].hold = kF32;
  LocalOptions options;
  options.plan = &plan;
  EXPECT_EQ(p.Local(y, {x, z}, wide, options).verdict, Verdict::kMatch);
  EXPECT_GT(p.Local(y, {x, z}, stepwise, options).bad(), 100);
}

TEST(Shadow, CancellationIsJudgedByItsTerms) {
  Program p;
  Instruction& a = p.Parameter(kF32, {100});
  Instruction& b = p.Parameter(kF32, {100});
  Instruction& y = p.Op(Opcode::kSubtract, {&p.Op(Opcode::kMultiply, {&a, &a}), &p.Op(Opcode::kMultiply, {&b, &b})});
  const Literal x = Random({100}, 22, 1, 2);
  const Literal z = Floats({100}, [&](int64_t i) { return std::nextafter(x.data<float>()[i], 9.0f); });
  const Literal out = Floats({100}, [&](int64_t i) {
    const float u = x.data<float>()[i], v = z.data<float>()[i];
    return u * u - v * v;
  });
  const Comparison comparison = p.Local(y, {x, z}, out);
  EXPECT_EQ(comparison.bad(), 0);  // The relative error is near 1, but the result is right.
  EXPECT_GT(comparison.outputs[0].max_rel, 0.1);
}

// ---- Special values and decisions -----------------------------------------------------------------------------------

TEST(Shadow, InfinityNaNAndOverflow) {
  Program p;
  Instruction& a = p.Parameter(kF32, {6});
  Instruction& b = p.Parameter(kF32, {6});
  Instruction& y = p.Op(Opcode::kMultiply, {&a, &b});
  const float x[] = {INFINITY, INFINITY, NAN, 3e38f, 1e-30f, -3e38f};
  const float z[] = {2, 0, 1, 2, 1e-30f, 2};
  const Literal u = Floats({6}, [&](int64_t i) { return x[i]; }), v = Floats({6}, [&](int64_t i) { return z[i]; });
  const float right[] = {INFINITY, NAN, NAN, INFINITY, 0, -INFINITY};
  EXPECT_EQ(p.Local(y, {u, v}, Floats({6}, [&](int64_t i) { return right[i]; })).verdict, Verdict::kMatch);
  const float wrong[] = {-INFINITY, 0, 1, 3.4e38f, 1e-30f, INFINITY};
  EXPECT_EQ(p.Local(y, {u, v}, Floats({6}, [&](int64_t i) { return wrong[i]; })).bad(), 6);
}

TEST(Shadow, SignedZeroOfExactOperations) {
  Program p;
  Instruction& y = p.Op(Opcode::kNegate, {&p.Parameter(kF32, {2})});
  const Literal in = Floats({2}, [](int64_t i) { return i == 0 ? 0.0f : -0.0f; });
  EXPECT_EQ(p.Local(y, {in}, Floats({2}, [](int64_t i) { return i == 0 ? -0.0f : 0.0f; })).verdict, Verdict::kMatch);
  EXPECT_EQ(p.Local(y, {in}, in).bad(), 2);
}

TEST(Shadow, SelectBehindARoundedComparisonHasAHull) {
  Program p;
  Instruction& x = p.Parameter(kF32, {3});
  Instruction& sum = p.Op(Opcode::kAdd, {&x, &p.Parameter(kF32, {3})});
  Instruction& zero = p.Broadcast(p.Scalar(kF32, 0), {3});
  Instruction& positive =
      p.entry.Add(Opcode::kCompare, Shape(PrimitiveType::kPred, {3}), {&sum, &p.Op(Opcode::kMultiply, {&x, &x})},
                  CompareAttrs{.direction = ComparisonDirection::kGt});
  Instruction& big = p.Broadcast(p.Scalar(kF32, 1000), {3});
  Instruction& y = p.entry.Add(Opcode::kSelect, Shape(kF32, {3}), {&positive, &big, &zero});
  // Decides x + b > x * x. The left side is much larger, much smaller, or equal within a rounding.
  const Literal a = Floats({3}, [](int64_t i) { return i == 2 ? 1.1f : 0.5f; });
  const Literal b = Floats({3}, [](int64_t i) { return i == 0 ? 5.0f : i == 1 ? -5.0f : 1.1f * 1.1f - 1.1f; });
  for (const float last : {0.0f, 1000.0f}) {
    const Comparison c = p.Local(y, {a, b}, Floats({3}, [&](int64_t i) {
                                   return i == 0 ? 1000.0f : i == 1 ? 0.0f : last;
                                 }));
    EXPECT_EQ(c.bad(), 0);
    EXPECT_EQ(c.Count(ElementClass::kVacuous) + c.Count(ElementClass::kUndetermined), 1);
  }
  EXPECT_EQ(p.Local(y, {a, b}, Floats({3}, [](int64_t) { return 0.0f; })).bad(), 1);
  EXPECT_EQ(p.Local(y, {a, b}, Floats({3}, [](int64_t i) { return i == 0 ? 1000.0f : 1001.0f * (i == 2); })).bad(), 1);
}

TEST(Shadow, FloorIsUndeterminedOnlyAtABoundary) {
  Program p;
  Instruction& x = p.Parameter(kF32, {2});
  Instruction& y = p.Op(Opcode::kFloor, {&p.Op(Opcode::kMultiply, {&x, &p.Parameter(kF32, {2})})});
  const Literal a = Floats({2}, [](int64_t i) { return i == 0 ? 0.1f : 2.25f; });
  const Literal b = Floats({2}, [](int64_t i) { return i == 0 ? 10.0f : 1.5f; });
  for (const float either : {0.0f, 1.0f}) {
    EXPECT_EQ(p.Local(y, {a, b}, Floats({2}, [&](int64_t i) { return i == 0 ? either : 3.0f; })).bad(), 0);
  }
  EXPECT_EQ(p.Local(y, {a, b}, Floats({2}, [](int64_t i) { return i == 0 ? 2.0f : 4.0f; })).bad(), 2);
}

TEST(Shadow, SqrtOfWhatMayBeNegativeIsUndetermined) {
  Program p;
  Instruction& x = p.Parameter(kF32, {1});
  Instruction& y =
      p.Op(Opcode::kSqrt, {&p.Op(Opcode::kSubtract, {&p.Op(Opcode::kMultiply, {&x, &x}), &p.Parameter(kF32, {1})})});
  const float a = 1.1f;
  const Comparison c =
      p.Local(y, {Floats({1}, [&](int64_t) { return a; }), Floats({1}, [&](int64_t) { return a * a; })},
              Floats({1}, [](int64_t) { return 0.0f; }));
  EXPECT_EQ(c.Count(ElementClass::kUndetermined), 1);
  EXPECT_EQ(c.verdict, Verdict::kInconclusive);
  EXPECT_EQ(ExitCodeOf(c.verdict), ExitCode::kInconclusive);
}

TEST(Shadow, ScatterAddSumsDuplicates) {
  Program p;
  Instruction& x = p.Parameter(kF32, {4});
  Instruction& indices = p.Parameter(PrimitiveType::kS32, {5, 1});
  Instruction& updates = p.Parameter(kF32, {5});
  ScatterAttrs attrs{.inserted_window_dims = {0},
                     .scatter_dims_to_operand_dims = {0},
                     .index_vector_dim = 1,
                     .to_apply = &p.Binary(Opcode::kAdd, kF32)};
  Instruction& y = p.entry.Add(Opcode::kScatter, Shape(kF32, {4}), {&x, &indices, &updates}, attrs);
  Literal where(Shape(PrimitiveType::kS32, {5, 1}));
  const int32_t at[] = {1, 1, 3, 9, 1};  // Index 9 is out of range, so its update is dropped.
  for (int64_t i = 0; i < 5; ++i) where.SetInt(i, at[i]);
  const Literal start = Random({4}, 23), add = Random({5}, 24);
  Literal out = start;
  for (const int64_t i : {4, 1, 0, 2})
    out.SetDouble(at[i], static_cast<float>(out.GetDouble(at[i])) + add.data<float>()[i]);
  const Comparison right = p.Local(y, {start, where, add}, out);
  EXPECT_EQ(right.verdict, Verdict::kMatch);
  EXPECT_EQ(right.Count(ElementClass::kExact) >= 2, true);
  out.SetDouble(1, out.GetDouble(1) - add.data<float>()[4]);  // One of the updates of the same element is lost.
  EXPECT_EQ(p.Local(y, {start, where, add}, out).bad(), 1);
}

TEST(Shadow, WindowsAndTheirGradient) {
  Program p;
  Instruction& x = p.Parameter(kF32, {7});
  const Window window{{{.size = 3, .stride = 2, .pad_low = 1, .pad_high = 1}}};
  Instruction& pool = p.entry.Add(Opcode::kReduceWindow, Shape(kF32, {4}), {&x, &p.Scalar(kF32, 0)},
                                  ReduceWindowAttrs{window, &p.Binary(Opcode::kAdd, kF32)});
  const Literal in = Random({7}, 25);
  const auto v = in.data<float>();
  const float sums[] = {v[0] + v[1], v[1] + v[2] + v[3], v[3] + v[4] + v[5], v[5] + v[6]};
  EXPECT_EQ(p.Local(pool, {in}, Floats({4}, [&](int64_t i) { return sums[i]; })).verdict, Verdict::kMatch);
  EXPECT_EQ(p.Local(pool, {in}, Floats({4}, [&](int64_t i) { return i == 3 ? v[6] : sums[i]; })).bad(), 1);

  Computation& ge = p.module.AddComputation("ge");
  Instruction& a = ge.AddParameter(0, Shape::Scalar(kF32));
  Instruction& b = ge.AddParameter(1, Shape::Scalar(kF32));
  ge.SetRoot(ge.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&a, &b},
                    CompareAttrs{.direction = ComparisonDirection::kGe}));
  Instruction& source = p.Parameter(kF32, {4});
  Instruction& gradient = p.entry.Add(Opcode::kSelectAndScatter, Shape(kF32, {7}), {&x, &source, &p.Scalar(kF32, 0)},
                                      SelectAndScatterAttrs{window, &ge, &p.Binary(Opcode::kAdd, kF32)});
  const Literal grads = Random({4}, 26);
  Literal out(Shape(kF32, {7}));
  for (int64_t w = 0; w < 4; ++w) {
    int64_t best = -1;
    for (int64_t k = std::max<int64_t>(0, 2 * w - 1); k <= std::min<int64_t>(6, 2 * w + 1); ++k)
      best = best < 0 || v[k] > v[best] ? k : best;
    out.SetDouble(best, static_cast<float>(out.GetDouble(best)) + grads.data<float>()[w]);
  }
  EXPECT_EQ(p.Local(gradient, {in, grads}, out).verdict, Verdict::kMatch);
}

}  // namespace
}  // namespace hlo
