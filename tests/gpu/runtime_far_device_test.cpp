// Compares the run time on a device with memory of its own with the host, bit by bit.
#include <gtest/gtest.h>

#include "base/source_text.h"
#include "base/text.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "far_device.h"
#include "gpu/runtime/executable.h"
#include "interp/arguments/arguments.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

std::unique_ptr<Module> Read(const std::string& text) {
  auto module = Parse(std::make_shared<const SourceText>("test", text));
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  return module ? std::move(*module) : nullptr;
}

std::unique_ptr<Module> Optimized(std::unique_ptr<Module> module) {
  EXPECT_TRUE(Optimize(*module, {}, nullptr));
  return module;
}

// Options without libraries, because a library belongs to a device.
CompileOptions OwnKernels() {
  CompileOptions options;
  options.libraries = false;
  return options;
}

// Runs the module until the recording of the second run is replayed. Then runs it with an observer, with steps queued
// one by one, and with other arguments.
void ExpectAsOnTheHost(const Module& module, FarDevice& far) {
  const auto host = OpenHostDevice();
  const auto arguments = MakeArguments(module, {.seed = 7});
  ASSERT_TRUE(arguments);
  const auto at_home = Compile(module, *host, OwnKernels());
  ASSERT_TRUE(at_home) << at_home.error().message();
  const auto expected = (*at_home)->Run(*arguments);
  ASSERT_TRUE(expected);
  const int64_t before = far.allocated();
  {
    const auto executable = Compile(module, far, OwnKernels());
    ASSERT_TRUE(executable) << executable.error().message();
    ASSERT_TRUE((*executable)->Bind(*arguments));
    const auto expect_same = [&](const RunOptions& options, const std::string& which) {
      const Status done = (*executable)->Execute(options);
      ASSERT_TRUE(done) << which << ": " << done.error().message();
      const auto result = (*executable)->Output();
      ASSERT_TRUE(result);
      EXPECT_TRUE(result->BitEquals(*expected)) << module.name() << ", " << which;
    };
    for (int run = 0; run < 4; ++run) expect_same({}, Str("run ", run));
    const Observer observer{.observe = [](const Instruction&, std::span<const LoopStep>, std::span<const Literal>,
                                          const Literal&) -> Status { return {}; }};
    expect_same({.observer = &observer}, "watched");
    expect_same({.record = false}, "one by one");
    expect_same({}, "as one again");
    const auto others = MakeArguments(module, {.seed = 8});
    ASSERT_TRUE(others);
    const auto of_others = (*at_home)->Run(*others);
    const auto far_of_others = (*executable)->Run(*others);
    ASSERT_TRUE(of_others && far_of_others);
    EXPECT_TRUE(far_of_others->BitEquals(*of_others)) << module.name();
  }
  EXPECT_EQ(far.allocated(), before);
}

void ExpectAsOnTheHost(const std::string& text) {
  FarDevice far;
  ExpectAsOnTheHost(*Optimized(Read(text)), far);
}

TEST(RuntimeFarDevice, ADonatedArgumentIsInTheMemoryOfTheResult) {
  ExpectAsOnTheHost(R"(
HloModule in_place, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {}, may-alias) }
ENTRY e {
  cache = f32[64,32] parameter(0)
  state = f32[128] parameter(1)
  row = f32[1,32] parameter(2)
  at = s32[] parameter(3)
  zero = s32[] constant(0)
  updated = f32[64,32] dynamic-update-slice(cache, row, at, zero)
  next = f32[128] add(state, state)
  ROOT r = (f32[64,32], f32[128]) tuple(updated, next)
})");
}

TEST(RuntimeFarDevice, ADonatedArgumentIsReusedForATemporary) {
  ExpectAsOnTheHost(R"(
HloModule donor, buffer_donor={ (0, {}) }
ENTRY e {
  p = f32[256] parameter(0)
  order = s32[256] parameter(1)
  e = f32[256] exponential(p)
  s = f32[256] sort(e), dimensions={0}, to_apply={
    a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT less = pred[] compare(a, b), direction=LT
  }
  ROOT r = f32[256] add(s, e)
})");
}

