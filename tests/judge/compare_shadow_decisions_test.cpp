// The shadow's bounds of decisions: no permitted implementation exceeds them, and planted mistakes do.
#include <algorithm>
#include <array>
#include <numeric>

#include "tests/judge/compare_shadow_cases.h"

namespace hlo {
namespace {

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
  // Row 0 has one maximum. Row 1 has two elements that differ by less than a rounding.
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
  EXPECT_EQ(bad_at(1, 0), 0);  // The other element that is close to the maximum.
  EXPECT_EQ(bad_at(1, 3), 1);
  EXPECT_EQ(bad_at(1, 7), 1);
}

// An argmax as in JAX. NaNs win over numbers, and left NaNs over right ones. Of equal numbers the smaller index wins.
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
  const float in[] = {1, NAN, 2,   NAN,  // Either NaN may be returned.
                      1, 2,   NAN, 0,    // The only NaN is returned.
                      5, 7,   7,   1};   // Of equal numbers the first one is returned.
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
  EXPECT_EQ(compare({0, 2, 1}).bad(), 1);  // The index of a number.
  EXPECT_EQ(compare({4, 2, 1}).bad(), 1);  // An index that no element has.
  EXPECT_EQ(compare({1, 0, 1}).bad(), 1);
  EXPECT_EQ(compare({1, 2, 2}).bad(), 1);
}

// Rounding does not make a NaN of a number. So an element that is a NaN wins with certainty.
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
  const float in[] = {1, NAN, 2,   3,      // The NaN wins.
                      1, 3,   2.5, 0,      // The largest number wins.
                      1, 2,   NAN, most,   // The NaN wins, even if the largest number overflows.
                      1, 2,   3,   most};  // The largest number overflows to infinity.
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
  EXPECT_EQ(compare(0, NAN, 3), 1);          // The index of a number.
  EXPECT_EQ(compare(0, 3 * 1.3f, 3), 2);     // The result ignores the NaN.
  EXPECT_EQ(compare(1, 2.5f * 1.3f, 2), 2);  // This is not the largest number.
  EXPECT_EQ(compare(1, 3 * 1.3f, 2), 1);
  EXPECT_EQ(compare(2, INFINITY, 3), 2);
  EXPECT_EQ(compare(3, INFINITY, 2), 1);
  EXPECT_EQ(compare(3, NAN, 3), 1);
}

// A product that overflows by itself need not overflow as part of an fma.
TEST(Shadow, AnOverflowThatAnFmaMaySwallowStaysOpen) {
  Program p;
  Instruction& x = p.Parameter(kF32, {1});
  Instruction& product = p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, 1.3f), {1})});
  Instruction& sum = p.Op(Opcode::kSubtract, {&product, &x});
  const Literal in = Floats({1}, [](int64_t) { return std::numeric_limits<float>::max(); });
  for (const float answer : {INFINITY, 1e38f})
    EXPECT_EQ(p.Local(sum, {in}, Floats({1}, [&](int64_t) { return answer; })).bad(), 0);
}

// If an element is infinite, so is the maximum, unless another element may be NaN.
TEST(Shadow, WhatMayBeANaNLeavesAMaximumOpen) {
  Program p;
  Instruction& x = p.Parameter(kF32, {3});
  Instruction& scaled = p.Op(Opcode::kMultiply, {&x, &p.Broadcast(p.Scalar(kF32, 1.3f), {3})});
  Instruction& rest = p.Op(Opcode::kSubtract, {&scaled, &p.Broadcast(p.Scalar(kF32, 1.1f * 1.3f), {3})});
  Instruction& roots = p.Op(Opcode::kSqrt, {&rest});
  Instruction& y = p.entry.Add(Opcode::kReduce, Shape(kF32, {}), {&roots, &p.Scalar(kF32, -INFINITY)},
                               ReduceAttrs{{0}, &p.Binary(Opcode::kMaximum, kF32)});
  const float in[] = {1.1f, INFINITY,
                      2};  // The first element is the root of a difference that is 0 except for a rounding error.
  for (const float answer : {INFINITY, NAN}) {
    const Comparison comparison =
        p.Local(y, {Floats({3}, [&](int64_t i) { return in[i]; })}, Floats({}, [&](int64_t) { return answer; }));
    EXPECT_EQ(comparison.bad(), 0);
  }
}

// A reducer without a tie-break may return any of the tied elements, but all its results must belong to the same
// element. Movements and conversions keep this knowledge.
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
  EXPECT_EQ(compare(1, 12), 1);  // The places come from two different ties.
  EXPECT_EQ(compare(3, 13), 2);
  EXPECT_EQ(compare(-1, 0), 2);
  EXPECT_EQ(compare(4, 11), 1);
}

// Comparisons with NaN are false, so the element after a NaN replaces the NaN. The order decides whether the NaN is
// lost, together with all elements combined before it.
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
  EXPECT_EQ(bad(5, 3), 0);    // The order is 7, NaN, 3, 5.
  EXPECT_EQ(bad(7, 0), 0);    // The combination is 7 with (NaN, 3, 5).
  EXPECT_EQ(bad(NAN, 1), 0);  // The combination is ((7, 3), 5) with NaN.
  EXPECT_EQ(bad(3, 2), 0);    // The order is 5, 7, NaN, 3.
  EXPECT_EQ(bad(5, 0), 1);
  EXPECT_EQ(bad(4, 3), 1);
}

