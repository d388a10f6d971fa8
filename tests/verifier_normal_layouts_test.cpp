// Layouts are normal from layout assignment on: what breaks it is named.
#include <gtest/gtest.h>

#include "ir/module.h"
#include "ir/verifier/module_layouts.h"
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

TEST(NormalLayouts, WhatComputesInAnotherOrderIsNamed) {
  const auto module = Parse(std::make_shared<const SourceText>("test", kColumns));
  ASSERT_TRUE(module);
  const auto status = CheckNormalLayouts(**module);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "'n' computes f32[2,3]{0,1} behind layout assignment, expected f32[2,3]{1,0}");
}

// Parameter and result lie as the caller says, and copies lead to them.
TEST(NormalLayouts, HoldBehindLayoutAssignment) {
  const auto module = Parse(std::make_shared<const SourceText>("test", kColumns));
  ASSERT_TRUE(module);
  ASSERT_TRUE(RunPipeline(**module, {.passes = "layout-assignment"}));
  EXPECT_TRUE(CheckNormalLayouts(**module));
  EXPECT_FALSE((*module)->entry().parameter(0).shape().HasDefaultLayout());
}

}  // namespace
}  // namespace hlo
