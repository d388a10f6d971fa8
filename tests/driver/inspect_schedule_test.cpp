// Tests of the simulated step of a program for several devices (driver/inspect/schedule.h).
#include "driver/inspect/schedule.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/inspect/cost.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

constexpr double kSlowdown = 1.08, kTiny = 1e-12;

// Eight devices. `sum` takes about 33 us and `product` about 330 us on an h100.
constexpr const char* kStart =
    R"(sum-start = f32[1024,1024] all-reduce-start(x), channel_id=1, replica_groups=[1,8]<=[8],
    use_global_device_ids=true, to_apply=add
)";
constexpr const char* kDone = "  sum = f32[1024,1024] all-reduce-done(sum-start)\n";
constexpr const char* kProduct =
    R"(  product = f32[2048,2048] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)";

// A scheduled module whose entry has parameters x and y, and the instructions of `body`.
std::unique_ptr<Module> ModuleOf(std::string_view body, std::string_view computations = "") {
  return ParseText(Str(R"(HloModule m, is_scheduled=true, num_partitions=8
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
)",
                       computations, R"(ENTRY main {
  x = f32[1024,1024] parameter(0)
  y = f32[2048,2048] parameter(1)
)",
                       body, "}\n"));
}

const DeviceDescription& H100() { return *FindDevice("h100"); }

ScheduleReport ReportOf(const Module& module, std::string_view topology = "dgx_h100x1") {
  auto found = FindTopology(topology);
  EXPECT_TRUE(found);
  auto report = ScheduleOf(module, H100(), *found);
  EXPECT_TRUE(report) << (report ? "" : report.error().message());
  return std::move(*report);
}

SimulatedStep StepOf(const Module& module) { return ReportOf(module).steps[0]; }

double KernelSeconds(const Module& module, std::string_view name) {
  const TimeModel times(module, H100());
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->name() == name) return times.TimeOf(*inst).total();
    }
  }
  ADD_FAILURE() << name;
  return 0;
}

std::string Root() { return "  ROOT both = (f32[1024,1024], f32[2048,2048]) tuple(sum, product)\n"; }

TEST(InspectSchedule, CollectivesDelayTheKernels) {
  const auto module =
      ModuleOf(Str("  sum = f32[1024,1024] all-reduce(x), channel_id=1, replica_groups=[1,8]<=[8], "
                   "use_global_device_ids=true, to_apply=add\n",
                   kProduct, Root()));
  const SimulatedStep step = StepOf(*module);
  ASSERT_EQ(step.exchanges.size(), 1u);
  EXPECT_NEAR(step.exchange, 13e-6 + 1.75 * 4194304 / 3.6e11, kTiny);
  EXPECT_NEAR(step.compute, KernelSeconds(*module, "product"), kTiny);
  EXPECT_NEAR(step.step, step.compute + step.exchange, kTiny);
  EXPECT_NEAR(step.exchanges[0].exposed, step.exchange, kTiny);
  EXPECT_NEAR(step.overlap(), 0, 1e-9);
  EXPECT_NEAR(step.ReceivedAt(0), 1.75 * 4194304, 1e-3);
}

TEST(InspectSchedule, AStartRunsBesideKernels) {
  const auto module = ModuleOf(Str("  ", kStart, kProduct, kDone, Root()));
  const SimulatedStep step = StepOf(*module);
  // The product takes longer than the exchange. While the exchange runs, the product is slower by kSlowdown.
  EXPECT_NEAR(step.step, KernelSeconds(*module, "product") + step.exchange * (1 - 1 / kSlowdown), kTiny);
  EXPECT_NEAR(step.exposed(), 0, kTiny);
  EXPECT_NEAR(step.overlap(), 1, 1e-6);
}

TEST(InspectSchedule, TheDoneWaitsForTheRest) {
  const auto module = ModuleOf(Str("  ", kStart, "  short = f32[1024,1024] negate(x)\n", kDone,
                                   "  ROOT both = (f32[1024,1024], f32[1024,1024]) tuple(sum, short)\n"));
  const SimulatedStep step = StepOf(*module);
  const double kernel = kSlowdown * KernelSeconds(*module, "short");
  EXPECT_NEAR(step.compute, kernel, kTiny);
  EXPECT_NEAR(step.step, step.exchange, kTiny);
  EXPECT_NEAR(step.exchanges[0].exposed, step.exchange - kernel, kTiny);
}

// The schedule has the done before the product, so nothing hides the exchange.
TEST(InspectSchedule, TheOrderIsThatOfTheSchedule) {
  const auto module = ModuleOf(Str("  ", kStart, kDone, kProduct, Root()));
  const SimulatedStep step = StepOf(*module);
  EXPECT_NEAR(step.exposed(), step.exchange, kTiny);
}

TEST(InspectSchedule, ExchangesQueue) {
  const auto module = ModuleOf(Str("  ", kStart, R"(
  second-start = (f32[1024,1024], f32[1024,1024]) collective-permute-start(x), channel_id=2, source_target_pairs={{0,1}}
  second = f32[1024,1024] collective-permute-done(second-start)
)",
                                   kDone, "  ROOT both = (f32[1024,1024], f32[1024,1024]) tuple(sum, second)\n"));
  const SimulatedStep step = StepOf(*module);
  ASSERT_EQ(step.exchanges.size(), 2u);
  EXPECT_EQ(step.exchanges[0].inst->name(), "second-start");
  EXPECT_NEAR(step.exchanges[0].exposed, step.step, kTiny);
  EXPECT_NEAR(step.step, step.exchange, kTiny);
}

