// The functions of math.h against long double: errors in ulps within the budgets of ir/precision_plan.cpp, edges exact.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gpu/kernel/builder.h"
#include "gpu/kernel/host.h"
#include "gpu/kernel/math.h"
#include "tests/host_isa_levels.h"

namespace hlo::kernel {
namespace {

template <class T>
constexpr Type kTypeOf = std::is_same_v<T, float>    ? Type::kF32
                         : std::is_same_v<T, double> ? Type::kF64
                                                     : Type::kF16;

template <class T>
std::vector<T> Compute(const std::function<Value(Value, Value)>& function, std::vector<T> x, std::vector<T> y) {
  const int64_t count = static_cast<int64_t>(x.size());
  KernelBuilder k("function", CeilDiv(count, 1024), 256);
  const Array in0 = k.Input("x", kTypeOf<T>, count), in1 = k.Input("y", kTypeOf<T>, count),
              out = k.Output("z", kTypeOf<T>, count);
  const Value base = k.block() * 1024;
  k.Tile(4, count - base, [&](Value i) { out.Store(base + i, function(in0.Load(base + i), in1.Load(base + i))); });
  const Kernel kernel = std::move(k).Build();
  std::vector<T> z;
  AtEveryHostIsa([&] {
    const auto compiled = CompileHost(kernel);
    ASSERT_TRUE(compiled) << compiled.error().message();
    std::vector<T> at_level(x.size());
    void* const arguments[] = {x.data(), y.data(), at_level.data()};
    compiled->Launch(arguments);
    if (z.empty()) z = at_level;
    EXPECT_EQ(std::memcmp(z.data(), at_level.data(), z.size() * sizeof(T)), 0) << "bits differ between levels";
  });
  return z;
}

// |actual - expected| in units in the last place of T at expected.
template <class T>
double Ulps(T actual, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(actual)) {
    if (actual == rounded) return 0;
    // The largest finite number next to infinity is one ulp off.
    return std::nextafter(actual, rounded) == rounded || std::nextafter(rounded, actual) == actual ? 1 : 1e9;
  }
  int exponent;
  std::frexp(expected, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - expected) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

struct Function {
  const char* name;
  std::function<Value(Value, Value)> kernel;
  std::function<long double(long double, long double)> reference;
  double budget;     // f32; f64 has one more.
  double low, high;  // Where half of the samples are taken.
};

Function Unary(const char* name, Value (*kernel)(Value), long double (*reference)(long double), double budget,
               double low, double high) {
  return {name,
          [=](Value x, Value) { return kernel(x); },
          [=](long double x, long double) { return reference(x); },
          budget,
          low,
          high};
}

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = {
      Unary("exp", Exp, std::exp, 2, -105, 90),
      Unary("exp2", Exp2, std::exp2, 2, -151, 129),
      Unary("expm1", Expm1, std::expm1, 2, -20, 90),
      Unary("log", Log, std::log, 1.5, 0, 3),
      Unary("log2", Log2, std::log2, 2, 0, 3),
      Unary("log1p", Log1p, std::log1p, 1.5, -1, 3),
      Unary("tanh", Tanh, std::tanh, 2, -10, 10),
      Unary(
          "logistic", Logistic, [](long double x) { return 1 / (1 + std::exp(-x)); }, 3, -105, 20),
      Unary("erf", Erf, std::erf, 2, -5, 5),
      Unary("sin", Sin, std::sin, 2, -100, 100),
      Unary("cos", Cos, std::cos, 2, -100, 100),
      Unary("tan", Tan, std::tan, 4, -100, 100),
      Unary("asin", Asin, std::asin, 2, -1, 1),
      Unary("acos", Acos, std::acos, 2, -1, 1),
      Unary("sinh", Sinh, std::sinh, 3, -95, 95),
      Unary("cosh", Cosh, std::cosh, 3, -95, 95),
      Unary("asinh", Asinh, std::asinh, 2.5, -10, 10),
      Unary("acosh", Acosh, std::acosh, 3, 1, 10),
      Unary("atanh", Atanh, std::atanh, 4, -1, 1),
      Unary(
          "rsqrt", Rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 2, 0, 10),
      Unary("cbrt", Cbrt, std::cbrt, 1.5, -10, 10),
      Unary("sqrt", Sqrt, std::sqrt, 0.5001, 0, 10),
      {"pow", Pow, [](long double x, long double y) { return std::pow(x, y); }, 4, 0, 20},
      {"atan2", Atan2, [](long double y, long double x) { return std::atan2(y, x); }, 3, -10, 10},
      {"rem", [](Value x, Value y) { return x % y; }, [](long double x, long double y) { return std::fmod(x, y); },
       0.0001, -100, 100},
  };
  return functions;
}

template <class T>
class Math : public testing::Test {};
using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(Math, Formats);

TYPED_TEST(Math, StaysWithinItsBudget) {
  using T = TypeParam;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T edges[] = {0,
                     T(-0.0),
                     1,
                     -1,
                     T(0.5),
                     T(-0.5),
                     2,
                     -2,
                     3,
                     -3,
                     inf,
                     -inf,
                     nan,
                     std::numeric_limits<T>::denorm_min(),
                     -std::numeric_limits<T>::denorm_min(),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max(),
                     -std::numeric_limits<T>::max(),
                     T(1e30),
                     T(-1e30),
                     T(7.25),
                     17};
  for (const Function& function : Functions()) {
    std::mt19937_64 random(7);
    std::vector<T> x, y;
    for (const T a : edges) {
      for (const T b : edges) x.push_back(a), y.push_back(b);
    }
    std::uniform_real_distribution<double> near(function.low, function.high);
    for (int i = 0; i < 20000; ++i) {
      x.push_back(static_cast<T>(near(random)));
      y.push_back(static_cast<T>(near(random)));
      x.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
      y.push_back(i % 2 ? std::bit_cast<T>(static_cast<Bits>(random())) : static_cast<T>(near(random)));
    }
    const std::vector<T> z = Compute(function.kernel, x, y);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double expected = function.reference(x[i], y[i]);
      const double ulps = Ulps(z[i], expected);
      if (ulps > worst) worst = ulps, at = i;
      if (z[i] == 0 && expected == 0) {
        EXPECT_EQ(std::signbit(z[i]), std::signbit(expected)) << function.name << " of " << x[i] << ", " << y[i];
      }
    }
    EXPECT_LE(worst, function.budget + (sizeof(T) == 8 ? 1 : 0))
        << function.name << " of " << x[at] << ", " << y[at] << " gave " << z[at];
    if (std::getenv("HLO_ULPS")) {
      printf("%-10s f%d worst %.3f ulp at %a, %a\n", function.name, int(8 * sizeof(T)), worst, double(x[at]),
             double(y[at]));
    }
  }
}

