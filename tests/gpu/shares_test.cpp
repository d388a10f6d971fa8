#include "gpu/runtime/shares.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "ir/module.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kModule = R"(HloModule shares

known_condition {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(500)
  ROOT less = pred[] compare(i, n), direction=LT
}

known_body {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1000] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  in_known = f32[1000] add(x, x)
  ROOT t = (s32[], f32[1000]) tuple(next, in_known)
}

unknown_condition {
  s = f32[10] parameter(0)
  first = f32[1] slice(s), slice={[0:1]}
  scalar = f32[] reshape(first)
  zero = f32[] constant(0)
  ROOT positive = pred[] compare(scalar, zero), direction=GT
}

unknown_body {
  s = f32[10] parameter(0)
  ROOT in_unknown = f32[10] negate(s)
}

ENTRY main {
  large = f32[1000,1000] parameter(0)
  row = f32[1000] parameter(1)
  few = f32[10] parameter(2)
  zero = s32[] constant(0)
  start = (s32[], f32[1000]) tuple(zero, row)
  known = (s32[], f32[1000]) while(start), condition=known_condition, body=known_body
  hung = f32[10] while(few), condition=unknown_condition, body=unknown_body
  of_large = f32[1000,1000] add(large, large)
  of_row = f32[1000] add(row, row)
  ROOT t = ((s32[], f32[1000]), f32[10], f32[1000,1000], f32[1000]) tuple(known, hung, of_large, of_row)
}
)";

// 500 trips over one row of 1000 elements take half as long as of_large, which has 1000 rows.
TEST(Shares, LoopsCountByTheirTripsOrFullyIfUnknown) {
  const auto module = Parse(std::make_shared<SourceText>("shares.hlo", std::string(kModule)));
  ASSERT_TRUE(module) << module.error().message();
  std::map<std::string, double> by_name;
  double sum = 0;
  std::map<std::string, double> once;
  for (const auto& [inst, step] : SharesOfRun(**module, *FindDevice("host"))) {
    by_name[std::string(inst->name())] = step.share;
    once[std::string(inst->name())] = step.seconds;
    if (step.share < 1) sum += step.share;
  }
  EXPECT_NEAR(once.at("in_known") / once.at("of_row"), 1, 1e-6);
  EXPECT_GT(once.at("of_large"), 0);
  EXPECT_NEAR(by_name.at("in_known") / by_name.at("of_row"), 500, 1e-6);
  EXPECT_NEAR(by_name.at("of_large") / by_name.at("in_known"), 2, 1e-6);
  EXPECT_EQ(by_name.at("in_unknown"), 1);
  EXPECT_LT(sum, 1);
}

}  // namespace
}  // namespace hlo::gpu
