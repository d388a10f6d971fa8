// Tests that isolation has one part for each step, and that it finds a wrong part among correct ones.
#include <gtest/gtest.h>

#include <string_view>

#include "base/text.h"
#include "driver/run/experiment.h"
#include "driver/run/isolate.h"

namespace hlo {
namespace {

RunOptions OnHost() {
  RunOptions options;
  options.platform = "cpu";
  return options;
}

TEST(Isolate, HasEachStepOnceAndFindsTheWrongOne) {
  const std::string path = "testdata/models/mlp_train_f32.hlo";
  Progress progress(true);
  Experiment whole(path, OnHost(), progress);
  const auto steps = (*whole.Compiled())->executable->steps();
  for (const IsolateInputs inputs : {IsolateInputs::kGolden, IsolateInputs::kActual, IsolateInputs::kRandom}) {
    const auto found = Isolate(path, OnHost(), {.inputs = inputs}, progress);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->parts.size(), steps.size());
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(found->parts[i].name, steps[i].instruction->name());
    EXPECT_EQ(found->verdict(), Verdict::kMatch) << IsolationText(*found);
  }
  // Dropping one term of a sum changes the result, unlike most terms of a maximum.
  const std::string_view sum = "input_reduce_fusion.1";
  RunOptions options = OnHost();
  options.inject = Str("kernel:", sum, ":dropped_term");
  const auto found = Isolate(path, options, {}, progress);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->planted_parts, 1);
  for (const IsolatedPart& part : found->parts)
    EXPECT_EQ(part.state == IsolatedState::kWrong, part.name == sum) << part.name;
}

}  // namespace
}  // namespace hlo
