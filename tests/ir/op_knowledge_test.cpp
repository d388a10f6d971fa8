// Facts about an elementwise op besides its row in ops.def are in tables with a default. These tests find ops for which
// the default is wrong, and name the file to change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "driver/fuzz/grower.h"
#include "interp/functions.h"
#include "interp/interpreter.h"
#include "ir/analysis/cost.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"
#include "ir/verifier/verifier.h"
#include "judge/bounds/elementwise.h"
#include "judge/bounds/shadow.h"

namespace hlo {
namespace {

constexpr int64_t kElements = 512;

// A module with the op on parameters of `type`, with its smallest attributes. Null if this is not valid HLO.
std::unique_ptr<Module> Use(Opcode opcode, PrimitiveType type) {
  auto module = std::make_unique<Module>("use");
  Computation& entry = module->AddComputation("entry");
  module->SetEntry(entry);
  std::vector<Instruction*> operands;
  const Shape shape(type, {kElements});
  for (int64_t i = 0; i < RowOf(opcode).arity; ++i) operands.push_back(&entry.AddParameter(i, shape));
  entry.SetRoot(entry.Add(opcode, shape, operands, RowOf(opcode).make_attrs()));
  return Verify(*module, VerifyLevel::kStrict) ? std::move(module) : nullptr;
}

// Multiples of 2^-12 in (low, low + 1]. Every function is defined in one of the ranges that the tests use.
std::vector<Literal> Arguments(const Module& module, double low) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module.entry().parameters()) {
    Literal literal(parameter->shape());
    for (int64_t i = 0; i < kElements; ++i) literal.SetDouble(i, low + ((37 * i + 11) % 4096 + 1) * 0x1p-12);
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

// True if the results in f32 and f64 differ for some argument.
bool Rounds(Opcode opcode) {
  const auto narrow = Use(opcode, PrimitiveType::kF32), wide = Use(opcode, PrimitiveType::kF64);
  for (const double low : {0.0, 1.0}) {
    const auto in_f32 = Interpret(*narrow, Arguments(*narrow, low)), in_f64 = Interpret(*wide, Arguments(*wide, low));
    if (!in_f32 || !in_f64) continue;
    for (int64_t i = 0; i < kElements; ++i) {
      const double x = in_f32->GetDouble(i), y = in_f64->GetDouble(i);
      if (std::isfinite(x) && std::isfinite(y) && x != y) return true;
    }
  }
  return false;
}

bool IsGrown(Opcode opcode) {
  for (const std::span<const GrowRow> family : {ElementwiseRows(), MovementRows(), IndexingRows(), ReductionRows(),
                                                ContractionRows(), ControlRows(), LinearRows()}) {
    if (std::ranges::find(family, opcode, &GrowRow::opcode) != family.end()) return true;
  }
  return false;
}

// docs/ops.md and `hlo ops` refer to the file of each op.
TEST(OpKnowledge, EachOpHasAFile) {
  if (!std::filesystem::exists("testdata/interp")) GTEST_SKIP() << "run from the project's folder";
  for (int k = 0; k < std::ssize(AllOps()); ++k) {
    const std::string path = Str("testdata/interp/", ToString(static_cast<Opcode>(k)), ".hlo");
    EXPECT_TRUE(std::filesystem::exists(path)) << path << " is missing";
  }
}

TEST(OpKnowledge, IsCompleteForElementwiseOps) {
  int rounding = 0, functions = 0;
  for (int k = 0; k < std::ssize(AllOps()); ++k) {
    const auto opcode = static_cast<Opcode>(k);
    const std::string op = Str("'", ToString(opcode), "' ");
    EXPECT_FALSE(RowOf(opcode).prose.empty()) << op << "has no sentence in src/ir/ops.def";
    if ((RowOf(opcode).traits & kElementwise) == 0) continue;
    EXPECT_TRUE(IsGrown(opcode)) << op << "is in no random module: src/driver/fuzz/grow_elementwise.cpp";
    if (RowOf(opcode).cost.function && RowOf(opcode).arity == 1) {
      EXPECT_NE(FloatFunctionOf(opcode), nullptr) << op << "has no row in src/interp/functions.def";
    }
    const auto module = Use(opcode, PrimitiveType::kF32);
    if (module == nullptr) continue;
    const auto shadow = EvaluateShadow(module->entry(), Arguments(*module, 0));
    EXPECT_TRUE(shadow.has_value()) << op << "has no bound: src/judge/bounds/functions.cpp or what stands beside it";
    if (!Rounds(opcode)) continue;
    ++rounding;
    const double ulps = DefaultUlps(opcode, PrimitiveType::kF32);
    EXPECT_GE(ulps, 0.5) << op << "rounds, and its row in src/ir/ops.def says exact";
    if (ulps <= 0.5) continue;
    ++functions;
    EXPECT_GT(InstructionCost(module->entry().root()), 1) << op << "costs what an add does: src/ir/ops.def";
    EXPECT_GT(CostAnalysis(*module).CostOf(module->entry().root()).transcendentals, 0)
        << op << "is no function in src/ir/ops.def";
  }
  EXPECT_GT(rounding, 20);
  EXPECT_GT(functions, 15);
}

constexpr const char* kTable = " in src/interp/functions.def";

TEST(OpKnowledge, FunctionsHaveTheDomainOfTheirRows) {
  for (const FloatFunction& function : FloatFunctions()) {
    SCOPED_TRACE(Str("the row of '", ToString(function.opcode), "'", kTable));
    EXPECT_TRUE(RowOf(function.opcode).cost.function) << "src/ir/ops.def says that it is no function";
    EXPECT_EQ(function.of_complex, Use(function.opcode, PrimitiveType::kC64) != nullptr)
        << "of complex numbers, or not, as the shape rule in src/ir/ops.def says";
    const auto& [domain, made_up, samples, slope, period, tame, tame_complex, complex_values, weight] = function.facts;
    EXPECT_TRUE(domain.low <= made_up.low && made_up.high <= domain.high) << "made_up";
    for (const double end : {domain.low, domain.high}) {
      if (std::isinf(end)) continue;
      const double inside = end == domain.low ? HUGE_VAL : -HUGE_VAL;
      EXPECT_FALSE(std::isnan(function.f64(std::nextafter(end, inside)))) << "domain";
      EXPECT_TRUE(std::isnan(function.f64(std::nextafter(end, -inside)))) << "domain";
    }
    for (int i = 0; i <= 1000; ++i) {
      const double x = samples.low + (samples.high - samples.low) * i / 1000;
      EXPECT_EQ(std::isnan(function.f64(x)), x < domain.low || x > domain.high) << "domain: of " << x;
    }
  }
}

// The shadow's bound for [a - e, a + e] holds for values in this interval.
TEST(OpKnowledge, FunctionsHaveTheSlopeOfTheirRows) {
  for (const FloatFunction& function : FloatFunctions()) {
    const auto rule = shadow::FunctionRule(function.opcode, {});
    const auto& [domain, made_up, samples, slope, period, tame, tame_complex, complex_values, weight] = function.facts;
    int decided = 0, wrong = 0;
    for (int i = 0; i <= 600 && wrong < 3; ++i) {
      const double a = samples.low + (samples.high - samples.low) * i / 600;
      for (const double e : {1e-9, 1e-3, 0.3, 2.0}) {
        const shadow::Pair of = {a, e};
        const shadow::Pair said = rule(&of);
        if (!std::isfinite(said.bound) || !std::isfinite(said.value)) continue;
        ++decided;
        for (int k = -8; k <= 8; ++k) {
          const double x = a + e * k / 8;
          // The comparison also fails for a NaN.
          if (std::fabs(function.f64(x) - said.value) <= said.bound) continue;
          ++wrong;
          ADD_FAILURE() << "'" << ToString(function.opcode) << "' does not move as its row says" << kTable << ": of "
                        << x << " it is " << function.f64(x) << ", not " << said.value << " +- " << said.bound;
        }
      }
    }
    EXPECT_GT(decided, 500) << ToString(function.opcode) << ": nearly everything is undetermined";
  }
}

TEST(OpKnowledge, ComplexFunctionsHaveTheBoundOfTheirRows) {
  for (const FloatFunction& function : FloatFunctions()) {
    const double most = function.facts.complex_values;
    const auto module = Use(function.opcode, PrimitiveType::kC128);
    if (module == nullptr || most == 0) continue;
    Literal z(module->entry().parameter(0).shape());
    auto parts = reinterpret_cast<double*>(z.mutable_raw());
    // Arguments are on the boundary of the square, where the absolute value of an analytic function is largest.
    for (int64_t i = 0; i < kElements; ++i) {
      const double along = -1 + 8.0 * static_cast<double>(i % (kElements / 4)) / kElements;
      const double sides[4][2] = {{1, along}, {-1, along}, {along, 1}, {along, -1}};
      for (int part = 0; part < 2; ++part)
        parts[2 * i + part] = sides[4 * i / kElements][part] * function.facts.tame_complex;
    }
    const auto values = Interpret(*module, {{z}});
    ASSERT_TRUE(values.has_value());
    const auto* result = reinterpret_cast<const double*>(values->raw());
    EXPECT_LE(std::fabs(*std::max_element(result, result + 2 * kElements,
                                          [](double x, double y) { return std::fabs(x) < std::fabs(y); })),
              most)
        << "complex_values of '" << ToString(function.opcode) << "'" << kTable;
  }
}

}  // namespace
}  // namespace hlo