// The loop has several kernels per trip, and the host reads its condition.
TEST(RuntimeFarDevice, LoopsReplayRecordedSteps) {
  const std::string text = R"(
HloModule loop
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
body {
  state = (f32[512,64], f32[]) parameter(0)
  x = f32[512,64] get-tuple-element(state), index=0
  half = f32[] constant(0.5)
  halves = f32[512,64] broadcast(half), dimensions={}
  halved = f32[512,64] multiply(x, halves)
  next = f32[512,64] sort(halved), dimensions={1}, to_apply=less
  zero = f32[] constant(0)
  squares = f32[512,64] multiply(next, next)
  norm = f32[] reduce(squares, zero), dimensions={0,1}, to_apply=sum
  ROOT r = (f32[512,64], f32[]) tuple(next, norm)
}
condition {
  state = (f32[512,64], f32[]) parameter(0)
  norm = f32[] get-tuple-element(state), index=1
  small = f32[] constant(1)
  ROOT r = pred[] compare(norm, small), direction=GT
}
ENTRY e {
  p = f32[512,64] parameter(0)
  large = f32[] constant(100000)
  begin = (f32[512,64], f32[]) tuple(p, large)
  ROOT r = (f32[512,64], f32[]) while(begin), condition=condition, body=body
})";
  FarDevice far;
  ExpectAsOnTheHost(*Optimized(Read(text)), far);
  EXPECT_GT(far.replays, 0);
}

