// Tests that factors and solutions whose element bounds are too wide are judged by their products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/module.h"
#include "judge/compare/compare.h"
#include "parser/parser.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Parsed(const std::string& text) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", text));
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message());
  return module ? std::move(*module) : nullptr;
}

// Compares the interpreter's result, after `spoil` has changed it, with the permitted results.
Comparison Judged(const Module& module, std::span<const Literal> args, const std::function<void(Literal&)>& spoil) {
  auto result = EvaluateComputation(module.entry(), args);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  if (!result) return {};
  spoil(*result);
  auto comparison = CompareLocal(module.entry(), args, *result);
  EXPECT_TRUE(comparison.has_value()) << (comparison ? "" : comparison.error().message());
  return comparison ? std::move(*comparison) : Comparison();
}

std::vector<Literal> Normal(const Module& module, uint64_t seed) {
  auto args = MakeArguments(module, {.seed = seed});
  EXPECT_TRUE(args.has_value());
  return args ? std::move(*args) : std::vector<Literal>();
}

void ExpectDecided(const Comparison& comparison) {
  EXPECT_EQ(comparison.verdict, Verdict::kMatch) << comparison.reason;
  EXPECT_EQ(comparison.Count(ElementClass::kUndetermined) + comparison.Count(ElementClass::kVacuous), 0);
  EXPECT_LE(comparison.worst_ratio(), 1);
}

std::string Factors(std::string_view type, int64_t rows, int64_t columns, int64_t batch) {
  const std::string a = Str(type, "[", batch, ",", rows, ",", columns, "]");
  const char prefix = type == "f32" ? 's' : type == "f64" ? 'd' : type == "c64" ? 'c' : 'z';
  return Str("ENTRY e { a = ", a, " parameter(0) ROOT lu = (", a, ", s32[", batch, ",", std::min(rows, columns),
             "], s32[", batch, "]) custom-call(a), custom_call_target=\"lapack_", std::string(1, prefix),
             "getrf_ffi\", backend_config={} }");
}

const auto kAsItIs = [](Literal&) {};

TEST(ComparedMatrices, FactorsWithAnyPivotsAreDecided) {
  for (const char* type : {"f32", "f64", "c64", "c128"}) {
    for (const auto& [rows, columns] : {std::pair(60, 60), std::pair(80, 50), std::pair(50, 80)}) {
      const auto module = Parsed(Factors(type, rows, columns, 2));
      ASSERT_NE(module, nullptr);
      ExpectDecided(Judged(*module, Normal(*module, 5), kAsItIs));
    }
  }
}

TEST(ComparedMatrices, AWrongFactorIsFound) {
  const auto module = Parsed(Factors("f32", 60, 60, 1));
  const std::vector<Literal> args = Normal(*module, 6);
  for (const int64_t at : {1 * 60 + 1, 30 * 60 + 4, 30 * 60 + 40, 59 * 60 + 59}) {
    const Comparison comparison = Judged(*module, args, [at](Literal& result) {
      Literal& lu = result.mutable_elements()[0];
      lu.SetDouble(at, lu.GetDouble(at) + 0x1p-8);
    });
    EXPECT_EQ(comparison.verdict, Verdict::kMismatch) << at;
  }
  const Comparison lost = Judged(*module, args, [](Literal& result) {
    for (int64_t i = 0; i < 3600; ++i) result.mutable_elements()[0].SetDouble(i, NAN);
  });
  EXPECT_NE(lost.verdict, Verdict::kMatch);
}

