// The shadow's bounds are honest (no permitted implementation breaks them) and tight (planted mistakes do).
#include <gtest/gtest.h>
#include <array>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "interp/compare/compare.h"
#include "interp/interpreter.h"
#include "interp/shadow/shadow.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr PrimitiveType kF32 = PrimitiveType::kF32;
constexpr PrimitiveType kBF16 = PrimitiveType::kBF16;

// A module whose entry is being written.
struct Program {
  Module module{"test"};
  Computation& entry = module.AddComputation("entry");
  int64_t parameters = 0;

  Program() { module.SetEntry(entry); }
  Instruction& Parameter(PrimitiveType type, const std::vector<int64_t>& dims) {
    return entry.AddParameter(parameters++, Shape(type, dims));
  }
  Instruction& Op(Opcode opcode, std::vector<Instruction*> operands, Attributes attrs = NoAttrs()) {
    return entry.Add(opcode, operands[0]->shape(), operands, std::move(attrs));
  }
  // (value, index) of either side to that of the first, where its value compares so with the second's, or the second.
  Computation& Argmax(ComparisonDirection direction) {
    const Shape value = Shape::Scalar(kF32), index = Shape::Scalar(PrimitiveType::kS32);
    Computation& body = module.AddComputation("argmax");
    Instruction& best = body.AddParameter(0, value);
    Instruction& best_at = body.AddParameter(1, index);
    Instruction& next = body.AddParameter(2, value);
    Instruction& next_at = body.AddParameter(3, index);
    Instruction& keep =
        body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&best, &next}, CompareAttrs{direction});
    body.SetRoot(body.AddTuple({&body.Add(Opcode::kSelect, value, {&keep, &best, &next}),
                                &body.Add(Opcode::kSelect, index, {&keep, &best_at, &next_at})}));
    return body;
  }
  Instruction& Scalar(PrimitiveType type, double value) { return entry.AddConstant(Literal::Scalar(type, value)); }
  Instruction& Broadcast(Instruction& x, const std::vector<int64_t>& dims, std::vector<int64_t> dimensions = {}) {
    return entry.Add(Opcode::kBroadcast, Shape(x.shape().type(), dims), {&x}, DimensionsAttrs{std::move(dimensions)});
  }
  Computation& Binary(Opcode opcode, PrimitiveType type) {
    Computation& body = module.AddComputation("combine");
    Instruction& a = body.AddParameter(0, Shape::Scalar(type));
    Instruction& b = body.AddParameter(1, Shape::Scalar(type));
    body.SetRoot(body.Add(opcode, Shape::Scalar(type), {&a, &b}));
    return body;
  }
  Comparison Local(Instruction& root, std::vector<Literal> inputs, const Literal& actual,
                   const LocalOptions& options = {}) {
    entry.SetRoot(root);
    auto comparison = CompareLocal(entry, inputs, actual, options);
    EXPECT_TRUE(comparison.has_value()) << (comparison ? "" : comparison.error().message());
    return comparison ? *comparison : Comparison();
  }
};

Literal Floats(const std::vector<int64_t>& dims, const std::function<float(int64_t)>& f) {
  Literal literal(Shape(kF32, dims));
  auto data = literal.mutable_data<float>();
  for (size_t i = 0; i < data.size(); ++i) data[i] = f(i);
  return literal;
}

Literal Random(const std::vector<int64_t>& dims, uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  return Floats(dims, [&](int64_t) { return low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f; });
}

Literal ToBF16(const Literal& from) {
  Literal to(from.shape().WithType(kBF16));
  for (int64_t i = 0; i < from.shape().NumElements(); ++i) to.SetDouble(i, from.GetDouble(i));
  return to;
}

DotAttrs MatrixTimesMatrix() { return {.lhs_contracting = {1}, .rhs_contracting = {0}}; }

// ---- Sums
// ------------------------------------------------------------------------------------------------------------

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
  // In 128 interleaved partial sums of 32 terms each and a tree of 7 levels: a chain of 31 + 7 additions.
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
  // The worst order there is: ascending, so that every partial sum is as large as can be.
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

// XLA's runner accepts this 72 times of 100 (abs 1e-3 or rel 1e-3).
TEST(Shadow, DroppedTermOfALongDotIsAViolation) {
  LongDot test;
  const PrecisionPlan plan = test.Plan();
  const auto dropped = [&](int64_t r, int64_t c) { return test.Blocked(r, c, LongDot::kTerms - 1); };
  const Comparison comparison = test.Against(dropped, &plan);
  EXPECT_EQ(comparison.verdict, Verdict::kMismatch);
  // A product near 0 may hide; most cannot.
  EXPECT_GE(comparison.Count(ElementClass::kViolation), 60);
  // Without a plan any order is allowed, whose worst case hides many; those are said to be unlikely.
  const Comparison any_order = test.Against(dropped, nullptr);
  EXPECT_GE(any_order.Count(ElementClass::kSuspicious), 15);
  EXPECT_GE(any_order.Count(ElementClass::kSuspicious) + any_order.bad(), 50);
}

TEST(Shadow, ExactProductsMayUnderflow) {
  // 2^-126 * 2^-126 of bf16 has one significand bit and is 0 in f32; 2^-60 * 2^-60 is not.
  for (const double factor : {0x1p-126, 0x1p-60}) {
    Program program;
    Instruction& a = program.Parameter(kBF16, {1, 1});
    Instruction& b = program.Parameter(kBF16, {1, 1});
    Instruction& dot = program.entry.Add(Opcode::kDot, Shape(kF32, {1, 1}), {&a, &b}, MatrixTimesMatrix());
    const Literal x = ToBF16(Floats({1, 1}, [&](int64_t) { return static_cast<float>(factor); }));
    EXPECT_EQ(program.Local(dot, {x, x}, Floats({1, 1}, [](int64_t) { return 0.0f; })).bad(), factor == 0x1p-60);
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
  // Equal terms, truncated toward zero at each step, is what a chain of 4096 looks like at its worst.
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

// ---- Convolution
// -----------------------------------------------------------------------------------------------------

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
  for (int64_t i = 0; i < kColumns * kRows; i += 7) out.SetDouble(i, out.GetDouble(i) + 0.01);  // One in seven: found.
  EXPECT_GT(p.Local(turned, {a, b, c}, out, options).bad(), 300);
}

// A sample is what the whole says at its points, whatever lies between them and the arguments.
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
  // The ends are always among them.
  for (const int64_t i : {0, 19799}) {
    Literal wrong = out;
    wrong.SetDouble(i, wrong.GetDouble(i) + 1);
    const Comparison found = p.Local(sum, {in}, wrong, options);
    ASSERT_EQ(found.bad(), 1);
    EXPECT_EQ(found.outputs[0].worst[0].index, std::vector<int64_t>{i});
  }
}

