// Tests of indices beyond 2^31, both in expressions over small slices of huge arrays that are never stored and in the
// iteration space.
#include <gtest/gtest.h>

#include "tests/gpu/emitters_harness.h"
#include "tests/gpu/host_isa_levels.h"

namespace hlo::gpu {
namespace {

// Compares with a formula, because the interpreter would allocate the huge array.
template <class F>
void ExpectElements(const std::string& text, F expected) {
  const auto module = Fused(text);
  const auto check = [&](On on) {
    const auto result = RunKernels(*module, {}, on);
    ASSERT_TRUE(result) << result.error().message();
    for (int64_t i = 0; i < result->shape().NumElements(); ++i) ASSERT_EQ(result->GetDouble(i), expected(i)) << i;
  };
  check(On::kEmulator);
  AtEveryHostIsa([&] { check(On::kHost); });
}

TEST(EmitWideIndex, ComputesAnIotaBeyondTwoToThe31) {
  for (const char* type : {"f32", "f64", "bf16", "s64", "u32"}) {
    SCOPED_TRACE(type);
    const std::string t(type);
    ExpectElements("ENTRY e { i = " + t + "[3000000000] iota(), iota_dimension=0 ROOT s = " + t +
                       "[70] slice(i), slice={[2999999800:2999999870]} }",
                   [&](int64_t i) {
                     const double exact = 2999999800.0 + static_cast<double>(i);
                     if (t == "bf16") return 179 * 0x1p24;
                     return t == "f32" ? static_cast<double>(static_cast<float>(exact)) : exact;
                   });
  }
}

TEST(EmitWideIndex, ComputesRowsBeyondTwoToThe31) {
  const std::string add = "add { a = s64[] parameter(0) b = s64[] parameter(1) ROOT r = s64[] add(a, b) } ";
  ExpectElements(add +
                     "ENTRY e { i = s64[4900000000] iota(), iota_dimension=0 m = s64[70000,70000] reshape(i)"
                     " s = s64[2,700] slice(m), slice={[69998:70000], [0:700]} z = s64[] constant(0)"
                     " ROOT r = s64[2] reduce(s, z), dimensions={1}, to_apply=add }",
                 [](int64_t row) { return static_cast<double>((69998 + row) * 70000 * 700 + 700 * 699 / 2); });
}

TEST(EmitWideIndex, DependsOnTheIterationSpace) {
  const std::string add = "add { a = s64[] parameter(0) b = s64[] parameter(1) ROOT r = s64[] add(a, b) } ";
  for (const auto& [dims, wide] : {std::pair("70000,70000", true), std::pair("700,700", false)}) {
    const auto module = Fused(add + "ENTRY e { x = s64[] parameter(0) b = s64[" + dims +
                              "] broadcast(x), dimensions={} z = s64[] constant(0) ROOT r = s64[] reduce(b, z), "
                              "dimensions={0,1}, to_apply=add }");
    const auto plans = Emit(module->entry().root());
    ASSERT_TRUE(plans) << plans.error().message();
    EXPECT_EQ(plans->front().kernel->wide_index, wide) << dims;
  }
}

}  // namespace
}  // namespace hlo::gpu
