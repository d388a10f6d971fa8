// The shadow's bounds of sums: no permitted implementation exceeds them, and planted mistakes do.
#include <algorithm>
#include <array>
#include <numeric>

#include "tests/judge/compare_shadow_cases.h"

namespace hlo {
namespace {

// ---- Sums -----------------------------------------------------------------------------------------------------------

struct LongDot {
  static constexpr int64_t kTerms = 4096, kRows = 8, kColumns = 8;
  Program program;
  Literal a = Random({kRows, kTerms}, 1), b = Random({kTerms, kColumns}, 2);
  Instruction& dot = program.entry.Add(
      Opcode::kDot, Shape(kF32, {kRows, kColumns}),
      {&program.Parameter(kF32, {kRows, kTerms}), &program.Parameter(kF32, {kTerms, kColumns})}, MatrixTimesMatrix());

  float Product(int64_t row, int64_t column, int64_t k) const {
    return a.data<float>()[row * kTerms + k] * b.data<float>()[k * kColumns + column];
  }
  // 128 interleaved partial sums of 32 terms each, and a tree of 7 levels. This is a chain of 31 + 7 additions.
  float Blocked(int64_t row, int64_t column, int64_t terms) const {
    float partial[128] = {};
    for (int64_t k = 0; k < terms; ++k) partial[k % 128] += Product(row, column, k);
    for (int width = 64; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) partial[i] += partial[i + width];
    }
    return partial[0];
  }
  PrecisionPlan Plan() const {
    PrecisionPlan plan;
    plan.instructions[dot.id()].sum = SumPlan{.accumulator = kF32, .longest_chain = 39};
    return plan;
  }
  Comparison Against(const std::function<float(int64_t, int64_t)>& element, const PrecisionPlan* plan) {
    LocalOptions options;
    options.plan = plan;
    return program.Local(dot, {a, b},
                         Floats({kRows, kColumns}, [&](int64_t i) { return element(i / kColumns, i % kColumns); }),
                         options);
  }
};

TEST(Shadow, LongDotInAnyOrderIsWithinTheBound) {
  LongDot test;
  std::vector<int64_t> order(LongDot::kTerms);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    const Comparison comparison = test.Against(
        [&](int64_t row, int64_t column) {
          float sum = 0;
          for (const int64_t k : order)
            sum = round == 4 ? std::fma(test.a.data<float>()[row * 4096 + k], test.b.data<float>()[k * 8 + column], sum)
                             : sum + test.Product(row, column, k);
          return sum;
        },
        nullptr);
    EXPECT_EQ(comparison.verdict, Verdict::kMatch) << round;
    EXPECT_EQ(comparison.Count(ElementClass::kSuspicious), 0);
    std::ranges::shuffle(order, random);
  }
  // Ascending order is the worst one, because every partial sum is as large as possible.
  const Comparison sorted = test.Against(
      [&](int64_t row, int64_t column) {
        std::vector<float> products;
        for (int64_t k = 0; k < LongDot::kTerms; ++k) products.push_back(test.Product(row, column, k));
        std::ranges::sort(products);
        return std::accumulate(products.begin(), products.end(), 0.0f);
      },
      nullptr);
  EXPECT_EQ(sorted.verdict, Verdict::kMatch);
}

TEST(Shadow, BlockedDotKeepsItsPromise) {
  LongDot test;
  const PrecisionPlan plan = test.Plan();
  const Comparison comparison =
      test.Against([&](int64_t r, int64_t c) { return test.Blocked(r, c, LongDot::kTerms); }, &plan);
  EXPECT_EQ(comparison.verdict, Verdict::kMatch);
  EXPECT_LT(comparison.worst_ratio(), 1);
}

// XLA's runner (abs 1e-3 or rel 1e-3) accepts most results without one term.
TEST(Shadow, DroppedTermOfALongDotIsAViolation) {
  LongDot test;
  const PrecisionPlan plan = test.Plan();
  const auto dropped = [&](int64_t r, int64_t c) { return test.Blocked(r, c, LongDot::kTerms - 1); };
  const Comparison comparison = test.Against(dropped, &plan);
  EXPECT_EQ(comparison.verdict, Verdict::kMismatch);
  // A missing product near 0 may be within the bound, but most are not.
  EXPECT_GE(comparison.Count(ElementClass::kViolation), 60);
  // Without a plan any order is permitted. The worst-case bound includes many wrong results, which are suspicious.
  const Comparison any_order = test.Against(dropped, nullptr);
  EXPECT_GE(any_order.Count(ElementClass::kSuspicious), 15);
  EXPECT_GE(any_order.Count(ElementClass::kSuspicious) + any_order.bad(), 50);
}