// The number of wrong elements of a sort of 5 keys with their indices as payload. The kernel multiplies the keys by
// `scale` first.
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
  // Column 0 has the keys in `order`. Column 1 is 0, 1, ..., which is sorted already.
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
  EXPECT_EQ(BadInASort(false, 1, keys, {4, 1, 3, 2, 0}), 0);  // Ties in the other order.
  EXPECT_GT(BadInASort(false, 1, keys, {1, 1, 3, 0, 2}), 0);  // One element is repeated, and one is lost.
  EXPECT_GT(BadInASort(false, 1, keys, {4, 1, 3, 0, 0}), 0);
  EXPECT_GT(BadInASort(false, 1, keys, {1, 4, 0, 3, 2}), 0);  // The keys are not sorted.
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

// All keys and payloads are there, but a payload is wrong if it moved with a key that does not tie with its own.
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
  EXPECT_GT(bad(false, 0.1f, {1, 1}), 0);  // One element is repeated.
  EXPECT_GT(bad(false, 0.1f, {1, 3}), 0);
}

// If a reducer decides value and place by separate comparisons, no place is wrong.
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

// If the reducer does not distinguish equal elements, it may return any of them.
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

// A result without rounding is exact, so its comparisons are determined.
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

// Compares with the interpreter's result in f64, and with that result after a planted mistake.
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

// A moved NaN keeps its bits. A computed NaN may have any bits.
TEST(Shadow, TheBitsOfAComputedNaN) {
  for (const bool computed : {false, true}) {
    Program p;
    Instruction& x = p.Parameter(kF32, {2});
    Instruction& y = computed ? p.Op(Opcode::kNegate, {&x}) : p.Op(Opcode::kReverse, {&x}, DimensionsAttrs{{0}});
    Instruction& bits = p.entry.Add(Opcode::kBitcastConvert, Shape(PrimitiveType::kU32, {2}), {&y});
    Instruction& below =
        p.entry.Add(Opcode::kCompare, Shape(PrimitiveType::kPred, {2}), {&y, &p.Broadcast(p.Scalar(kF32, 0), {2})},
                    CompareAttrs{.direction = ComparisonDirection::kLt, .type = ComparisonType::kTotalOrder});
    const int64_t at = computed ? 0 : 1;  // Index of the NaN in y.
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

// The total order of two zeros is determined unless one is a sum, because a sum of 0 may have either sign.
TEST(Shadow, TheSignOfASumThatIsZero) {
  for (const auto& [opcode, other] :
       {std::pair(Opcode::kAdd, -0.0), {Opcode::kMultiply, 1.0}, {Opcode::kMinimum, 1.0}}) {
    SCOPED_TRACE(ToString(opcode));
    const bool open = opcode == Opcode::kAdd;
    Program p;
    Instruction& x = p.Parameter(kF32, {2});
    Instruction& y = p.Op(opcode, {&x, &p.Broadcast(p.Scalar(kF32, other), {2})});
    Instruction& below =
        p.entry.Add(Opcode::kCompare, Shape(PrimitiveType::kPred, {2}), {&y, &p.Broadcast(p.Scalar(kF32, 0), {2})},
                    CompareAttrs{.direction = ComparisonDirection::kLt, .type = ComparisonType::kTotalOrder});
    const Literal in = Floats({2}, [](int64_t i) { return i == 0 ? -0.0 : 0.0; });
    for (const int64_t is_below : {0, 1}) {
      Literal out(below.shape());
      out.SetInt(0, is_below);
      const Comparison comparison = p.Local(below, {in}, out);
      EXPECT_EQ(comparison.bad(), !open && is_below == 0 ? 1 : 0);
      EXPECT_EQ(comparison.Count(ElementClass::kUndetermined), open ? 1 : 0);
    }
  }
}

// An infinite term or factor determines the result, unless the other terms may overflow to the opposite infinity or the
// other factors may underflow to 0.
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
  // (tiny * tiny) * inf is NaN, but tiny * (tiny * inf) is infinite.
  EXPECT_EQ(undetermined(Opcode::kMultiply, {tiny, INFINITY, tiny}, NAN), 1);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {0.5, INFINITY, 0.25}, INFINITY), 0);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {0.5, INFINITY, 0.25}, NAN), -1);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {0.5, INFINITY, 0}, NAN), 0);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {tiny, INFINITY, tiny, NAN}, NAN), 0);
  EXPECT_EQ(undetermined(Opcode::kMultiply, {60000, -INFINITY, 60000}, -INFINITY), 0);
  // (-60000 - 60000) + inf is NaN.
  EXPECT_EQ(undetermined(Opcode::kAdd, {-60000, INFINITY, -60000}, NAN), 1);
  // The positive terms may add up to infinity and the negative ones to -infinity. Their sum is NaN.
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
  Instruction& y = p.Op(Opcode::kCbrt, {&x});
  const Comparison comparison = p.Local(y, {Literal(x.shape())}, Literal(x.shape()));
  EXPECT_EQ(comparison.verdict, Verdict::kUnsupported);
  EXPECT_EQ(comparison.reason, "no error bounds for complex 'cbrt'");
}

}  // namespace
}  // namespace hlo
