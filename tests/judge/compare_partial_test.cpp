// Tests bounds that are computed only for elements that differ from the interpreter's, and intervals with rounded ends.
#include <cmath>
#include <limits>
#include <random>

#include "compare_shadow_cases.h"
#include "judge/bounds/rules.h"
#include "judge/compare/partial_bounds.h"

namespace hlo {
namespace {

// exp(x) * x, and its sums over rows of 8. Both are results.
struct RowsOfProducts : Program {
  Instruction& x = Parameter(kF32, {64, 8});
  Instruction& products = Op(Opcode::kMultiply, {&Op(Opcode::kExp, {&x}), &x});
  Instruction& sums = entry.Add(Opcode::kReduce, Shape(kF32, {64}), {&products, &Scalar(kF32, 0)},
                                ReduceAttrs{.dimensions = {1}, .to_apply = &Binary(Opcode::kAdd, kF32)});
  Literal input{Shape(kF32, {64, 8})};

  RowsOfProducts() {
    entry.SetRoot(entry.AddTuple({&products, &sums}));
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (float& value : input.mutable_data<float>()) value = normal(random);
  }
  Literal Interpreted() {
    auto result = EvaluateComputation(entry, {&input, 1});
    EXPECT_TRUE(result.has_value());
    return result ? *result : Literal();
  }
};

TEST(PartialBounds, AreThoseOfTheWhole) {
  RowsOfProducts program;
  const Literal right = program.Interpreted();
  Literal actual = right;
  auto products = actual.mutable_elements()[0].mutable_data<float>();
  products[17] = std::nextafter(products[17], 100.0f);
  products[300] *= 1.01f;
  actual.mutable_elements()[1].mutable_data<float>()[40] *= 1.01f;
  ASSERT_TRUE(SliceOfDifferences(program.entry, {&program.input, 1}, actual, right, {}).has_value());

  LocalOptions options;
  options.interpret = true;
  const auto part = CompareLocal(program.entry, {&program.input, 1}, actual, options);
  options.interpret = false;
  const auto whole = CompareLocal(program.entry, {&program.input, 1}, actual, options);
  ASSERT_TRUE(part && whole);
  ASSERT_EQ(part->outputs.size(), 2u);
  EXPECT_EQ(part->verdict, Verdict::kMismatch);
  for (size_t i = 0; i < 2; ++i) {
    const TensorComparison &a = part->outputs[i], &b = whole->outputs[i];
    EXPECT_EQ(a.checked, b.checked);
    EXPECT_EQ(a.Count(ElementClass::kExact), a.elements - (i == 0 ? 2 : 1));
    EXPECT_EQ(a.bad(), 1);
    EXPECT_EQ(b.bad(), 1);
    ASSERT_EQ(a.worst.size(), 1u);
    EXPECT_EQ(a.worst[0].linear, b.worst[0].linear);
    EXPECT_EQ(a.worst[0].expected, b.worst[0].expected);
    EXPECT_EQ(a.worst[0].bound, b.worst[0].bound);
  }
}

TEST(PartialBounds, OfManyDifferencesAreTheWhole) {
  RowsOfProducts program;
  const Literal right = program.Interpreted();
  Literal actual = right;
  for (float& value : actual.mutable_elements()[0].mutable_data<float>()) value = std::nextafter(value, 100.0f);
  EXPECT_FALSE(SliceOfDifferences(program.entry, {&program.input, 1}, actual, right, {}).has_value());
}

TEST(Grid, NearestIsTheConversion) {
  std::mt19937_64 random(5);
  for (const PrimitiveType type : {kF32, PrimitiveType::kBF16, PrimitiveType::kF16, PrimitiveType::kF8E4M3FN,
                                   PrimitiveType::kF8E5M2, PrimitiveType::kF4E2M1FN}) {
    const shadow::Rounding rounding = shadow::RoundingTo(type, false);
    Literal element(Shape::Scalar(type));
    for (int i = 0; i < 100'000; ++i) {
      // Numbers of all magnitudes of the type. A third of them are halfway between two neighbouring numbers of the
      // type.
      const double exponent = std::log2(rounding.overflow) + std::log2(1 / rounding.least) + 3;
      double x = std::ldexp(
          static_cast<double>(random()) * 0x1p-64 + 0.5,
          static_cast<int>(std::log2(rounding.least) - 2 + static_cast<int>(random() % 1000) * exponent / 1000));
      if (random() % 3 == 0) {
        element.SetDouble(0, x);
        x = element.GetDouble(0);
        x += shadow::HalfUlp(rounding, x);
      }
      if (random() % 2 == 0) x = -x;
      if (std::fabs(x) >= rounding.overflow || !std::isfinite(x)) continue;
      element.SetDouble(0, x);
      ASSERT_EQ(shadow::Nearest(rounding, x), element.GetDouble(0)) << x << " of " << Str(type);
    }
  }
}

}  // namespace
}  // namespace hlo
