// Tests that layouts are normal after layout assignment, and that an instruction with another layout is named.
#include <gtest/gtest.h>

#include "ir/module.h"
#include "ir/verifier/module_layouts.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

constexpr const char* kColumns = R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
ENTRY e {
  x = f32[2,3]{0,1} parameter(0)
  n = f32[2,3]{0,1} negate(x)
  ROOT r = f32[2,3]{0,1} abs(n)
})";

Status Check(const Module& module, Verified* verified) {
  if (Status valid = VerifyAgain(module, verified); !valid) return valid;
  return CheckNormalLayouts(module, verified);
}

TEST(NormalLayouts, InstructionsWithAnotherLayoutAreNamed) {
  const auto module = Parse(std::make_shared<const SourceText>("test", kColumns));
  ASSERT_TRUE(module);
  Verified verified;
  const auto status = Check(**module, &verified);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "'n' computes f32[2,3]{0,1} after layout assignment, expected f32[2,3]{1,0}");
}

// Parameter and result have the caller's layouts. Copies convert between these and normal layouts.
TEST(NormalLayouts, HoldAfterLayoutAssignment) {
  const auto module = Parse(std::make_shared<const SourceText>("test", kColumns));
  ASSERT_TRUE(module);
  ASSERT_TRUE(RunPipeline(**module, {.passes = "layout-assignment"}));
  Verified verified;
  EXPECT_TRUE(Check(**module, &verified));
  EXPECT_FALSE((*module)->entry().parameter(0).shape().HasDefaultLayout());
}

TEST(NormalLayouts, AreCheckedAgainAfterAChange) {
  const auto module = Parse(std::make_shared<const SourceText>("test", kColumns));
  ASSERT_TRUE(module);
  ASSERT_TRUE(RunPipeline(**module, {.passes = "layout-assignment"}));
  Verified verified;
  ASSERT_TRUE(Check(**module, &verified));
  ASSERT_TRUE(Check(**module, &verified));
  Computation& entry = (*module)->entry();
  Instruction& x = entry.parameter(0);
  entry.SetRoot(entry.Add(Opcode::kNegate, x.shape(), {&x}));
  EXPECT_FALSE(Check(**module, &verified));
}

}  // namespace
}  // namespace hlo
