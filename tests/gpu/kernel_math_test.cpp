// Compares the functions of math.h with long double. Errors must be within the ulps of ir/ops.def. Special values must
// be exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/codegen/host.h"
#include "gpu/emitters/scalar.h"
#include "gpu/kernel/builder.h"
#include "gpu/kernel/math.h"
#include "interp/functions.h"
#include "ir/module.h"
#include "tests/gpu/host_isa_levels.h"

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

// |actual - expected| in units in the last place of T at `expected`.
template <class T>
double Ulps(T actual, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(actual)) {
    if (actual == rounded) return 0;
    // The largest finite number and infinity are one ulp apart.
    return std::nextafter(actual, rounded) == rounded || std::nextafter(rounded, actual) == actual ? 1 : 1e9;
  }
  int exponent;
  std::frexp(expected, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - expected) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

struct Function {
  Opcode op;  // The op's row in ops.def has the largest error of f32 in ulps. f64 may have one more ulp.
  std::function<Value(Value, Value)> kernel;
  std::function<long double(long double, long double)> reference;
  double low, high;  // Half of the samples are in this range.
};

// The code that gpu/emitters/scalar.cpp emits for an op with one or two floats.
std::function<Value(Value, Value)> KernelOf(Opcode op) {
  static Module module("functions");
  Computation& computation = module.AddComputation(ToString(op));
  const Shape shape = Shape::Scalar(PrimitiveType::kF32);
  std::vector<hlo::Instruction*> operands;
  for (int i = 0; i < RowOf(op).arity; ++i) operands.push_back(&computation.AddParameter(i, shape));
  const hlo::Instruction& inst = computation.Add(op, shape, operands);
  return [&inst](Value x, Value y) {
    const Value arguments[] = {x, y};
    return gpu::EmitScalar(inst, std::span(arguments).first(inst.operand_count()));
  };
}

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = [] {
    std::vector<Function> all;
    for (const FloatFunction& function : FloatFunctions()) {
      all.push_back({function.opcode, KernelOf(function.opcode),
                     [f = function.f80](long double x, long double) { return f(x); }, function.facts.samples.low,
                     function.facts.samples.high});
    }
    for (const auto& [opcode, f64, f80, samples] : FloatFunctionsOfTwo())
      all.push_back({opcode, KernelOf(opcode), f80, samples.low, samples.high});
    return all;
  }();
  return functions;
}

template <class T>
class Math : public testing::Test {};
using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(Math, Formats);

TYPED_TEST(Math, StaysWithinItsErrorBound) {
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
    std::uniform_real_distribution<double> near(function.low, function.high), octave(-1, 1);
    for (int i = 0; i < 20000; ++i) {
      x.push_back(static_cast<T>(near(random)));
      y.push_back(static_cast<T>(near(random)));
      x.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
      y.push_back(i % 2 ? std::bit_cast<T>(static_cast<Bits>(random())) : static_cast<T>(near(random)));
      // The powers cover the whole range of results, because an inaccurate logarithm shows only at large exponents.
      x.push_back(static_cast<T>(std::exp2(octave(random))));
      y.push_back(static_cast<T>(octave(random) * std::numeric_limits<T>::max_exponent * 4));
    }
    const std::vector<T> z = Compute(function.kernel, x, y);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double expected = function.reference(x[i], y[i]);
      const double ulps = Ulps(z[i], expected);
      if (ulps > worst) worst = ulps, at = i;
      if (z[i] == 0 && expected == 0) {
        EXPECT_EQ(std::signbit(z[i]), std::signbit(expected))
            << ToString(function.op) << " of " << x[i] << ", " << y[i];
      }
    }
    // The limit includes the error of the reference, at most 2^-39 ulps of f32.
    EXPECT_LE(worst, RowOf(function.op).ulps + (sizeof(T) == 8 ? 1 : 0x1p-39))
        << ToString(function.op) << " of " << x[at] << ", " << y[at] << " gave " << z[at];
    if (std::getenv("HLO_ULPS")) {
      printf("%-10s f%d worst %.3f ulp at %a, %a\n", std::string(ToString(function.op)).c_str(), int(8 * sizeof(T)),
             worst, double(x[at]), double(y[at]));
    }
  }
}

TEST(MathFunctions, AreAllMeasured) {
  for (int i = 0; i < std::ssize(AllOps()); ++i) {
    const auto op = static_cast<Opcode>(i);
    if ((RowOf(op).traits & kElementwise) == 0 || RowOf(op).ulps <= 0.5) continue;
    EXPECT_TRUE(std::ranges::count(Functions(), op, &Function::op) == 1)
        << ToString(op)
        << " is neither in src/interp/functions.def nor in Functions() of tests/gpu/kernel_math_test.cpp";
  }
}

// Compares every f32 result with f64, whose own error is a billionth of an ulp. DefaultUlps is based on these errors.
// The test takes a minute or two per function, so it needs FULL=1.
struct Unrounded {
  Opcode op;
  double most;  // The largest error in ulps: half an ulp less than DefaultUlps.
};

class MathExhaustive : public testing::TestWithParam<Unrounded> {};

TEST_P(MathExhaustive, IsAccurateForEveryF32) {
  if (std::getenv("FULL") == nullptr) GTEST_SKIP() << "without FULL=1";
  const Unrounded& measured = GetParam();
  const FloatFunction& function = *FloatFunctionOf(measured.op);
  const auto kernel = KernelOf(measured.op);
  constexpr int64_t kCount = int64_t{1} << 22;
  KernelBuilder k("function", kCount / 1024, 256);
  const Array in = k.Input("x", Type::kF32, kCount), out = k.Output("z", Type::kF32, kCount);
  const Value base = k.block() * 1024;
  k.Tile(4, kCount - base, [&](Value i) {
    const Value x = in.Load(base + i);
    out.Store(base + i, kernel(x, x));
  });
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
      const double expected = function.f64(x[i]);
      if (!(std::fabs(z[i] - expected) > 0) && !std::isnan(z[i])) continue;
      const double ulps = Ulps<float>(z[i], expected);
      if (ulps > worst) worst = ulps, at = x[i];
    }
  }
  std::printf("%-10s f32 worst %.4f ulp at %a\n", std::string(ToString(measured.op)).c_str(), worst,
              static_cast<double>(at));
  EXPECT_LE(worst, measured.most) << ToString(measured.op) << " of " << at;
}

INSTANTIATE_TEST_SUITE_P(Functions, MathExhaustive,
                         testing::Values(Unrounded{Opcode::kTanh, 1.5}, Unrounded{Opcode::kErf, 1.5},
                                         Unrounded{Opcode::kLogistic, 2.5}),
                         [](const auto& info) { return std::string(ToString(info.param.op)); });

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
    // The bound is half an ulp of f16 for the rounding, and an ulp of f32 for the error of the f32 result.
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -14) - 10);
    ASSERT_LE(std::fabs(static_cast<double>(z[i]) - expected), ulp * (0.5 + 0x1p-13)) << static_cast<float>(x[i]);
  }
}

}  // namespace
}  // namespace hlo::kernel