// ---- Elementwise
// -----------------------------------------------------------------------------------------------------

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
  // Tight: two steps off is too far wherever nothing cancels.
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
  EXPECT_EQ(tensor.looks_like[1], "PARTIAL TILE: the last 1000 mod 64 = 40 of dim 1");
}

TEST(Shadow, DoubleRoundingToBF16IsAViolation) {
  Program p;
  Instruction& x = p.Parameter(kF32, {20000});
  Instruction& narrow = p.entry.Add(Opcode::kConvert, Shape(kBF16, {20000}), {&x});
  const Literal in = Random({20000}, 19);
  Literal once(Shape(kBF16, {20000})), twice = once;
  for (int64_t i = 0; i < 20000; ++i) {
    const float v = in.data<float>()[i];
    once.SetDouble(i, v);
    // First to 11 bits, as by way of f16 without its range.
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    const uint32_t eleven = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
    twice.SetDouble(i, std::bit_cast<float>(eleven));
  }
  EXPECT_EQ(p.Local(narrow, {in}, once).verdict, Verdict::kMatch);
  EXPECT_GT(p.Local(narrow, {in}, twice).bad(),
            300);  // One in 32 lies that near a tie, half of them round the wrong way.
}

TEST(Shadow, NarrowFusionMayStayWideInside) {
  Program p;
  Instruction& a = p.Parameter(kBF16, {2000});
  Instruction& b = p.Parameter(kBF16, {2000});
  Instruction& y = p.Op(Opcode::kMultiply, {&p.Op(Opcode::kAdd, {&a, &b}), &b});
  const Literal x = ToBF16(Random({2000}, 20)), z = ToBF16(Random({2000}, 21));
  Literal stepwise(Shape(kBF16, {2000})), wide = stepwise;
  for (int64_t i = 0; i < 2000; ++i) {
    const float sum = static_cast<float>(x.GetDouble(i)) + static_cast<float>(z.GetDouble(i));
    wide.SetDouble(i, sum * static_cast<float>(z.GetDouble(i)));
    stepwise.SetDouble(i, BF16ToFloat(FloatToBF16(sum)) * static_cast<float>(z.GetDouble(i)));
  }
  EXPECT_EQ(p.Local(y, {x, z}, stepwise).verdict, Verdict::kMatch);
  EXPECT_EQ(p.Local(y, {x, z}, wide).verdict, Verdict::kMatch);
  // A plan that says "held in f32" no longer permits the rounding in between.
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
  EXPECT_EQ(comparison.bad(), 0);  // The relative error is near 1, and it is right.
  EXPECT_GT(comparison.outputs[0].max_rel, 0.1);
}

// ---- Special values and decisions
// ------------------------------------------------------------------------------------

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
  // x + b > x * x: far above, far below, and as near as roundings go.
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
  const int32_t at[] = {1, 1, 3, 9, 1};  // 9 lies outside and is dropped.
  for (int64_t i = 0; i < 5; ++i) where.SetInt(i, at[i]);
  const Literal start = Random({4}, 23), add = Random({5}, 24);
  Literal out = start;
  for (const int64_t i : {4, 1, 0, 2})
    out.SetDouble(at[i], static_cast<float>(out.GetDouble(at[i])) + add.data<float>()[i]);
  const Comparison right = p.Local(y, {start, where, add}, out);
  EXPECT_EQ(right.verdict, Verdict::kMatch);
  EXPECT_EQ(right.Count(ElementClass::kExact) >= 2, true);
  out.SetDouble(1, out.GetDouble(1) - add.data<float>()[4]);  // A duplicate lost.
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

TEST(Shadow, ArgumentOfTheMaximum) {
  Program p;
  Computation& body = p.Argmax(ComparisonDirection::kGe);
  Instruction& x = p.Parameter(kF32, {2, 5});
  Instruction& scaled = p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, 0.1f), {2, 5})});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(PrimitiveType::kS32, {2, 5}), {}, IotaAttrs{1});
  Instruction& y = p.entry.Add(Opcode::kReduce, Shape::Tuple({Shape(kF32, {2}), Shape(PrimitiveType::kS32, {2})}),
                               {&scaled, &iota, &p.Scalar(kF32, -INFINITY),
                                &p.entry.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{0}))},
                               ReduceAttrs{{1}, &body});
  // Row 0 has a clear winner, row 1 two that differ by less than a rounding.
  const float close = 1.7f;
  const float in[] = {0.1f, 3, 0.2f, 1, 2, close, 0, std::nextafter(close, 0.0f), 1, 0};
  std::vector<Literal> elements{Floats({2}, [&](int64_t i) { return (i == 0 ? 3 : close) * 0.1f; }),
                                Literal(Shape(PrimitiveType::kS32, {2}))};
  elements[1].SetInt(0, 1);
  elements[1].SetInt(1, 2);
  const Comparison comparison =
      p.Local(y, {Floats({2, 5}, [&](int64_t i) { return in[i]; })}, Literal::Tuple(elements));
  EXPECT_EQ(comparison.outputs[1].Count(ElementClass::kExact), 1);
  EXPECT_EQ(comparison.outputs[1].Count(ElementClass::kWithin), 1);
  EXPECT_EQ(comparison.bad(), 0);
  EXPECT_FALSE(comparison.outputs[0].heuristic);
  const auto bad_at = [&](int64_t row, int64_t index) {
    std::vector<Literal> other = elements;
    other[1].SetInt(row, index);
    const Comparison wrong =
        p.Local(y, {Floats({2, 5}, [&](int64_t i) { return in[i]; })}, Literal::Tuple(std::move(other)));
    EXPECT_EQ(wrong.outputs[0].bad(), 0);
    return wrong.outputs[1].bad();
  };
  EXPECT_EQ(bad_at(0, 4), 1);
  EXPECT_EQ(bad_at(1, 0), 0);  // The other one that comes as close.
  EXPECT_EQ(bad_at(1, 3), 1);
  EXPECT_EQ(bad_at(1, 7), 1);
}