TEST(Shadow, ExactProductsMayUnderflow) {
  // In bf16, 2^-126 * 2^-126 has one significand bit and is 0 in f32. The product 2^-60 * 2^-60 is not 0 in f32.
  for (const double factor : {0x1p-126, 0x1p-60}) {
    Program program;
    Instruction& a = program.Parameter(PrimitiveType::kBF16, {1, 1});
    Instruction& b = program.Parameter(PrimitiveType::kBF16, {1, 1});
    Instruction& dot = program.entry.Add(Opcode::kDot, Shape(kF32, {1, 1}), {&a, &b}, MatrixTimesMatrix());
    const Literal x = ToBF16(Floats({1, 1}, [&](int64_t) { return static_cast<float>(factor); }));
    EXPECT_EQ(program.Local(dot, {x, x}, Floats({1, 1}, [](int64_t) { return 0.0f; })).bad(), factor == 0x1p-60);
  }
}

// The largest f32 number becomes infinite as bf16. Its infinite product and an infinite product of the opposite sign
// add up to NaN.
TEST(Shadow, AnOperandThatMayOverflowLeavesAnInfiniteSumOpen) {
  for (const float second : {std::numeric_limits<float>::max(), 2.0f}) {
    Program p;
    Instruction& a = p.Parameter(PrimitiveType::kBF16, {1, 2});
    Instruction& b = p.Parameter(kF32, {2, 1});
    Instruction& narrow = p.entry.Add(Opcode::kConvert, Shape(PrimitiveType::kBF16, {2, 1}), {&b});
    Instruction& dot = p.entry.Add(Opcode::kDot, Shape(kF32, {1, 1}), {&a, &narrow}, MatrixTimesMatrix());
    const Literal x = ToBF16(Floats({1, 2}, [](int64_t i) { return i == 0 ? -INFINITY : 0.5f; }));
    const Literal y = Floats({2, 1}, [&](int64_t i) { return i == 0 ? 1.0f : second; });
    const auto bad = [&](float answer) {
      return p.Local(dot, {x, y}, Floats({1, 1}, [&](int64_t) { return answer; })).bad();
    };
    EXPECT_EQ(bad(-INFINITY), 0);
    EXPECT_EQ(bad(NAN), second == 2.0f);
  }
}

TEST(Shadow, ASumOfNegativeZerosIsNegative) {
  Program program;
  Instruction& x = program.Parameter(kF32, {2, 3});
  Instruction& init = program.Parameter(kF32, {});
  Instruction& sum = program.entry.Add(Opcode::kReduce, Shape(kF32, {2}), {&x, &init},
                                       ReduceAttrs{{1}, &program.Binary(Opcode::kAdd, kF32)});
  const Literal zeros = Floats({2, 3}, [](int64_t) { return -0.0f; });
  for (const float start : {-0.0f, 0.0f}) {
    const std::vector<Literal> inputs{zeros, Literal::Scalar(kF32, static_cast<double>(start))};
    EXPECT_EQ(program.Local(sum, inputs, Floats({2}, [&](int64_t) { return start; })).bad(), 0);
    EXPECT_EQ(program.Local(sum, inputs, Floats({2}, [&](int64_t) { return -start; })).bad(), 2);
  }
}

TEST(Shadow, OneLongerChainThanPromisedIsFound) {
  // Equal terms that are truncated at each step give nearly the largest error of a chain of 4096.
  LongDot test;
  test.a = Floats({8, 4096}, [](int64_t) { return 1.1f; });
  test.b = Floats({4096, 8}, [](int64_t) { return 1.1f; });
  const PrecisionPlan plan = test.Plan();
  const auto sequential = [&](int64_t r, int64_t c) {
    float sum = 0;
    for (int64_t k = 0; k < LongDot::kTerms; ++k) sum = sum + test.Product(r, c, k);
    return sum;
  };
  EXPECT_EQ(test.Against(sequential, &plan).verdict, Verdict::kMismatch);
  EXPECT_EQ(test.Against(sequential, nullptr).verdict, Verdict::kMatch);
}

