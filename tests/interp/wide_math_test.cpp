// Compares the f32 functions of wide_math.h, which the interpreter uses, with the C library in f64, for every 509th
// f32. FULL=1 compares every f32, which takes some minutes per function.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "interp/functions.h"
#include "interp/ops/wide_math.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

// The largest error of a result: half an ulp for its own rounding, and 2^-27 ulp for the two errors in f64.
constexpr double kMostUlps = 0.5 + 0x1p-27;

// |actual - expected| in units in the last place of f32 at `expected`, whose f32 value is finite.
double Ulps(float actual, double expected) {
  const int exponent = std::max(expected == 0 ? -1000 : std::ilogb(expected), -126);
  return std::fabs(actual - expected) / std::ldexp(1.0, exponent - 23);
}

class WideMathExhaustive : public testing::TestWithParam<Opcode> {};

TEST_P(WideMathExhaustive, IsCorrectlyRoundedExceptNearTies) {
  const std::string opcode(ToString(GetParam()));
  double (*const reference)(double) = FloatFunctionOf(GetParam())->f64;
  const bool full = std::getenv("FULL") != nullptr;
  const int64_t step = full ? 1 : 509, count = int64_t{1} << 18;
  const std::string shape = Str("f32[", count, "]");
  const auto module = ParseText(Str("ENTRY e { x = ", shape, " parameter(0)\n ROOT r = ", shape, " ", opcode, "(x) }"));
  Literal x = Literal::Uninitialized(Shape(PrimitiveType::kF32, {count}));
  auto* const in = reinterpret_cast<float*>(x.mutable_raw());
  int64_t differ = 0;
  double worst = 0;
  for (int64_t pattern = 0; pattern < int64_t{1} << 32;) {
    // After the last pattern, the first ones are repeated.
    for (int64_t i = 0; i < count; ++i, pattern += step) in[i] = std::bit_cast<float>(static_cast<uint32_t>(pattern));
    const auto result = Interpret(*module, {{x}});
    ASSERT_TRUE(result.has_value());
    const auto* const out = reinterpret_cast<const float*>(result->raw());
    for (int64_t i = 0; i < count; ++i) {
      const double expected = reference(in[i]);
      const auto rounded = static_cast<float>(expected);
      // The comparison of bits includes the signs of zeros and the library's NaNs.
      if (std::bit_cast<uint32_t>(rounded) == std::bit_cast<uint32_t>(out[i])) continue;
      ASSERT_TRUE(std::isfinite(rounded) && std::isfinite(out[i]) && rounded != 0)
          << opcode << " of " << in[i] << " is " << out[i] << ", not " << rounded;
      ++differ;
      worst = std::max(worst, Ulps(out[i], expected));
      ASSERT_LE(worst, kMostUlps) << opcode << " of " << in[i];
    }
  }
  if (full)
    std::printf("%-22s differs for %lld f32, worst %.10f ulp\n", opcode.c_str(), static_cast<long long>(differ), worst);
}

#define HLO_OPCODE_OF(Name) Opcode::k##Name,
constexpr Opcode kWide[] = {HLO_WIDE_FUNCTIONS(HLO_OPCODE_OF)};
#undef HLO_OPCODE_OF

INSTANTIATE_TEST_SUITE_P(Interp, WideMathExhaustive, testing::ValuesIn(kWide), [](const auto& info) {
  std::string name(ToString(info.param));
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace hlo