// As JAX has it: NaN wins over numbers, the left one over the right one; equal numbers by their place.
Computation& ArgMaxKeepingNaN(Module& module) {
  const Shape value = Shape::Scalar(kF32), index = Shape::Scalar(PrimitiveType::kS32),
              pred = Shape::Scalar(PrimitiveType::kPred);
  Computation& body = module.AddComputation("argmax");
  Instruction& best = body.AddParameter(0, value);
  Instruction& best_at = body.AddParameter(1, index);
  Instruction& next = body.AddParameter(2, value);
  Instruction& next_at = body.AddParameter(3, index);
  const auto compare = [&](Instruction& a, Instruction& b, ComparisonDirection direction) {
    return &body.Add(Opcode::kCompare, pred, {&a, &b}, CompareAttrs{.direction = direction});
  };
  Instruction& better =
      body.Add(Opcode::kOr, pred,
               {compare(best, next, ComparisonDirection::kGt), compare(best, best, ComparisonDirection::kNe)});
  Instruction& tie =
      body.Add(Opcode::kAnd, pred,
               {compare(best, next, ComparisonDirection::kEq), compare(best_at, next_at, ComparisonDirection::kLt)});
  Instruction& keep = body.Add(Opcode::kOr, pred, {&better, &tie});
  body.SetRoot(body.AddTuple({&body.Add(Opcode::kSelect, value, {&better, &best, &next}),
                              &body.Add(Opcode::kSelect, index, {&keep, &best_at, &next_at})}));
  return body;
}

TEST(Shadow, WhichOfSeveralNaNsIsLeftDependsOnTheOrder) {
  Program p;
  Instruction& x = p.Parameter(kF32, {3, 4});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(PrimitiveType::kS32, {3, 4}), {}, IotaAttrs{1});
  Instruction& y = p.entry.Add(
      Opcode::kReduce, Shape::Tuple({Shape(kF32, {3}), Shape(PrimitiveType::kS32, {3})}),
      {&x, &iota, &p.Scalar(kF32, -INFINITY), &p.entry.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{0}))},
      ReduceAttrs{{1}, &ArgMaxKeepingNaN(p.module)});
  const float in[] = {1, NAN, 2,   NAN,  // Which one is open.
                      1, 2,   NAN, 0,    // The only one.
                      5, 7,   7,   1};   // Equal numbers: the first.
  const auto compare = [&](std::vector<int64_t> places) {
    std::vector<Literal> out{Floats({3}, [](int64_t i) { return i < 2 ? NAN : 7; }),
                             Literal(Shape(PrimitiveType::kS32, {3}))};
    for (int64_t i = 0; i < 3; ++i) out[1].SetInt(i, places[i]);
    return p.Local(y, {Floats({3, 4}, [&](int64_t i) { return in[i]; })}, Literal::Tuple(out));
  };
  for (const int64_t place : {1, 3}) {
    const Comparison comparison = compare({place, 2, 1});
    EXPECT_EQ(comparison.bad(), 0);
    EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
  }
  EXPECT_EQ(compare({0, 2, 1}).bad(), 1);  // A number's.
  EXPECT_EQ(compare({4, 2, 1}).bad(), 1);  // Nobody's.
  EXPECT_EQ(compare({1, 0, 1}).bad(), 1);
  EXPECT_EQ(compare({1, 2, 2}).bad(), 1);
}

// Rounding on the way to an argmax makes nothing a NaN: what is one stays certain, and so does which it is.
TEST(Shadow, ANaNIsChosenFromWhatARoundingHasBounded) {
  Program p;
  Instruction& x = p.Parameter(kF32, {4, 4});
  Instruction& scaled = p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, 1.3f), {4, 4})});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(PrimitiveType::kS32, {4, 4}), {}, IotaAttrs{1});
  Instruction& y = p.entry.Add(Opcode::kReduce, Shape::Tuple({Shape(kF32, {4}), Shape(PrimitiveType::kS32, {4})}),
                               {&scaled, &iota, &p.Scalar(kF32, -INFINITY),
                                &p.entry.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{0}))},
                               ReduceAttrs{{1}, &ArgMaxKeepingNaN(p.module)});
  const float most = std::numeric_limits<float>::max();
  const float in[] = {1, NAN, 2,   3,      // The NaN.
                      1, 3,   2.5, 0,      // No NaN: the largest.
                      1, 2,   NAN, most,   // The largest overflows, or may: the NaN all the same.
                      1, 2,   3,   most};  // To infinity.
  const auto compare = [&](int64_t row, float value, int64_t place) {
    std::vector<Literal> out{Floats({4}, [](int64_t i) { return i == 1   ? 3 * 1.3f
                                                                : i == 3 ? INFINITY
                                                                         : NAN; }),
                             Literal(Shape(PrimitiveType::kS32, {4}))};
    const int64_t right[] = {1, 1, 2, 3};
    for (int64_t i = 0; i < 4; ++i) out[1].SetInt(i, right[i]);
    if (row >= 0) {
      out[0].SetDouble(row, value);
      out[1].SetInt(row, place);
    }
    const Comparison comparison = p.Local(y, {Floats({4, 4}, [&](int64_t i) { return in[i]; })}, Literal::Tuple(out));
    EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
    return comparison.bad();
  };
  EXPECT_EQ(compare(-1, 0, 0), 0);
  EXPECT_EQ(compare(0, NAN, 3), 1);          // A number's place.
  EXPECT_EQ(compare(0, 3 * 1.3f, 3), 2);     // The NaN overlooked.
  EXPECT_EQ(compare(1, 2.5f * 1.3f, 2), 2);  // Not the largest.
  EXPECT_EQ(compare(1, 3 * 1.3f, 2), 1);
  EXPECT_EQ(compare(2, INFINITY, 3), 2);
  EXPECT_EQ(compare(3, INFINITY, 2), 1);
  EXPECT_EQ(compare(3, NAN, 3), 1);
}