// All trips are recorded together with the steps around the loop. A wrong count in the text is not used.
TEST(RuntimeFarDevice, LoopsWithKnownTripsAreRecordedWhole) {
  const auto text = [](std::string_view said) {
    return Str(R"(
HloModule loop
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
body {
  state = (s32[], f32[700,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[700,64] get-tuple-element(state), index=1
  c = f32[] convert(next)
  cc = f32[700,64] broadcast(c), dimensions={}
  y = f32[700,64] multiply(x, cc)
  s = f32[700,64] sort(y), dimensions={0}, to_apply=less
  ROOT r = (s32[], f32[700,64]) tuple(next, s)
}
condition {
  state = (s32[], f32[700,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  five = s32[] constant(5)
  ROOT r = pred[] compare(i, five), direction=LT
}
ENTRY e {
  p = f32[700,64] parameter(0)
  e = f32[700,64] exponential(p)
  t = f32[700,64] sort(e), dimensions={1}, to_apply=less
  zero = s32[] constant(0)
  begin = (s32[], f32[700,64]) tuple(zero, t)
  loop = (s32[], f32[700,64]) while(begin), condition=condition, body=body)",
               said, R"(
  x = f32[700,64] get-tuple-element(loop), index=1
  ROOT r = f32[700,64] sort(x), dimensions={1}, to_apply=less
})");
  };
  const auto replays = [&](const std::string& module) {
    FarDevice far;
    const auto read = Read(module);
    ExpectAsOnTheHost(*read, far);
    return far.replays;
  };
  // Run 0 reads the condition and replays the steps of each trip from the second one on. Run 1 knows the number of
  // trips, but a sequence of steps is recorded in its second run, so each trip is replayed. Run 2 records all trips
  // with the steps around them, which runs 2, 3 and "as one again" replay. With other arguments the condition is read
  // again: one replay per trip, and one for the steps before the loop.
  EXPECT_EQ(replays(text("")), 4 + 5 + 3 + (5 + 1));
  // The steps before the loop, of each trip, and after the loop are recorded separately.
  EXPECT_GT(replays(text(", backend_config={\"known_trip_count\":{\"n\":\"3\"}}")), 5 * 5);
}

// A loop with as many trips as argument 0 says.
std::unique_ptr<Module> CountingLoop(std::string_view said) {
  return Read(Str(R"(
HloModule loop
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
body {
  state = (s32[], s32[], f32[700,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[700,64] get-tuple-element(state), index=2
  c = f32[] convert(next)
  cc = f32[700,64] broadcast(c), dimensions={}
  y = f32[700,64] add(x, cc)
  s = f32[700,64] sort(y), dimensions={0}, to_apply=less
  ROOT r = (s32[], s32[], f32[700,64]) tuple(next, n, s)
}
condition {
  state = (s32[], s32[], f32[700,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] get-tuple-element(state), index=1
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY e {
  n = s32[] parameter(0)
  p = f32[700,64] parameter(1)
  zero = s32[] constant(0)
  begin = (s32[], s32[], f32[700,64]) tuple(zero, n, p)
  loop = (s32[], s32[], f32[700,64]) while(begin), condition=condition, body=body)",
                  said, R"(
  ROOT r = f32[700,64] get-tuple-element(loop), index=2
})"));
}

constexpr std::string_view kThreeTrips = R"(, backend_config={"known_trip_count":{"n":"3"}})";

void ExpectAsManyTripsAsAreAskedFor(const Module& given, FarDevice& far) {
  const Module* const module = &given;
  const auto host = OpenHostDevice();
  const auto at_home = Compile(*module, *host, OwnKernels()), executable = Compile(*module, far, OwnKernels());
  ASSERT_TRUE(at_home && executable);
  auto arguments = MakeArguments(*module, {.seed = 7});
  ASSERT_TRUE(arguments);
  for (const int64_t trips : {3, 5, 3}) {
    (*arguments)[0] = Literal::Scalar(PrimitiveType::kS32, trips);
    const auto expected = (*at_home)->Run(*arguments);
    ASSERT_TRUE(expected && (*executable)->Bind(*arguments));
    for (int run = 0; run < 4; ++run) {
      ASSERT_TRUE((*executable)->Execute());
      EXPECT_TRUE((*executable)->Output()->BitEquals(*expected)) << trips << " trips, run " << run;
    }
  }
}

// The count in the text is correct only for the first arguments.
TEST(RuntimeFarDevice, KnownTripsAreReadAgainWithOtherArguments) {
  FarDevice far;
  ExpectAsManyTripsAsAreAskedFor(*CountingLoop(kThreeTrips), far);
  EXPECT_EQ(far.trips, 0);
}

// Run 0 reads the condition. Run 1 is recorded, with every trip if their number agrees with the text. With five trips
// the recording is invalid: the condition is read again, and from then on the device evaluates it, even with three
// trips again.
TEST(RuntimeFarDevice, TheDeviceLoopsIfTripsAreUnknown) {
  FarDevice far, knows_nothing;
  far.decides = knows_nothing.decides = Decisions::kWithSwitch;
  ExpectAsManyTripsAsAreAskedFor(*CountingLoop(kThreeTrips), far);
  EXPECT_EQ(far.trips, 3 * 5 + 4 * 3);
  ExpectAsManyTripsAsAreAskedFor(*CountingLoop(""), knows_nothing);
  EXPECT_EQ(knows_nothing.trips, 3 * 3 + 4 * 5 + 4 * 3);
}

TEST(RuntimeFarDevice, AnEndlessLoopOfTheDeviceIsDetected) {
  const auto module = CountingLoop("");
  FarDevice far;
  far.decides = Decisions::kOneByOne;
  CompileOptions options = OwnKernels();
  options.max_loop_iterations = 4;
  const auto executable = Compile(*module, far, options);
  ASSERT_TRUE(executable);
  auto arguments = MakeArguments(*module, {.seed = 7});
  ASSERT_TRUE(arguments);
  for (const int64_t trips : {4, 5, 4, 1000}) {
    (*arguments)[0] = Literal::Scalar(PrimitiveType::kS32, trips);
    ASSERT_TRUE((*executable)->Bind(*arguments));
    for (int run = 0; run < 3; ++run) {
      const Status done = (*executable)->Execute();
      ASSERT_EQ(done.has_value(), trips <= 4) << trips << " trips, run " << run;
      if (done) continue;
      EXPECT_EQ(done.error().exit, ExitCode::kLimit);
      EXPECT_EQ(done.error().message(), "while 'loop' exceeded 4 iterations (--max_loop_iterations)");
    }
  }
  EXPECT_EQ(far.trips, 2 * 4 + 3 * 4 + 3 * 4 + 3 * 4);
}

// If the device fails to record loops, the host evaluates conditions, and the steps between them are recorded.
TEST(RuntimeFarDevice, TheDeviceMayFailToRecordLoops) {
  for (const char* const name : {"loop", "control"}) {
    auto module = LoadModule(Str("testdata/doubles/", name, ".hlo"), {});
    ASSERT_TRUE(module);
    FarDevice far;
    far.decides = Decisions::kWithSwitch;
    far.fails_to_decide = true;
    ExpectAsOnTheHost(*Optimized(std::move(*module)), far);
    EXPECT_EQ(far.trips, 0);
    EXPECT_GT(far.replays, 5);
  }
}

// Known trips are recorded one after the other up to 2,000 steps. Beyond this limit, the device loops.
TEST(RuntimeFarDevice, TheDeviceLoopsIfKnownTripsAreMany) {
  for (const int64_t trips : {600, 1100}) {
    const auto module = Read(Str(R"(
HloModule loop
body {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(state), index=1
  y = f32[8] sine(x)
  ROOT r = (s32[], f32[8]) tuple(next, y)
}
condition {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant()",
                                 trips, R"()
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = f32[8] parameter(0)
  zero = s32[] constant(0)
  begin = (s32[], f32[8]) tuple(zero, p)
  ROOT loop = (s32[], f32[8]) while(begin), condition=condition, body=body
})"));
    FarDevice far;
    far.decides = Decisions::kWithSwitch;
    ExpectAsOnTheHost(*module, far);
    EXPECT_EQ(far.trips > 0, trips == 1100);
  }
}

TEST(RuntimeFarDevice, TheDeviceEvaluatesConditions) {
  for (const Decisions decides : {Decisions::kOneByOne, Decisions::kWithSwitch}) {
    for (const char* const name : {"loop", "control"}) {
      auto module = LoadModule(Str("testdata/doubles/", name, ".hlo"), {});
      ASSERT_TRUE(module);
      FarDevice far;
      far.decides = decides;
      ExpectAsOnTheHost(*Optimized(std::move(*module)), far);
      EXPECT_GT(far.trips, 0);
    }
  }
}

TEST(RuntimeFarDevice, AStepThatCannotBeRecordedRunsAlone) {
  FarDevice far;
  far.fails_to_record = true;
  auto module = LoadModule("testdata/models/mlp_train_f32.hlo", {});
  ASSERT_TRUE(module);
  ExpectAsOnTheHost(*Optimized(std::move(*module)), far);
  EXPECT_EQ(far.replays, 0);
}

class RuntimeFarDeviceModels : public testing::TestWithParam<const char*> {};

TEST_P(RuntimeFarDeviceModels, RunAsOnTheHost) {
  auto module = LoadModule(Str("testdata/models/", GetParam(), ".hlo"), {});
  ASSERT_TRUE(module);
  FarDevice far;
  far.decides = Decisions::kWithSwitch;
  ExpectAsOnTheHost(*Optimized(std::move(*module)), far);
  EXPECT_GT(far.replays, 0);
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeFarDeviceModels,
                         testing::Values("gpt2_train", "lstm_infer", "mlp_train_bf16", "poisson_jacobi", "vae_sample"));

}  // namespace
}  // namespace hlo::gpu