TEST(Shadow, ReduceAlongEitherDimension) {
  for (const bool rows : {true, false}) {
    Program p;
    Instruction& x = p.Parameter(kF32, {37, 211});
    Instruction& sum = p.entry.Add(Opcode::kReduce, Shape(kF32, {rows ? 37 : 211}), {&x, &p.Scalar(kF32, 0)},
                                   ReduceAttrs{{rows ? 1 : 0}, &p.Binary(Opcode::kAdd, kF32)});
    const Literal in = Random({37, 211}, 4);
    const auto element = [&](int64_t i, int64_t missing) {
      float total = 0;
      const int64_t terms = rows ? 211 : 37;
      for (int64_t k = terms - 1 - missing; k >= 0; --k) total += in.data<float>()[rows ? i * 211 + k : k * 211 + i];
      return total;
    };
    const int64_t outputs = rows ? 37 : 211;
    EXPECT_EQ(p.Local(sum, {in}, Floats({outputs}, [&](int64_t i) { return element(i, 0); })).verdict, Verdict::kMatch);
    EXPECT_EQ(p.Local(sum, {in}, Floats({outputs}, [&](int64_t i) { return element(i, i == 5); })).bad(), 1) << rows;
  }
}

TEST(Shadow, ReduceOverSeparatedDimensions) {
  Program p;
  Instruction& x = p.Parameter(kF32, {3, 5, 7});
  Instruction& sum = p.entry.Add(Opcode::kReduce, Shape(kF32, {5}), {&x, &p.Scalar(kF32, 2)},
                                 ReduceAttrs{{0, 2}, &p.Binary(Opcode::kAdd, kF32)});
  const Literal in = Random({3, 5, 7}, 5);
  const Literal right = Floats({5}, [&](int64_t j) {
    float total = 2;
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t k = 0; k < 7; ++k) total += in.data<float>()[i * 35 + j * 7 + k];
    }
    return total;
  });
  EXPECT_EQ(p.Local(sum, {in}, right).verdict, Verdict::kMatch);
  Literal wrong = right;
  wrong.SetDouble(2, wrong.GetDouble(2) + 1e-4);
  EXPECT_EQ(p.Local(sum, {in}, wrong).bad(), 1);
}

TEST(Shadow, MaximumIsExactAndSeesNaN) {
  Program p;
  Instruction& x = p.Parameter(kF32, {4, 33});
  Instruction& largest = p.entry.Add(Opcode::kReduce, Shape(kF32, {4}), {&x, &p.Scalar(kF32, -INFINITY)},
                                     ReduceAttrs{{1}, &p.Binary(Opcode::kMaximum, kF32)});
  Literal in = Random({4, 33}, 6);
  in.SetDouble(2 * 33 + 32, NAN);
  in.SetDouble(3 * 33 + 7, INFINITY);
  Literal out = Floats({4}, [&](int64_t i) {
    float best = -INFINITY;
    for (int64_t k = 0; k < 33; ++k) best = std::max(best, in.data<float>()[i * 33 + k]);
    return best;
  });
  EXPECT_EQ(p.Local(largest, {in}, out).bad(), 1);  // std::max drops the NaN.
  out.SetDouble(2, NAN);
  const Comparison right = p.Local(largest, {in}, out);
  EXPECT_EQ(right.verdict, Verdict::kMatch);
  EXPECT_EQ(right.Count(ElementClass::kExact), 4);
  out.SetDouble(0, std::nextafter(out.data<float>()[0], 0.0f));
  EXPECT_EQ(p.Local(largest, {in}, out).bad(), 1);
}

// ---- Convolution ----------------------------------------------------------------------------------------------------