// A product that a sum may take in need not overflow before it.
TEST(Shadow, AnOverflowThatAnFmaMaySwallowStaysOpen) {
  Program p;
  Instruction& x = p.Parameter(kF32, {1});
  Instruction& product = p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, 1.3f), {1})});
  Instruction& sum = p.Op(Opcode::kSubtract, {&product, &x});
  const Literal in = Floats({1}, [](int64_t) { return std::numeric_limits<float>::max(); });
  for (const float answer : {INFINITY, 1e38f})
    EXPECT_EQ(p.Local(sum, {in}, Floats({1}, [&](int64_t) { return answer; })).bad(), 0);
}

// A maximum with an infinity is one, unless something else may be a NaN.
TEST(Shadow, WhatMayBeANaNLeavesAMaximumOpen) {
  Program p;
  Instruction& x = p.Parameter(kF32, {3});
  Instruction& scaled = p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, 1.3f), {3})});
  Instruction& rest = p.Op(Opcode::kSubtract, {&scaled, &p.Broadcast(p.Scalar(kF32, 1.1f * 1.3f), {3})});
  Instruction& roots = p.Op(Opcode::kSqrt, {&rest});
  Instruction& y = p.entry.Add(Opcode::kReduce, Shape(kF32, {}), {&roots, &p.Scalar(kF32, -INFINITY)},
                               ReduceAttrs{{0}, &p.Binary(Opcode::kMaximum, kF32)});
  const float in[] = {1.1f, INFINITY, 2};  // The first: the root of what rounding leaves of 0.
  for (const float answer : {INFINITY, NAN}) {
    const Comparison comparison =
        p.Local(y, {Floats({3}, [&](int64_t i) { return in[i]; })}, Floats({}, [&](int64_t) { return answer; }));
    EXPECT_EQ(comparison.bad(), 0);
  }
}

// Among ties a reducer without a tie-break may leave any, but the places of its result belong together, and nothing
// else will do. That is known behind movements and conversions too.
TEST(Shadow, AnotherTieIsRightAndAnythingElseWrong) {
  constexpr PrimitiveType kS32 = PrimitiveType::kS32, kS64 = PrimitiveType::kS64;
  Program p;
  const Shape value = Shape::Scalar(kF32), index = Shape::Scalar(kS32);
  Computation& body = p.module.AddComputation("argmax");
  Instruction& best = body.AddParameter(0, value);
  Instruction& best_at = body.AddParameter(1, index);
  Instruction& best_weight = body.AddParameter(2, value);
  Instruction& next = body.AddParameter(3, value);
  Instruction& next_at = body.AddParameter(4, index);
  Instruction& next_weight = body.AddParameter(5, value);
  Instruction& keep = body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&best, &next},
                               CompareAttrs{.direction = ComparisonDirection::kGt});
  body.SetRoot(body.AddTuple({&body.Add(Opcode::kSelect, value, {&keep, &best, &next}),
                              &body.Add(Opcode::kSelect, index, {&keep, &best_at, &next_at}),
                              &body.Add(Opcode::kSelect, value, {&keep, &best_weight, &next_weight})}));
  Instruction& x = p.Parameter(kF32, {2, 4});
  Instruction& weights = p.Parameter(kF32, {2, 4});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(kS32, {2, 4}), {}, IotaAttrs{1});
  Instruction& y = p.entry.Add(Opcode::kReduce, Shape::Tuple({Shape(kF32, {2}), Shape(kS32, {2}), Shape(kF32, {2})}),
                               {&x, &iota, &weights, &p.Scalar(kF32, -INFINITY),
                                &p.entry.AddConstant(Literal::Scalar(kS32, int64_t{-1})), &p.Scalar(kF32, 0)},
                               ReduceAttrs{{1}, &body});
  const auto element = [&](int64_t k) -> Instruction& {
    return p.entry.Add(Opcode::kGetTupleElement, y.shape().element(k), {&y}, IndexAttrs{k});
  };
  Instruction& wide = p.entry.Add(Opcode::kConvert, Shape(kS64, {2}), {&element(1)});
  Instruction& reversed = p.entry.Add(Opcode::kReverse, Shape(kS64, {2}), {&wide}, DimensionsAttrs{{0}});
  Instruction& root = p.entry.AddTuple({&element(0), &reversed, &element(2)});
  const float in[] = {1, 5, 5, 2, 0, 3, 1, 2}, weight[] = {10, 11, 12, 13, 14, 15, 16, 17};
  const auto compare = [&](int64_t at, float weight_there) {
    Literal places(Shape(kS64, {2}));
    places.SetInt(1, at);
    places.SetInt(0, 1);
    const Comparison comparison = p.Local(
        root, {Floats({2, 4}, [&](int64_t i) { return in[i]; }), Floats({2, 4}, [&](int64_t i) { return weight[i]; })},
        Literal::Tuple({Floats({2}, [](int64_t i) { return i == 0 ? 5 : 3; }), places,
                        Floats({2}, [&](int64_t i) { return i == 0 ? weight_there : 15; })}));
    EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
    return comparison.bad();
  };
  EXPECT_EQ(compare(1, 11), 0);
  EXPECT_EQ(compare(2, 12), 0);
  EXPECT_EQ(compare(1, 12), 1);  // Of two ties.
  EXPECT_EQ(compare(3, 13), 2);
  EXPECT_EQ(compare(-1, 0), 2);
  EXPECT_EQ(compare(4, 11), 1);
}