// Every f32 there is, against f64, whose own error is a billionth of an ulp: what DefaultUlps rests on. A minute or two
// for each function, so only with FULL=1.
struct Unrounded {
  const char* name;
  Value (*kernel)(Value);
  double (*reference)(double);
  double most;  // Half an ulp less than DefaultUlps.
};

class MathExhaustive : public testing::TestWithParam<Unrounded> {};

TEST_P(MathExhaustive, EveryF32) {
  if (std::getenv("FULL") == nullptr) GTEST_SKIP() << "without FULL=1";
  const Unrounded& function = GetParam();
  constexpr int64_t kCount = int64_t{1} << 22;
  KernelBuilder k("function", kCount / 1024, 256);
  const Array in = k.Input("x", Type::kF32, kCount), out = k.Output("z", Type::kF32, kCount);
  const Value base = k.block() * 1024;
  k.Tile(4, kCount - base, [&](Value i) { out.Store(base + i, function.kernel(in.Load(base + i))); });
  const auto compiled = CompileHost(std::move(k).Build());
  ASSERT_TRUE(compiled) << (compiled ? "" : compiled.error().message());
  std::vector<float> x(kCount), z(kCount);
  double worst = 0;
  float at = 0;
  for (int64_t first = 0; first < int64_t{1} << 32; first += kCount) {
    for (int64_t i = 0; i < kCount; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i));
    void* const arguments[] = {x.data(), z.data()};
    compiled->Launch(arguments);
    for (int64_t i = 0; i < kCount; ++i) {
      const double expected = function.reference(x[i]);
      if (!(std::fabs(z[i] - expected) > 0) && !std::isnan(z[i])) continue;
      const double ulps = Ulps<float>(z[i], expected);
      if (ulps > worst) worst = ulps, at = x[i];
    }
  }
  std::printf("%-10s f32 worst %.4f ulp at %a\n", function.name, worst, static_cast<double>(at));
  EXPECT_LE(worst, function.most) << function.name << " of " << at;
}

INSTANTIATE_TEST_SUITE_P(Functions, MathExhaustive,
                         testing::Values(Unrounded{"tanh", Tanh, std::tanh, 1.5}, Unrounded{"erf", Erf, std::erf, 1.5},
                                         Unrounded{"logistic", Logistic,
                                                   [](double x) { return 1 / (1 + std::exp(-x)); }, 2.5}),
                         [](const auto& info) { return info.param.name; });

TEST(MathF16, IsComputedInF32AndRoundedOnce) {
  std::vector<_Float16> x;
  for (int bits = 0; bits < 65536; ++bits) x.push_back(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
  const std::vector<_Float16> z = Compute<_Float16>([](Value a, Value) { return Exp(a); }, x, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i]));
    const auto rounded = static_cast<_Float16>(expected);
    if (!(rounded < INFINITY)) {
      ASSERT_EQ(std::isnan(static_cast<float>(z[i])), std::isnan(expected));
      continue;
    }
    // Half an ulp, and what the f32 result was off: an ulp of f32.
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -14) - 10);
    ASSERT_LE(std::fabs(static_cast<double>(z[i]) - expected), ulp * (0.5 + 0x1p-13)) << static_cast<float>(x[i]);
  }
}

}  // namespace
}  // namespace hlo::kernel