TEST(Shadow, ConvolutionWithStridePaddingAndGroups) {
  Program p;
  constexpr int64_t kN = 2, kH = 9, kW = 7, kC = 6, kO = 10, kGroups = 2;
  Instruction& x = p.Parameter(kF32, {kN, kH, kW, kC});
  Instruction& filter = p.Parameter(kF32, {3, 3, kC / kGroups, kO});
  ConvolutionAttrs attrs;
  attrs.window.dims = {{.size = 3, .stride = 2, .pad_low = 1, .pad_high = 1},
                       {.size = 3, .pad_low = 0, .pad_high = 2, .window_dilation = 2}};
  attrs.dim_labels = {.lhs_batch = 0,
                      .lhs_feature = 3,
                      .rhs_input_feature = 2,
                      .rhs_output_feature = 3,
                      .out_batch = 0,
                      .out_feature = 3,
                      .lhs_spatial = {1, 2},
                      .rhs_spatial = {0, 1},
                      .out_spatial = {1, 2}};
  attrs.feature_group_count = kGroups;
  Instruction& conv = p.entry.Add(Opcode::kConvolution, Shape(kF32, {kN, 5, 5, kO}), {&x, &filter}, attrs);
  const Literal in = Random({kN, kH, kW, kC}, 7), weights = Random({3, 3, kC / kGroups, kO}, 8);
  const Literal right = Floats({kN, 5, 5, kO}, [&](int64_t index) {
    const int64_t o = index % kO, ox = index / kO % 5, oy = index / kO / 5 % 5, n = index / kO / 25;
    float sum = 0;
    for (int64_t ky = 0; ky < 3; ++ky) {
      for (int64_t kx = 0; kx < 3; ++kx) {
        const int64_t y = oy * 2 + ky - 1, xx = ox + kx * 2;
        if (y < 0 || y >= kH || xx >= kW) continue;
        for (int64_t i = 0; i < kC / kGroups; ++i) {
          sum += in.data<float>()[((n * kH + y) * kW + xx) * kC + o / (kO / kGroups) * (kC / kGroups) + i] *
                 weights.data<float>()[((ky * 3 + kx) * (kC / kGroups) + i) * kO + o];
        }
      }
    }
    return sum;
  });
  const Comparison comparison = p.Local(conv, {in, weights}, right);
  EXPECT_EQ(comparison.verdict, Verdict::kMatch) << (comparison.outputs.empty() ? "" : Details(comparison.outputs[0]));
  Literal wrong = right;
  wrong.SetDouble(499, wrong.GetDouble(499) * (1 + 0x1p-16));
  EXPECT_EQ(p.Local(conv, {in, weights}, wrong).bad(), 1);
}

TEST(Shadow, AboveTheWorkLimitASampleIsChecked) {
  Program p;
  constexpr int64_t kRows = 200, kTerms = 64, kColumns = 300;
  Instruction& dot =
      p.entry.Add(Opcode::kDot, Shape(kF32, {kRows, kColumns}),
                  {&p.Parameter(kF32, {kRows, kTerms}), &p.Parameter(kF32, {kTerms, kColumns})}, MatrixTimesMatrix());
  Instruction& bias = p.Parameter(kF32, {kColumns});
  Instruction& sum = p.Op(Opcode::kAdd, {&dot, &p.Broadcast(bias, {kRows, kColumns}, {1})});
  Instruction& turned =
      p.entry.Add(Opcode::kTranspose, Shape(kF32, {kColumns, kRows}), {&sum}, DimensionsAttrs{{1, 0}});
  const Literal a = Random({kRows, kTerms}, 9), b = Random({kTerms, kColumns}, 10), c = Random({kColumns}, 11);
  Literal out = Floats({kColumns, kRows}, [&](int64_t i) {
    const int64_t column = i / kRows, row = i % kRows;
    float total = 0;
    for (int64_t k = 0; k < kTerms; ++k)
      total += a.data<float>()[row * kTerms + k] * b.data<float>()[k * kColumns + column];
    return total + c.data<float>()[column];
  });
  LocalOptions options;
  options.work_limit = 100'000;
  const Comparison comparison = p.Local(turned, {a, b, c}, out, options);
  EXPECT_EQ(comparison.verdict, Verdict::kMatch);
  EXPECT_GE(comparison.checked(), 4096);
  EXPECT_LT(comparison.checked(), 8000);
  EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
  // One in seven elements is wrong.
  for (int64_t i = 0; i < kColumns * kRows; i += 7) out.SetDouble(i, out.GetDouble(i) + 0.01);
  EXPECT_GT(p.Local(turned, {a, b, c}, out, options).bad(), 300);
}