// A NaN that the comparison does not look for is lost or not by the order, and with it everything before.
TEST(Shadow, AnElementThatANaNSwallowedMayBeLeft) {
  Program p;
  const Shape value = Shape::Scalar(kF32), index = Shape::Scalar(PrimitiveType::kS32);
  Computation& body = p.Argmax(ComparisonDirection::kGt);
  Instruction& x = p.Parameter(kF32, {4});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(PrimitiveType::kS32, {4}), {}, IotaAttrs{0});
  Instruction& y = p.entry.Add(
      Opcode::kReduce, Shape::Tuple({value, index}),
      {&x, &iota, &p.Scalar(kF32, -INFINITY), &p.entry.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{9}))},
      ReduceAttrs{{0}, &body});
  const float in[] = {7, NAN, 3, 5};
  const auto bad = [&](float left, int64_t at) {
    return p
        .Local(y, {Floats({4}, [&](int64_t i) { return in[i]; })},
               Literal::Tuple({Floats({}, [&](int64_t) { return left; }), Literal::Scalar(PrimitiveType::kS32, at)}))
        .bad();
  };
  EXPECT_EQ(bad(5, 3), 0);    // In order: 7, NaN, 3, 5.
  EXPECT_EQ(bad(7, 0), 0);    // 7 against (NaN, 3, 5).
  EXPECT_EQ(bad(NAN, 1), 0);  // ((7, 3), 5), NaN.
  EXPECT_EQ(bad(3, 2), 0);    // (5, 7, NaN, 3)
  EXPECT_EQ(bad(5, 0), 1);
  EXPECT_EQ(bad(4, 3), 1);
}

// The bad elements of a sort of 5 keys with their places as payload. The keys are scaled before, in the kernel.
int64_t BadInASort(bool is_stable, float scale, const float* keys, std::array<int64_t, 5> order) {
  constexpr PrimitiveType kS32 = PrimitiveType::kS32;
  Program p;
  const Shape key = Shape::Scalar(kF32), index = Shape::Scalar(kS32);
  Computation& less = p.module.AddComputation("less");
  Instruction &a = less.AddParameter(0, key), &b = less.AddParameter(1, key);
  less.AddParameter(2, index);
  less.AddParameter(3, index);
  less.SetRoot(less.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&a, &b},
                        CompareAttrs{.direction = ComparisonDirection::kLt}));
  Instruction& x = p.Parameter(kF32, {5, 2});
  Instruction& scaled = scale == 1 ? x : p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, scale), {5, 2})});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(kS32, {5, 2}), {}, IotaAttrs{0});
  SortAttrs attrs{.is_stable = is_stable, .to_apply = &less};
  attrs.dimension.value = 0;
  Instruction& y =
      p.entry.Add(Opcode::kSort, Shape::Tuple({Shape(kF32, {5, 2}), Shape(kS32, {5, 2})}), {&scaled, &iota}, attrs);
  // The other column has 0, 1, ...
  Literal places(Shape(kS32, {5, 2}));
  for (int64_t i = 0; i < 5; ++i) {
    places.SetInt(2 * i, order[i]);
    places.SetInt(2 * i + 1, i);
  }
  const Literal sorted =
      Floats({5, 2}, [&](int64_t i) { return (i % 2 == 0 ? keys[order[i / 2]] : static_cast<float>(i / 2)) * scale; });
  const Literal in = Floats({5, 2}, [&](int64_t i) { return i % 2 == 0 ? keys[i / 2] : static_cast<float>(i / 2); });
  const Comparison comparison = p.Local(y, {in}, Literal::Tuple({sorted, places}));
  EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
  return comparison.bad();
}

TEST(Shadow, ASortLeavesEachElementOnceAndTiesInAnyOrder) {
  const float keys[] = {3, 1, 3, 2, 1};
  EXPECT_EQ(BadInASort(false, 1, keys, {1, 4, 3, 0, 2}), 0);
  EXPECT_EQ(BadInASort(false, 1, keys, {4, 1, 3, 2, 0}), 0);  // Ties the other way.
  EXPECT_GT(BadInASort(false, 1, keys, {1, 1, 3, 0, 2}), 0);  // One twice, one lost.
  EXPECT_GT(BadInASort(false, 1, keys, {4, 1, 3, 0, 0}), 0);
  EXPECT_GT(BadInASort(false, 1, keys, {1, 4, 0, 3, 2}), 0);  // Not in order.
  EXPECT_EQ(BadInASort(true, 1, keys, {1, 4, 3, 0, 2}), 0);
  EXPECT_GT(BadInASort(true, 1, keys, {4, 1, 3, 0, 2}), 0);
}

TEST(Shadow, KeysThatARoundingMayHaveMadeEqualStandInAnyOrder) {
  const float close = std::nextafter(3.0f, 4.0f);
  const float keys[] = {close, 1, 3, 2, 1};
  EXPECT_EQ(BadInASort(false, 0.1f, keys, {1, 4, 3, 2, 0}), 0);
  EXPECT_EQ(BadInASort(false, 0.1f, keys, {4, 1, 3, 0, 2}), 0);
  EXPECT_GT(BadInASort(false, 0.1f, keys, {1, 4, 3, 2, 2}), 0);
  EXPECT_GT(BadInASort(false, 0.1f, keys, {1, 1, 3, 2, 0}), 0);
  EXPECT_GT(BadInASort(false, 0.1f, keys, {1, 4, 2, 3, 0}), 0);
}

