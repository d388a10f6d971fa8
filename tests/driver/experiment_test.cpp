// Tests that an experiment computes each stage once, and that a changed option repeats only the stages that depend on
// it.
#include <gtest/gtest.h>

#include "base/source_text.h"
#include "base/text.h"
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
  Experiment ones = experiment.With([](RunOptions& options) { options.input_profile = InputProfile::kOnes; });
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

struct Anything {
  template <class T>
  operator T() const;
};

// Whether T has at least this number of bases and members.
template <class T, size_t... I>
constexpr bool HasParts(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything())...}; };
}

TEST(Experiment, EachOptionIsInAGroup) {
  static_assert(HasParts<RunOptions>(std::make_index_sequence<10>()));
  static_assert(!HasParts<RunOptions>(std::make_index_sequence<11>()));
  const auto source = ReadSource("src/driver/run/options.h");
  ASSERT_TRUE(source);
  for (const std::string_view line : Split((*source)->text(), '\n')) {
    EXPECT_EQ(line.contains("operator=="), line.ends_with("&) const = default;")) << line;
  }
}

TEST(Experiment, AnOptionRepeatsItsStageAndTheLaterOnes) {
  struct Change {
    const char* what;
    void (*make)(RunOptions&);
    bool keeps_input = true, keeps_passes = true, keeps_code = true, keeps_arguments = true, keeps_results = true;
  };
  constexpr bool kNo = false;
  const Change changes[] = {
      {"an input", [](RunOptions& o) { o.custom_call = {"f=zeros"}; }, kNo, kNo, kNo, kNo, kNo},
      {"the platform", [](RunOptions& o) { o.libraries = false; }, true, kNo, kNo, kNo, kNo},
      {"the passes", [](RunOptions& o) { o.obeys_plans = true; }, true, kNo, kNo, true, kNo},
      {"the interpreter", [](RunOptions& o) { ++o.max_loop_iterations; }, true, true, kNo, kNo, kNo},
      {"the code", [](RunOptions& o) { o.profile.detail = ProfileDetail::kFull; }, true, true, kNo, true, kNo},
      {"the arguments", [](RunOptions& o) { o.watch.detect_nan = Detection::kWarn; }, true, true, true, kNo, kNo},
      {"the run", [](RunOptions& o) { o.result_shardings = "m.hlo"; }, true, true, true, true, kNo},
      {"the judges", [](RunOptions& o) { o.poison_padding = true; }},
      {"the report", [](RunOptions& o) { o.print_literals = true; }},
  };
  Progress progress(true);
  Experiment experiment(Text(), OnHost(), progress);
  ASSERT_TRUE(experiment.Results());
  for (const Change& change : changes) {
    SCOPED_TRACE(change.what);
    Experiment other = experiment.With(change.make);
    EXPECT_EQ(*experiment.Input() == *other.Input(), change.keeps_input);
    EXPECT_EQ(*experiment.Optimized() == *other.Optimized(), change.keeps_passes);
    EXPECT_EQ(*experiment.Compiled() == *other.Compiled(), change.keeps_code);
    EXPECT_EQ(*experiment.Arguments() == *other.Arguments(), change.keeps_arguments);
    EXPECT_TRUE(!change.keeps_results || *experiment.Results() == *other.Results());
  }
}

TEST(Experiment, AnErrorIsNotKept) {
  Progress progress(true);
  RunOptions options = OnHost();
  options.arg_range = "of_nobody";
  Experiment experiment(Text(), options, progress);
  EXPECT_FALSE(experiment.Results());
  Experiment right = experiment.With([](RunOptions& o) { o.arg_range.clear(); });
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
  ASSERT_EQ(AllCompareModes().size(), std::size(EnumWords<CompareMode>::kWords));
  for (const CompareModeRow& mode : AllCompareModes()) {
    for (const std::string_view name : mode.oracles) {
      EXPECT_TRUE(std::ranges::any_of(AllOracles(), [&](const Oracle& oracle) { return oracle.name == name; }))
          << ToString(mode.mode) << " has " << name;
    }
  }
}

}  // namespace
}  // namespace hlo
