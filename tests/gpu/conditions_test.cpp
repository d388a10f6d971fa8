// Tests of the kernels that set the conditions of a CUDA graph. The emulator records the values they set, and ptxas
// assembles their PTX.
#include "gpu/runtime/conditions.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/emitters/emitter.h"
#include "gpu/kernel/builder.h"
#include "gpu/kernel/tail.h"

namespace hlo::gpu {
namespace {

using Trips = std::array<int64_t, kTripFields>;

// The values that a kernel sets, by the handle of their condition. The sanitizer watches the run.
std::map<uint64_t, uint32_t> SetBy(const kernel::Kernel& kernel, std::vector<void*> arguments) {
  std::map<uint64_t, uint32_t> set;
  auto code = kernel::EmulatedCode::Make(kernel, {.sanitize = true});
  EXPECT_TRUE(code) << code.error().message();
  const kernel::SanitizerReport report = code->Run(arguments, [&](uint64_t handle, uint32_t value) {
    EXPECT_TRUE(set.emplace(handle, value).second) << "set twice";
  });
  EXPECT_TRUE(report.clean()) << report.ToString();
  return set;
}

void* Handle(uint64_t number) { return reinterpret_cast<void*>(number); }

// The driver chooses the handles, which may be odd.
constexpr uint64_t kHandle = 0x123456789abcdef1;

uint32_t Asked(bool first, bool predicate, Trips& trips) {
  uint8_t again = predicate;
  const auto set = SetBy(LoopConditionKernel(first), {Handle(kHandle), &again, trips.data()});
  EXPECT_EQ(set.size(), 1u);
  EXPECT_TRUE(set.contains(kHandle));
  return set.begin()->second;
}

TEST(Conditions, ALoopContinuesWhileItsPredicateIsTrue) {
  Trips trips = {};
  trips[kMostTrips] = std::numeric_limits<int64_t>::max();
  trips[kTripsMade] = 77;  // The previous run left this count.
  EXPECT_EQ(Asked(true, true, trips), 1u);
  EXPECT_EQ(trips[kTripsMade], 1);
  EXPECT_EQ(Asked(false, true, trips), 1u);
  EXPECT_EQ(Asked(false, false, trips), 0u);
  EXPECT_EQ(trips[kTripsMade], 2);
  EXPECT_EQ(Asked(true, false, trips), 0u);
  EXPECT_EQ(trips[kTripsMade], 0);
  EXPECT_EQ(trips[kEndless], 0);
}

TEST(Conditions, ALoopEndsAtItsLargestNumberOfTrips) {
  Trips trips = {};
  trips[kMostTrips] = 2;
  EXPECT_EQ(Asked(true, true, trips), 1u);
  EXPECT_EQ(Asked(false, true, trips), 1u);
  EXPECT_EQ(trips[kEndless], 0);
  Trips ends = trips;
  EXPECT_EQ(Asked(false, false, ends), 0u);
  EXPECT_EQ(ends[kEndless], 0);  // Exactly the largest number of trips is allowed.
  EXPECT_EQ(Asked(false, true, trips), 0u);
  EXPECT_EQ(trips[kEndless], 1);
  EXPECT_EQ(Asked(true, false, trips), 0u);
  EXPECT_EQ(trips[kEndless], 1);  // The flag stays set until the host has read it.
}

TEST(Conditions, ASelectorChoosesTheBranchOfItsNumber) {
  for (const int32_t index : {-3, 0, 1, 2, 3, 7}) {
    int32_t selector = index;
    const uint32_t taken = index < 0 || index >= 3 ? 2 : static_cast<uint32_t>(index);
    const auto one = SetBy(BranchConditionKernel(false, 3, {}), {Handle(8), &selector});
    EXPECT_EQ(one, (std::map<uint64_t, uint32_t>{{8, taken}})) << index;
    const std::array asked = {0, 2};  // Branch 1 is empty and has no condition.
    const auto each = SetBy(BranchConditionKernel(false, 3, asked), {Handle(8), Handle(16), &selector});
    EXPECT_EQ(each, (std::map<uint64_t, uint32_t>{{8, taken == 0}, {16, taken == 2}})) << index;
  }
  for (const uint8_t value : {0, 1}) {
    uint8_t selector = value;
    const auto set = SetBy(BranchConditionKernel(true, 2, {}), {Handle(8), &selector});
    EXPECT_EQ(set, (std::map<uint64_t, uint32_t>{{8, value == 1 ? 0 : 1}}));
  }
}

// The block that ends last computes the condition, from values that other blocks may have written.
TEST(Conditions, TheLastKernelOfATripSetsTheCondition) {
  constexpr int kThreads = 64;
  for (const int64_t blocks : {1, 5}) {
    kernel::KernelBuilder k("copy", blocks, kThreads);
    const int64_t elements = blocks * kThreads;
    const kernel::Array from = k.Input("from", kernel::Type::kPred, elements);
    const kernel::Array to = k.Output("to", kernel::Type::kPred, elements);
    k.Phase([&] {
      const kernel::Value i = k.block() * kThreads + k.thread();
      to.Store(i, from.Load(i));
    });
    const kernel::Kernel copy = std::move(k).Build();
    const auto whole = kernel::AddTail(copy, LoopConditionKernel(false), {-1, 1, -1});
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->counts, blocks > 1);
    EXPECT_EQ(whole->kernel.Arguments().size(), whole->counts ? 5u : 4u);
    for (const bool again : {false, true, false}) {
      std::vector<uint8_t> in(elements, 1), out(elements, 7);
      in[0] = again;
      Trips trips = {};
      trips[kMostTrips] = 10;
      trips[kTripsMade] = 3;
      uint32_t arrived = 0;
      std::vector<void*> arguments = {in.data(), out.data(), Handle(kHandle), trips.data(), &arrived};
      arguments.resize(whole->kernel.Arguments().size());
      EXPECT_EQ(SetBy(whole->kernel, arguments), (std::map<uint64_t, uint32_t>{{kHandle, again}}));
      EXPECT_EQ(out, in);
      EXPECT_EQ(arrived, 0u);
      EXPECT_EQ(trips[kTripsMade], again ? 4 : 3);
    }
  }
}

// ptxas leaves the undefined function cudaGraphSetConditional to the driver and rejects any other.
TEST(Conditions, TheirPtxCallsTheDriversFunction) {
  for (const kernel::Kernel& kernel : {LoopConditionKernel(true), LoopConditionKernel(false),
                                       BranchConditionKernel(true, 2, {}), BranchConditionKernel(false, 5, {})}) {
    const auto ptx = kernel::EmitPtx(kernel);
    ASSERT_TRUE(ptx) << ptx.error().message();
    EXPECT_NE(ptx->text.find(".extern .func cudaGraphSetConditional"), std::string::npos) << ptx->text;
    if (kernel::FindPtxas().empty()) continue;
    const auto report = kernel::Ptxas(ptx->text);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->kernels.front().spill_store_bytes, 0);
  }
}

}  // namespace
}  // namespace hlo::gpu