// A payload that went with another key, which does not tie: each alone is where it may be.
TEST(Shadow, APayloadMovesWithItsKey) {
  Program p;
  const Shape key = Shape::Scalar(kF32);
  Computation& less = p.module.AddComputation("less");
  Instruction &a = less.AddParameter(0, key), &b = less.AddParameter(1, key);
  less.AddParameter(2, key);
  less.AddParameter(3, key);
  less.SetRoot(less.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&a, &b},
                        CompareAttrs{.direction = ComparisonDirection::kGt}));
  Instruction &x = p.Parameter(kF32, {4}), &w = p.Parameter(kF32, {4});
  SortAttrs attrs{.is_stable = false, .to_apply = &less};
  attrs.dimension.value = 0;
  Instruction& y = p.entry.Add(Opcode::kSort, Shape::Tuple({Shape(kF32, {4}), Shape(kF32, {4})}), {&x, &w}, attrs);
  const float keys[] = {5, 2, 5, 1}, weights[] = {10, 11, 12, 13};
  const auto bad = [&](std::array<float, 4> payload) {
    const float sorted[] = {5, 5, 2, 1};
    return p
        .Local(y, {Floats({4}, [&](int64_t i) { return keys[i]; }), Floats({4}, [&](int64_t i) { return weights[i]; })},
               Literal::Tuple({Floats({4}, [&](int64_t i) { return sorted[i]; }),
                               Floats({4}, [&](int64_t i) { return payload[i]; })}))
        .bad();
  };
  EXPECT_EQ(bad({10, 12, 11, 13}), 0);
  EXPECT_EQ(bad({12, 10, 11, 13}), 0);
  EXPECT_GT(bad({10, 11, 12, 13}), 0);
  EXPECT_GT(bad({10, 10, 11, 13}), 0);
}

TEST(Shadow, TopKLeavesSomeOfThoseThatTieEachOnce) {
  constexpr PrimitiveType kS32 = PrimitiveType::kS32;
  const float close = std::nextafter(3.0f, 4.0f);
  const float keys[] = {1, 3, close, 2, 3};
  const auto bad = [&](bool is_stable, float scale, std::array<int64_t, 2> order) {
    Program p;
    Instruction& x = p.Parameter(kF32, {5});
    Instruction& scaled = scale == 1 ? x : p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, scale), {5})});
    Instruction& y = p.entry.Add(Opcode::kTopK, Shape::Tuple({Shape(kF32, {2}), Shape(kS32, {2})}), {&scaled},
                                 TopKAttrs{.k = 2, .is_stable = is_stable});
    Literal places(Shape(kS32, {2}));
    for (int64_t i = 0; i < 2; ++i) places.SetInt(i, order[i]);
    const Comparison comparison =
        p.Local(y, {Floats({5}, [&](int64_t i) { return keys[i]; })},
                Literal::Tuple({Floats({2}, [&](int64_t i) { return keys[order[i]] * scale; }), places}));
    EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 0);
    return comparison.bad();
  };
  EXPECT_EQ(bad(true, 1, {2, 1}), 0);
  EXPECT_GT(bad(true, 1, {2, 4}), 0);
  EXPECT_EQ(bad(false, 1, {2, 4}), 0);
  EXPECT_GT(bad(false, 1, {1, 4}), 0);
  for (const std::array<int64_t, 2> order : {std::array<int64_t, 2>{2, 1}, {1, 2}, {4, 1}, {2, 4}})
    EXPECT_EQ(bad(false, 0.1f, order), 0);
  EXPECT_GT(bad(false, 0.1f, {1, 1}), 0);  // One twice.
  EXPECT_GT(bad(false, 0.1f, {1, 3}), 0);
}

// Where the places are decided apart, none of them can be told wrong.
TEST(Shadow, PlacesDecidedApartStayOpen) {
  Program p;
  const Shape value = Shape::Scalar(kF32), index = Shape::Scalar(PrimitiveType::kS32);
  Computation& body = p.module.AddComputation("largest_and_last");
  Instruction& best = body.AddParameter(0, value);
  Instruction& best_at = body.AddParameter(1, index);
  Instruction& next = body.AddParameter(2, value);
  Instruction& next_at = body.AddParameter(3, index);
  Instruction& keep = body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&best, &next},
                               CompareAttrs{.direction = ComparisonDirection::kGe});
  body.SetRoot(body.AddTuple({&body.Add(Opcode::kMaximum, value, {&best, &next}),
                              &body.Add(Opcode::kSelect, index, {&keep, &best_at, &next_at})}));
  Instruction& x = p.Parameter(kF32, {3});
  Instruction& iota = p.entry.Add(Opcode::kIota, Shape(PrimitiveType::kS32, {3}), {}, IotaAttrs{0});
  Instruction& y = p.entry.Add(
      Opcode::kReduce, Shape::Tuple({value, index}),
      {&x, &iota, &p.Scalar(kF32, -INFINITY), &p.entry.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{0}))},
      ReduceAttrs{{0}, &body});
  const float in[] = {NAN, 2, 2};
  for (const int64_t at : {0, 1, 2}) {
    const Comparison comparison =
        p.Local(y, {Floats({3}, [&](int64_t i) { return in[i]; })},
                Literal::Tuple({Floats({}, [](int64_t) { return NAN; }), Literal::Scalar(PrimitiveType::kS32, at)}));
    EXPECT_EQ(comparison.bad(), 0);
    EXPECT_EQ(comparison.outputs[1].Count(ElementClass::kUndetermined), 1);
  }
}

// Without a place to tell equals apart, any of them may be left.
TEST(Shadow, EqualsThatAReducerDoesNotTellApart) {
  Program p;
  const Shape scalar = Shape::Scalar(kF32);
  Computation& body = p.module.AddComputation("larger_magnitude");
  Instruction& a = body.AddParameter(0, scalar);
  Instruction& b = body.AddParameter(1, scalar);
  Instruction& keep = body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred),
                               {&body.Add(Opcode::kAbs, scalar, {&a}), &body.Add(Opcode::kAbs, scalar, {&b})},
                               CompareAttrs{.direction = ComparisonDirection::kGe});
  body.SetRoot(body.Add(Opcode::kSelect, scalar, {&keep, &a, &b}));
  Instruction& x = p.Parameter(kF32, {2, 3});
  Instruction& y = p.entry.Add(Opcode::kReduce, Shape(kF32, {2}), {&x, &p.Scalar(kF32, 0)}, ReduceAttrs{{1}, &body});
  const float in[] = {1, -4, 4, 1, -4, 3};
  const auto compare = [&](float first, float second) {
    return p.Local(y, {Floats({2, 3}, [&](int64_t i) { return in[i]; })},
                   Floats({2}, [&](int64_t i) { return i == 0 ? first : second; }));
  };
  EXPECT_EQ(compare(-4, -4).bad(), 0);
  EXPECT_EQ(compare(4, -4).bad(), 0);
  EXPECT_EQ(compare(4, 4).bad(), 1);
}

