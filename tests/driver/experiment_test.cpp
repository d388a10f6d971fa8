// Tests that an experiment computes each stage once, and that a changed option repeats only the stages that depend on
// it.
#include <gtest/gtest.h>

#include "base/source_text.h"
#include "driver/run/experiment.h"
#include "driver/run/oracles.h"
#include "ir/device_description.h"

namespace hlo {
namespace {

std::shared_ptr<const SourceText> Text() {
  return std::make_shared<const SourceText>("experiment.hlo", R"(HloModule experiment
ENTRY main {
  x = f32[2,3] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[2,3] broadcast(zero), dimensions={}
  a = f32[2,3] add(x, zeros)
  ROOT m = f32[2,3] multiply(a, a)
})");
}

RunOptions OnHost() {
  RunOptions options;
  options.platform = "cpu";
  return options;
}

TEST(Experiment, KeepsItsStages) {
  Progress progress(true);
  Experiment experiment(Text(), OnHost(), progress);
  const auto first = experiment.Results(), again = experiment.Results();
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ((*first)->outputs.shape().ByteSize(), 24);
}

TEST(Experiment, AnotherPipelineRunsOnTheSameModuleAndArguments) {
  Progress progress(true);
  Experiment experiment(Text(), OnHost(), progress);
  Experiment none = experiment.With([](RunOptions& options) { options.pipeline.passes = ""; });
  EXPECT_EQ(*experiment.Input(), *none.Input());
  EXPECT_EQ(*experiment.Arguments(), *none.Arguments());
  ASSERT_NE(*experiment.Optimized(), *none.Optimized());
  EXPECT_GT((*none.Optimized())->module->InstructionCount(), 0);
  EXPECT_TRUE((*none.Optimized())->passes.runs.empty());
  EXPECT_FALSE((*experiment.Optimized())->passes.runs.empty());
  EXPECT_TRUE((*experiment.Results())->outputs.BitEquals((*none.Results())->outputs));
}

// Both experiments share the compiled code, so each must copy its own arguments into place.
TEST(Experiment, OtherArgumentsRunThroughTheSameCode) {
  Progress progress(true);
  Experiment experiment(Text(), OnHost(), progress);
  const Literal outputs = (*experiment.Results())->outputs;
  Experiment ones = experiment.With([](RunOptions& options) { options.input_profile = "ones"; });
  EXPECT_EQ(*experiment.Compiled(), *ones.Compiled());
  ASSERT_TRUE((*ones.Results())->outputs.IsAll(1));
  EXPECT_TRUE((*experiment.Results())->outputs.BitEquals(outputs));
  ASSERT_TRUE(experiment.Placed() && (*experiment.Placed())->Execute());
  EXPECT_TRUE((*experiment.Placed())->Output()->BitEquals(outputs));
}

TEST(Experiment, AnotherLimitRecomputesNothing) {
  Progress progress(true);
  Experiment experiment(Text(), OnHost(), progress);
  ASSERT_TRUE(experiment.Results());
  Experiment strict = experiment.With([](RunOptions& options) { options.compare.strict_nan = true; });
  EXPECT_EQ(*experiment.Results(), *strict.Results());
  EXPECT_EQ(*experiment.Interpreted(), *strict.Interpreted());
}

TEST(Experiment, AnErrorIsNotKept) {
  Progress progress(true);
  RunOptions options = OnHost();
  options.input_profile = "of_nobody";
  Experiment experiment(Text(), options, progress);
  EXPECT_FALSE(experiment.Results());
  Experiment right = experiment.With([](RunOptions& o) { o.input_profile = "normal"; });
  EXPECT_TRUE(right.Results());
}

// The device that an experiment uses for a module with a plan for `target`, on a host of 7 cores.
DeviceDescription TimedOn(const std::string& target) {
  static const DeviceDescription host = HostDescription(7, 64);
  const std::string config = R"({"plan":{"target":")" + target + R"(","kernels":[{"kind":"loop","tile":[32]}]}})";
  const auto text = std::make_shared<const SourceText>("planned.hlo", R"(HloModule planned
minus { x = f32[9] parameter(0) ROOT r = f32[9] negate(x) }
ENTRY main {
  x = f32[9] parameter(0)
  ROOT f = f32[9] fusion(x), kind=kLoop, calls=minus, backend_config=)" + config +
                                                                          "}");
  Progress progress(true);
  RunOptions options = OnHost();
  options.pipeline.device = &host;
  options.obeys_plans = true;
  Experiment experiment(text, options, progress);
  EXPECT_TRUE(experiment.Input());
  return *experiment.options().pipeline.device;
}

// A plan for the host keeps the description of the actual host, which has more details than the table's row for `host`.
TEST(Experiment, APlanForAnotherDeviceDeterminesTheDevice) {
  EXPECT_EQ(TimedOn("host").multiprocessors, 7);
  EXPECT_EQ(TimedOn("h100").name, "h100");
  EXPECT_EQ(TimedOn("of_nobody").multiprocessors, 7);
}

TEST(Oracles, ModesNameExistingOracles) {
  for (const CompareMode& mode : AllCompareModes()) {
    for (const std::string_view name : mode.oracles) {
      EXPECT_TRUE(std::ranges::any_of(AllOracles(), [&](const Oracle& oracle) { return oracle.name == name; }))
          << mode.name << " has " << name;
    }
  }
}

}  // namespace
}  // namespace hlo