// The last two rows are exchanged. The product is the same matrix, but the pivot is the smaller of two numbers.
TEST(ComparedMatrices, APivotThatIsNotTheLargestIsFound) {
  constexpr int64_t n = 60, p = n - 2, q = n - 1;
  const auto module = Parsed(Factors("f32", n, n, 1));
  const Comparison comparison = Judged(*module, Normal(*module, 7), [](Literal& result) {
    Literal &lu = result.mutable_elements()[0], &pivots = result.mutable_elements()[1];
    const auto at = [&](int64_t i, int64_t j) { return lu.GetDouble(i * n + j); };
    const double c_p = at(p, p), d_p = at(p, q), l = at(q, p), c_q = l * c_p, d_q = at(q, q) + l * d_p;
    ASSERT_LT(std::fabs(l), 0.99);
    for (int64_t k = 0; k < p; ++k) {
      const double of_p = at(p, k);
      lu.SetDouble(p * n + k, at(q, k));
      lu.SetDouble(q * n + k, of_p);
    }
    lu.SetDouble(p * n + p, c_q);
    lu.SetDouble(p * n + q, d_q);
    lu.SetDouble(q * n + p, 1 / l);
    lu.SetDouble(q * n + q, d_p - d_q / l);
    auto exchanges = pivots.mutable_data<int32_t>();
    exchanges[p] = exchanges[p] == n ? n - 1 : n;
  });
  ASSERT_EQ(comparison.verdict, Verdict::kMismatch);
  EXPECT_EQ(comparison.outputs[0].bad(), 0);
  EXPECT_EQ(comparison.outputs[1].bad(), 1);
}

// The bounds double with each row, because elements beside the diagonal are as large as those on it.
TEST(ComparedMatrices, SolutionsWhoseBoundsGrowAreDecided) {
  for (const char* type : {"f32", "c64", "f64"}) {
    for (const char* side : {"true", "false"}) {
      for (const char* lower : {"true", "false"}) {
        for (const char* transposed : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
          const std::string b = Str(type, *side == 't' ? "[2,90,3]" : "[2,3,90]");
          const auto module = Parsed(Str("ENTRY e { a = ", type, "[2,90,90] parameter(0) b = ", b,
                                         " parameter(1) ROOT r = ", b, " triangular-solve(a, b), left_side=", side,
                                         ", lower=", lower, ", transpose_a=", transposed, ", unit_diagonal=true }"));
          ASSERT_NE(module, nullptr);
          std::vector<Literal> args = Normal(*module, 8);
          for (int64_t i = 0; i < args[0].shape().NumElements(); ++i) {
            if (IsComplex(args[0].shape().type())) args[0].SetComplex(i, args[0].GetComplex(i) * 0.3);
            else args[0].SetDouble(i, args[0].GetDouble(i) * 0.3);
          }
          ExpectDecided(Judged(*module, args, kAsItIs));
          const auto spoil = [](Literal& x) {
            if (IsComplex(x.shape().type())) x.SetComplex(140, x.GetComplex(140) * 1.001);
            else x.SetDouble(140, x.GetDouble(140) * 1.001);
          };
          EXPECT_EQ(Judged(*module, args, spoil).verdict, Verdict::kMismatch) << type << side << lower << transposed;
        }
      }
    }
  }
}

// The matrix is nearly singular: a a^T with fewer columns than rows, plus a small diagonal.
TEST(ComparedMatrices, FactorsOfNearlySingularOnesAreDecided) {
  constexpr int64_t n = 40;
  for (const char* lower : {"true", "false"}) {
    const auto module =
        Parsed(Str("ENTRY e { a = f32[40,40] parameter(0) ROOT r = f32[40,40] cholesky(a), lower=", lower, " }"));
    ASSERT_NE(module, nullptr);
    Literal a(Shape(PrimitiveType::kF32, {n, n}));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = i == j ? 0x1p-10 : 0;
        for (int64_t k = 0; k < n / 2; ++k)
          sum += std::sin(static_cast<double>(i * i + k)) * std::sin(static_cast<double>(j * j + k));
        a.SetDouble(i * n + j, sum);
      }
    }
    ExpectDecided(Judged(*module, {&a, 1}, kAsItIs));
    const int64_t at = *lower == 't' ? 35 * n + 20 : 20 * n + 35;
    EXPECT_EQ(Judged(*module, {&a, 1}, [at](Literal& x) { x.SetDouble(at, x.GetDouble(at) + 0x1p-6); }).verdict,
              Verdict::kMismatch);
  }
}

}  // namespace
}  // namespace hlo