// What needs no rounding has no bound: a comparison behind it is decided.
TEST(Shadow, ArithmeticThatRoundsNothingIsExact) {
  struct Case {
    Opcode opcode;
    double a, b;
    bool exact;
  };
  for (const auto& [opcode, a, b, exact] : {Case{Opcode::kAdd, 3, 0.25, true},
                                            {Opcode::kAdd, 0x1p24, 1, false},
                                            {Opcode::kAdd, 1, 0x1p-60, false},
                                            {Opcode::kAdd, 0.0, -0.0, true},
                                            {Opcode::kSubtract, 0x1p24, 1, true},
                                            {Opcode::kSubtract, 0x1p-149, 0x1p-148, true},
                                            {Opcode::kMultiply, 0x1.8p-140, 0.125, true},
                                            {Opcode::kMultiply, 0x1.8p-148, 0.125, false},
                                            {Opcode::kMultiply, 4097, 4097, false},
                                            {Opcode::kMultiply, 0, -5, true},
                                            {Opcode::kDivide, 3, 4, true},
                                            {Opcode::kDivide, 1, 3, false},
                                            {Opcode::kDivide, -0.0, 3, true}}) {
    Program p;
    Instruction &x = p.Parameter(kF32, {1}), &y = p.Parameter(kF32, {1});
    Instruction& z = p.Op(opcode, {&x, &y});
    const auto x0 = static_cast<float>(a), y0 = static_cast<float>(b);
    const float result = opcode == Opcode::kAdd        ? x0 + y0
                         : opcode == Opcode::kSubtract ? x0 - y0
                         : opcode == Opcode::kMultiply ? x0 * y0
                                                       : x0 / y0;
    const auto judge = [&](float actual) {
      return p.Local(z, {Floats({1}, [&](int64_t) { return x0; }), Floats({1}, [&](int64_t) { return y0; })},
                     Floats({1}, [&](int64_t) { return actual; }));
    };
    EXPECT_EQ(judge(result).bad(), 0) << ToString(opcode) << " " << a << ", " << b;
    const Comparison wrong = judge(std::nextafter(result, INFINITY));
    EXPECT_EQ(wrong.bad() == 1 && wrong.outputs[0].worst[0].bound == 0, exact)
        << ToString(opcode) << " " << a << ", " << b;
  }
}

TEST(Shadow, TheImaginaryPartOfARealNumberIsZero) {
  Program p;
  Instruction& x = p.Parameter(kF32, {2});
  Instruction& y = p.Op(Opcode::kImag, {&x});
  EXPECT_EQ(p.Local(y, {Random({2}, 1)}, Literal(y.shape())).Count(ElementClass::kExact), 2);
  EXPECT_EQ(p.Local(y, {Random({2}, 1)}, Random({2}, 1)).bad(), 2);
}

// Against what the interpreter makes of it in f64, and against that with a mistake in it.
TEST(Shadow, BatchNormsHaveTheBoundsOfTheirFormulas) {
  const std::vector<int64_t> dims{4, 3, 5};
  const Literal x = Random(dims, 1), dy = Random(dims, 2), scale = Random({3}, 3), offset = Random({3}, 4),
                mean = Random({3}, 5), variance = Random({3}, 6, 0.5f, 2);
  const Shape wide(kF32, dims), feature(kF32, {3});
  struct Case {
    Opcode opcode;
    std::vector<Literal> operands;
    Shape shape;
  };
  for (const auto& [opcode, operands, shape] :
       {Case{Opcode::kBatchNormTraining, {x, scale, offset}, Shape::Tuple({wide, feature, feature})},
        {Opcode::kBatchNormInference, {x, scale, offset, mean, variance}, wide},
        {Opcode::kBatchNormGrad, {x, scale, mean, variance, dy}, Shape::Tuple({wide, feature, feature})}}) {
    Program p;
    std::vector<Instruction*> parameters;
    for (const Literal& operand : operands) parameters.push_back(&p.Parameter(kF32, operand.shape().dims()));
    Instruction& norm = p.entry.Add(opcode, shape, parameters, BatchNormAttrs{.epsilon = 0.001, .feature_index = 1});
    p.entry.SetRoot(norm);
    const auto value = Evaluate(norm, operands);
    ASSERT_TRUE(value.has_value());
    const Comparison right = p.Local(norm, operands, *value);
    EXPECT_EQ(right.verdict, Verdict::kMatch) << ToString(opcode) << " " << right.reason;
    EXPECT_EQ(right.Count(ElementClass::kVacuous) + right.Count(ElementClass::kUndetermined), 0) << ToString(opcode);
    for (size_t k = 0; k < right.outputs.size(); ++k) {
      Literal wrong = *value;
      Literal& part = shape.IsTuple() ? wrong.mutable_elements()[k] : wrong;
      part.SetDouble(2, part.GetDouble(2) + 1e-4);
      const Comparison comparison = p.Local(norm, operands, wrong);
      EXPECT_EQ(comparison.bad(), 1) << ToString(opcode) << " " << k;
      EXPECT_EQ(comparison.outputs[k].bad(), 1);
    }
  }
}