constexpr const char* kLoop = R"(body {
  state = (s32[], f32[1024,1024], f32[2048,2048]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x.1 = f32[1024,1024] get-tuple-element(state), index=1
  y.1 = f32[2048,2048] get-tuple-element(state), index=2
  scattered = f32[128,1024] reduce-scatter(x.1), channel_id=3, replica_groups=[1,8]<=[8], use_global_device_ids=true,
    dimensions={0}, to_apply=add
  gathering = (f32[128,1024], f32[1024,1024]) all-gather-start(scattered), channel_id=4, replica_groups=[1,8]<=[8],
    use_global_device_ids=true, dimensions={0}
  product.1 = f32[2048,2048] dot(y.1, y.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  gathered = f32[1024,1024] all-gather-done(gathering)
  ROOT next = (s32[], f32[1024,1024], f32[2048,2048]) tuple(i, gathered, product.1)
}
condition {
  state.1 = (s32[], f32[1024,1024], f32[2048,2048]) parameter(0)
  ROOT go = pred[] constant(true)
}
)";

TEST(InspectSchedule, LoopsRepeatTheirTrips) {
  constexpr const char* kCall = R"(  zero = s32[] constant(0)
  init = (s32[], f32[1024,1024], f32[2048,2048]) tuple(zero, x, y)
  loop = (s32[], f32[1024,1024], f32[2048,2048]) while(init), condition=condition, body=body,
    backend_config={"known_trip_count":{"n":"5"}}
)";
  const auto plain = ModuleOf(Str(kCall, "  ROOT product = f32[2048,2048] get-tuple-element(loop), index=2\n"), kLoop);
  const SimulatedStep step = StepOf(*plain);
  ASSERT_EQ(step.exchanges.size(), 2u);
  const double scatter = step.exchanges[0].time.seconds, gather = step.exchanges[1].time.seconds;
  EXPECT_EQ(step.exchanges[0].inst->name(), "scattered");
  EXPECT_EQ(step.exchanges[0].runs, 5);
  EXPECT_NEAR(step.exchanges[0].exposed, 5 * scatter, kTiny);
  EXPECT_NEAR(step.exchanges[1].exposed, 0, kTiny);
  const double trip = scatter + KernelSeconds(*plain, "product.1") + gather * (1 - 1 / kSlowdown);
  EXPECT_NEAR(step.step, 5 * trip, kTiny);

  // An exchange that starts before the loop delays only its first trip.
  const auto delayed = ModuleOf(
      Str("  ", kStart, kCall, "  product = f32[2048,2048] get-tuple-element(loop), index=2\n", kDone, Root()), kLoop);
  const SimulatedStep late = StepOf(*delayed);
  const double sum = late.exchange - step.exchange;
  EXPECT_NEAR(late.step, step.step + sum, kTiny);
}

TEST(InspectSchedule, AConditionalTakesItsLongestBranch) {
  constexpr const char* kBranches = R"(little {
  x.2 = f32[1024,1024] parameter(0)
  ROOT copied = f32[1024,1024] copy(x.2)
}
much {
  x.3 = f32[1024,1024] parameter(0)
  ROOT summed = f32[1024,1024] all-reduce(x.3), channel_id=5, replica_groups=[1,8]<=[8], use_global_device_ids=true,
    to_apply=add
}
)";
  const auto module = ModuleOf(R"(  which = pred[] constant(true)
  ROOT chosen = f32[1024,1024] conditional(which, x, x), true_computation=much, false_computation=little
)",
                               kBranches);
  const SimulatedStep step = StepOf(*module);
  EXPECT_NEAR(step.step, step.exchange, kTiny);
  EXPECT_EQ(step.exchanges[0].runs, 1);
}

TEST(InspectSchedule, AsyncComputationsAreExchanges) {
  const auto module =
      ModuleOf(Str(R"(  scattering = ((f32[1024,1024]), f32[128,1024], s32[]) async-start(x), calls=scatter
)",
                   kProduct, R"(  scattered = f32[128,1024] async-done(scattering)
  ROOT both = (f32[128,1024], f32[2048,2048]) tuple(scattered, product)
)"),
               R"(scatter {
  x.4 = f32[1024,1024] parameter(0)
  ROOT inner = f32[128,1024] reduce-scatter(x.4), channel_id=6, replica_groups=[1,8]<=[8], use_global_device_ids=true,
    dimensions={0}, to_apply=add
}
)");
  const SimulatedStep step = StepOf(*module);
  EXPECT_EQ(step.exchanges[0].runs, 1);
  EXPECT_NEAR(step.exposed(), 0, kTiny);
  EXPECT_NEAR(step.step, KernelSeconds(*module, "product") + step.exchange * (1 - 1 / kSlowdown), kTiny);
}

TEST(InspectSchedule, MoreDevices) {
  const auto module = ModuleOf(Str("  ", kStart, kDone, kProduct, Root()));
  const auto devices = [&](std::string_view topology) {
    std::vector<int64_t> counts;
    const ScheduleReport report = ReportOf(*module, topology);
    double last = 0;
    for (const SimulatedStep& step : report.steps) {
      counts.push_back(step.devices());
      EXPECT_GT(step.exchange, last);
      EXPECT_NEAR(step.compute, report.steps[0].compute, kTiny);
      last = step.exchange;
    }
    return Join(counts, " ");
  };
  EXPECT_EQ(devices("dgx_h100x1"), "8");
  EXPECT_EQ(devices("dgx_h100x3"), "8 24");
  EXPECT_EQ(devices("dgx_h100x16"), "8 32 128");
  EXPECT_EQ(devices("dgx_h100"), "8 32 128 512 2048 8192 32768 65536");
}

}  // namespace
}  // namespace hlo