// A sample of a large dot needs only the rows and columns of its points, for any order of the dimensions.
TEST(Shadow, ASampleOfADotNeedsItsLinesAlone) {
  struct Case {
    std::vector<int64_t> left, right, result;
    DotAttrs attrs;
  };
  const Case cases[] = {
      {{1100, 8}, {8, 1100}, {1100, 1100}, {.lhs_contracting = {1}, .rhs_contracting = {0}}},
      {{8, 1100}, {1100, 8}, {1100, 1100}, {.lhs_contracting = {0}, .rhs_contracting = {1}}},
      {{1100, 3, 2, 2},
       {3, 1200, 2, 2},
       {2, 1100, 1200},
       {.lhs_batch = {2}, .lhs_contracting = {1, 3}, .rhs_batch = {3}, .rhs_contracting = {0, 2}}},
      {{5000, 2, 4}, {4, 12, 2}, {5000, 12}, {.lhs_contracting = {2, 1}, .rhs_contracting = {0, 2}}},
      {{12, 8}, {8, 5000}, {12, 5000}, {.lhs_contracting = {1}, .rhs_contracting = {0}}},
  };
  for (const Case& c : cases) {
    Program p;
    Instruction& left = p.Parameter(kF32, c.left);
    Instruction& right = p.Parameter(kF32, c.right);
    Instruction& doubled = p.Op(Opcode::kAdd, {&right, &right});
    Instruction& dot = p.entry.Add(Opcode::kDot, Shape(kF32, c.result), {&left, &doubled}, c.attrs);
    p.entry.SetRoot(dot);
    const std::vector<Literal> inputs{Random(c.left, 41), Random(c.right, 42)};
    Literal out = *Interpret(p.module, inputs);
    LocalOptions options;
    options.work_limit = 10'000;
    const Comparison right_one = p.Local(dot, inputs, out, options);
    EXPECT_EQ(right_one.verdict, Verdict::kMatch) << out.shape().ToString();
    EXPECT_GE(right_one.checked(), 4096);
    EXPECT_LT(right_one.checked(), 8000);
    EXPECT_EQ(right_one.Count(ElementClass::kUndetermined), 0);
    const int64_t last = out.shape().NumElements() - 1;
    out.SetDouble(last, out.GetDouble(last) + 0.01);
    EXPECT_EQ(p.Local(dot, inputs, out, options).verdict, Verdict::kMismatch) << out.shape().ToString();
    for (int64_t i = 0; i < last; ++i) out.SetDouble(i, out.GetDouble(i) + 0.01);
    const Comparison wrong = p.Local(dot, inputs, out, options);
    EXPECT_EQ(wrong.bad(), wrong.checked()) << out.shape().ToString();
  }
}

// A sample of a scatter needs the updates of its points. The windows have two rows and three columns. Some do not fit,
// and many overlap.
TEST(Shadow, ASampleOfAScatter) {
  constexpr int64_t kRows = 150, kColumns = 90, kUpdates = 3000;
  Program p;
  Literal places(Shape(PrimitiveType::kS32, {kUpdates, 2}));
  std::mt19937 random(31);
  for (int64_t i = 0; i < kUpdates; ++i) {
    places.SetInt(2 * i, static_cast<int64_t>(random() % (kRows + 10)) - 5);
    places.SetInt(2 * i + 1, static_cast<int64_t>(random() % (kColumns + 10)) - 5);
  }
  Instruction& start = p.Parameter(kF32, {kRows, kColumns});
  Instruction& indices = p.Parameter(PrimitiveType::kS32, {kUpdates, 2});
  Instruction& updates = p.Parameter(kF32, {kUpdates, 2, 3});
  Instruction& sums =
      p.entry.Add(Opcode::kScatter, start.shape(), {&start, &indices, &p.Op(Opcode::kNegate, {&updates})},
                  ScatterAttrs{.update_window_dims = {1, 2},
                               .scatter_dims_to_operand_dims = {0, 1},
                               .index_vector_dim = 1,
                               .to_apply = &p.Binary(Opcode::kAdd, kF32)});
  p.entry.SetRoot(sums);
  const std::vector<Literal> inputs{Random({kRows, kColumns}, 32), places, Random({kUpdates, 2, 3}, 33)};
  Literal out = *Interpret(p.module, inputs);
  LocalOptions options;
  options.work_limit = 100'000;
  const Comparison comparison = p.Local(sums, inputs, out, options);
  EXPECT_EQ(comparison.verdict, Verdict::kMatch);
  EXPECT_LT(comparison.checked(), 8000);
  EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
  // One in seven elements is wrong.
  for (int64_t i = 0; i < kRows * kColumns; i += 7) out.SetDouble(i, out.GetDouble(i) + 0.01);
  EXPECT_GT(p.Local(sums, inputs, out, options).bad(), 300);
}