// A NaN that is only moved has its bits; one that is computed, any.
TEST(Shadow, TheBitsOfAComputedNaN) {
  for (const bool computed : {false, true}) {
    Program p;
    Instruction& x = p.Parameter(kF32, {2});
    Instruction& y = computed ? p.Op(Opcode::kNegate, {&x}) : p.Op(Opcode::kReverse, {&x}, DimensionsAttrs{{0}});
    Instruction& bits = p.entry.Add(Opcode::kBitcastConvert, Shape(PrimitiveType::kU32, {2}), {&y});
    Instruction& below =
        p.entry.Add(Opcode::kCompare, Shape(PrimitiveType::kPred, {2}), {&y, &p.Broadcast(p.Scalar(kF32, 0), {2})},
                    CompareAttrs{.direction = ComparisonDirection::kLt, .type = ComparisonType::kTotalOrder});
    const int64_t at = computed ? 0 : 1;  // Of the NaN, in y.
    const auto compare = [&](int64_t bits_of_nan) {
      std::vector<Literal> out{Literal(bits.shape()), Literal(below.shape())};
      out[0].SetInt(at, bits_of_nan);
      out[0].SetInt(1 - at, computed ? 0xbf80'0000 : 0x3f80'0000);
      out[1].SetInt(at, bits_of_nan >> 31);
      out[1].SetInt(1 - at, computed ? 1 : 0);
      const Literal in = Floats({2}, [](int64_t i) { return i == 0 ? NAN : 1; });
      return p.Local(p.entry.AddTuple({&bits, &below}), {in}, Literal::Tuple(out));
    };
    EXPECT_EQ(compare(0x7fc0'0000).bad(), 0);
    EXPECT_EQ(compare(0x7fc0'0000).Count(ElementClass::kUndetermined), computed ? 2 : 0);
    EXPECT_EQ(compare(0xffc0'0000).bad(), computed ? 0 : 2);
  }
}

// An infinity among the terms or factors decides, but not where what it meets may have come to the other one, or to 0.
TEST(Shadow, InfinityInAReduction) {
  constexpr PrimitiveType kF16 = PrimitiveType::kF16;
  const auto undetermined = [&](Opcode opcode, const std::vector<double>& terms, double actual) {
    Program p;
    Instruction& x = p.Parameter(kF16, {1, static_cast<int64_t>(terms.size())});
    Instruction& y =
        p.entry.Add(Opcode::kReduce, Shape(kF16, {1}), {&x, &p.Scalar(kF16, opcode == Opcode::kMultiply ? 1 : 0)},
                    ReduceAttrs{{1}, &p.Binary(opcode, kF16)});
    Literal in(x.shape()), out(y.shape());
    for (size_t i = 0; i < terms.size(); ++i) in.SetDouble(i, terms[i]);
    out.SetDouble(0, actual);
    const Comparison comparison = p.Local(y, {in}, out);
    EXPECT_EQ(comparison.bad() + comparison.Count(ElementClass::kUndetermined) + comparison.Count(ElementClass::kExact),
              1);
    return comparison.bad() != 0 ? -1 : comparison.Count(ElementClass::kUndetermined);
  };
  const double tiny = 0x1p-24;
  // (tiny * tiny) * inf is NaN, tiny * (tiny * inf) infinite.
  EXPECT_EQ(undetermined(Opcode::kMultiply, {tiny, INFINITY, tiny}, NAN), 1);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {0.5, INFINITY, 0.25}, INFINITY), 0);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {0.5, INFINITY, 0.25}, NAN), -1);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {0.5, INFINITY, 0}, NAN), 0);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {tiny, INFINITY, tiny, NAN}, NAN), 0);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {60000, -INFINITY, 60000}, -INFINITY), 0);
  // (-60000 - 60000) + inf is NaN.
  EXPECT_EQ(undetermined(Opcode::kAdd, {-60000, INFINITY, -60000}, NAN), 1);
  // As far as it goes below, the positive terms alone may be infinite first.
  EXPECT_EQ(undetermined(Opcode::kAdd, {60000, -60000, 60000, -60000, -60000, -60000}, NAN), 1);
  EXPECT_EQ(undetermined(Opcode::kAdd, {60000, -60000, -60000, -60000}, INFINITY), -1);
  EXPECT_EQ(undetermined(Opcode::kAdd, {-100, INFINITY, -200}, INFINITY), 0);
  EXPECT_EQ(undetermined(Opcode::kAdd, {-100, INFINITY, -INFINITY}, NAN), 0);
  EXPECT_EQ(undetermined(Opcode::kAdd, {-100, INFINITY, -200}, NAN), -1);
}

TEST(Shadow, EitherSideOfAnOpenSelectionOfEqualIntegers) {
  Program p;
  Instruction& x = p.Parameter(kF32, {2});
  Instruction& third = p.Op(Opcode::kDivide, {&x, &p.Broadcast(p.Scalar(kF32, 3), {2})});
  Instruction& open = p.entry.Add(Opcode::kCompare, Shape(PrimitiveType::kPred, {2}),
                                  {&third, &p.Broadcast(p.Scalar(kF32, 1.0f / 3), {2})},
                                  CompareAttrs{.direction = ComparisonDirection::kLt});
  Instruction& a = p.Parameter(PrimitiveType::kS32, {2});
  Instruction& b = p.Parameter(PrimitiveType::kS32, {2});
  Instruction& y = p.entry.Add(Opcode::kSelect, a.shape(), {&open, &a, &b});
  Literal left(a.shape()), right(b.shape());
  left.SetInt(0, 5);
  left.SetInt(1, 6);
  right.SetInt(0, 5);
  right.SetInt(1, 7);
  const Comparison comparison = p.Local(y, {Floats({2}, [](int64_t) { return 1; }), left, right}, right);
  EXPECT_EQ(comparison.Count(ElementClass::kExact), 1);
  EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), 1);
  EXPECT_EQ(p.Local(y, {Floats({2}, [](int64_t) { return 1; }), left, right}, Literal(a.shape())).bad(), 1);
}

TEST(Shadow, WhatHasNoRuleIsUnsupportedByName) {
  Program p;
  Instruction& x = p.Parameter(PrimitiveType::kC64, {4});
  Instruction& y = p.Op(Opcode::kMultiply, {&x, &x});
  const Comparison comparison = p.Local(y, {Literal(x.shape())}, Literal(x.shape()));
  EXPECT_EQ(comparison.verdict, Verdict::kUnsupported);
  EXPECT_EQ(comparison.reason, "no error bounds for 'multiply' on c64[4]");
}

}  // namespace
}  // namespace hlo