// A sample has the same values and bounds as the complete shadow at its points, after movements and reductions.
TEST(Shadow, ASampleThroughMovementsAndReductions) {
  Program p;
  Instruction& x = p.Parameter(kF32, {120, 90});
  Instruction& low =
      p.entry.Add(Opcode::kSlice, Shape(kF32, {100, 90}), {&x}, SliceAttrs{{{{20, 120, 1}, {0, 90, 1}}}});
  Instruction& turned = p.entry.Add(Opcode::kReverse, Shape(kF32, {100, 90}), {&low}, DimensionsAttrs{{0}});
  Instruction& both = p.entry.Add(Opcode::kConcatenate, Shape(kF32, {220, 90}), {&x, &turned}, OneDimensionAttrs{{0}});
  Instruction& flat = p.entry.Add(Opcode::kReshape, Shape(kF32, {19800}), {&both}, ReshapeAttrs{});
  Instruction& place = p.entry.Add(Opcode::kIota, Shape(kF32, {19800}), {}, IotaAttrs{0});
  Instruction& sum = p.Op(Opcode::kAdd, {&flat, &place});
  const Literal in = Random({120, 90}, 21);
  const auto right = [&](int64_t i) {
    const int64_t row = i / 90, from = row < 120 ? row : 239 - row;
    return in.data<float>()[from * 90 + i % 90] + static_cast<float>(i);
  };
  LocalOptions options;
  options.work_limit = 1000;
  Literal out = Floats({19800}, right);
  const Comparison comparison = p.Local(sum, {in}, out, options);
  EXPECT_EQ(comparison.verdict, Verdict::kMatch);
  EXPECT_GE(comparison.checked(), 4096);
  EXPECT_LT(comparison.checked(), 19800);
  EXPECT_EQ(comparison.elements(), 19800);
  // The sample always contains the ends.
  for (const int64_t i : {0, 19799}) {
    Literal wrong = out;
    wrong.SetDouble(i, wrong.GetDouble(i) + 1);
    const Comparison found = p.Local(sum, {in}, wrong, options);
    ASSERT_EQ(found.bad(), 1);
    EXPECT_EQ(found.outputs[0].worst[0].index, std::vector<int64_t>{i});
  }
}

// The bound is relative to the norm of the operand. The squares of these small numbers underflow.
TEST(Shadow, TransformsOfSmallNumbersHaveBounds) {
  Program p;
  Instruction& x = p.Parameter(PrimitiveType::kC128, {61});
  Instruction& fft = p.Op(Opcode::kFft, {&x}, FftAttrs{.fft_type = FftType::kFft, .fft_length = {61}});
  Literal in(x.shape());
  for (int64_t i = 0; i < 61; ++i) in.SetComplex(i, {std::sin(1.7 * static_cast<double>(i)) * 1e-300, 1e-301});
  const auto exact = Evaluate(fft, {&in, 1});
  ASSERT_TRUE(exact);
  const auto off_by = [&](double relative) {
    Literal out = *exact;
    for (int64_t i = 0; i < 61; ++i) out.SetComplex(i, out.GetComplex(i) + 8e-300 * relative);
    return p.Local(fft, {in}, out).verdict;
  };
  EXPECT_EQ(off_by(4e-16), Verdict::kMatch);
  EXPECT_EQ(off_by(1e-11), Verdict::kMismatch);
}

// If the magnitudes together overflow, an algorithm may have an infinite intermediate result and then a NaN. If the sum
// of magnitudes does not overflow, no algorithm gives a NaN.
TEST(Shadow, TransformsThatMayOverflowAreOpen) {
  Program p;
  Instruction& x = p.Parameter(PrimitiveType::kC64, {6});
  Instruction& fft = p.Op(Opcode::kFft, {&x}, FftAttrs{.fft_type = FftType::kFft, .fft_length = {6}});
  for (const double size : {1e38, 1e37}) {
    Literal in(x.shape());
    for (int64_t i = 0; i < 6; ++i) in.SetComplex(i, {i % 2 == 0 ? size : -size, 0});
    Literal out = *Evaluate(fft, {&in, 1});
    out.SetComplex(1, {std::nan(""), 0});
    EXPECT_EQ(p.Local(fft, {in}, out).verdict, size == 1e38 ? Verdict::kInconclusive : Verdict::kMismatch);
  }
}

}  // namespace
}  // namespace hlo
