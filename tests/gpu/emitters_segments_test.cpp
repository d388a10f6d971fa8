// Tests of kernels side by side: the kernels of a region of segments share the blocks of one launch.
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/run/step_alone.h"
#include "emitters_harness.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "passes/pipeline.h"

namespace hlo::gpu {
namespace {

std::unique_ptr<Module> Planned(const std::string& text, std::string_view device) {
  auto module = Parsed(text);
  const auto passes = RunPipeline(*module, {.passes = "fusion,multi_output_fusion,dce,segment-fusion"});
  EXPECT_TRUE(passes) << passes.error().message();
  TakeUnplannedRegionsApart(*module, *FindDevice(device));
  return module;
}

std::vector<const Instruction*> RegionsOf(const Module& module) {
  std::vector<const Instruction*> regions;
  for (const Instruction* inst : module.entry().Instructions()) {
    if (IsRegion(*inst)) regions.push_back(inst);
  }
  return regions;
}

// Expects that the whole module is one launch with the interpreter's results.
void CheckOneLaunch(const std::string& text, Inputs inputs = Inputs::kIntegers, double ulps = 0) {
  const auto module = Planned(text, "h200");
  const auto regions = RegionsOf(*module);
  ASSERT_EQ(regions.size(), 1);
  for (const Instruction* inst : module->entry().Instructions()) {
    if (IsKernel(*inst)) ADD_FAILURE() << inst->name() << " is a launch of its own";
  }
  const auto alone = ExtractStep(*regions[0]);
  const auto kernels = Emit(alone->entry().root());
  ASSERT_TRUE(kernels) << kernels.error().message();
  ASSERT_EQ(kernels->size(), 1);
  Check(*alone, inputs, ulps);
}

constexpr const char* kSum = "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } ";

const std::string kReductions = Str("HloModule m ", kSum, R"(ENTRY e {
    x = f32[40,300] parameter(0) y = f32[25,300] parameter(1) z = f32[77] parameter(2) none = f32[] constant(0)
    a = f32[40] reduce(x, none), dimensions={1}, to_apply=sum
    b = f32[25] reduce(y, none), dimensions={1}, to_apply=sum
    c = f32[77] add(z, z)
    ROOT t = (f32[40], f32[25], f32[77]) tuple(a, b, c) })");

// An optimizer's update of tensors of any size. All updates read the same rate.
std::string Updates(const std::vector<std::string>& shapes) {
  std::string entry = "ENTRY e { rate = f32[] parameter(0) ", results, types;
  int parameter = 1;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string& shape = shapes[i];
    entry += Str("p", i, " = ", shape, " parameter(", parameter, ") g", i, " = ", shape, " parameter(", parameter + 1,
                 ") r", i, " = ", shape, " broadcast(rate), dimensions={} m", i, " = ", shape, " multiply(g", i, ", r",
                 i, ") n", i, " = ", shape, " subtract(p", i, ", m", i, ") ");
    parameter += 2;
    results += Str(i > 0 ? ", " : "", "n", i);
    types += Str(i > 0 ? ", " : "", shape);
  }
  return Str("HloModule m ", entry, "ROOT t = (", types, ") tuple(", results, ") }");
}

TEST(EmittersSegments, UpdatesAreOneLaunch) {
  CheckOneLaunch(Updates({"f32[7]", "f32[1000]", "f32[3,5]"}));
  CheckOneLaunch(Updates({"f32[64,33]", "f32[1]", "f32[129]", "f32[4096]", "f32[2,2,2,2]", "f32[31]", "f32[5000]"}));
}

TEST(EmittersSegments, ReductionsAreOneLaunch) { CheckOneLaunch(kReductions); }

TEST(EmittersSegments, SegmentsMayHaveSeveralResults) {
  CheckOneLaunch(R"(HloModule m ENTRY e {
    x = bf16[50] parameter(0) y = s32[3,70] parameter(1)
    a = bf16[50] add(x, x) b = bf16[50] multiply(x, x)
    c = s32[3,70] negate(y) d = s32[3,70] multiply(y, c)
    ROOT t = (bf16[50], s32[3,70], bf16[50], s32[3,70]) tuple(b, d, a, c) })",
                 Inputs::kPlain, 1);
}

// A sort is a launch of its own, and its reader waits for it. The other kernels stay together.
TEST(EmittersSegments, ASortIsALaunchOfItsOwn) {
  const auto module = Planned(R"(HloModule m
    less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
    ENTRY e { x = f32[100] parameter(0) y = f32[33] parameter(1) z = f32[5,5] parameter(2)
    sorted = f32[100] sort(x), dimensions={0}, to_apply=less
    a = f32[33] negate(y) b = f32[5,5] add(z, z)
    ROOT t = (f32[100], f32[33], f32[5,5]) tuple(sorted, a, b) })",
                              "h200");
  const auto regions = RegionsOf(*module);
  ASSERT_EQ(regions.size(), 1);
  EXPECT_EQ(regions[0]->shape().ToString(), "(f32[33], f32[5,5])");
  Check(*ExtractStep(*regions[0]));
}

// The results of the region contain one array twice and lack another. Afterwards they contain each array once.
TEST(EmittersSegments, EachResultIsOutputOnce) {
  const auto module = Parsed(R"(HloModule m
    two { p = f32[9] parameter(0) a = f32[9] add(p, p) b = f32[9] negate(p) ROOT r = (f32[9], f32[9]) tuple(a, b) }
    one { q = f32[5] parameter(0) ROOT r = f32[5] multiply(q, q) }
    held { x = f32[9] parameter(0) y = f32[5] parameter(1)
      k = (f32[9], f32[9]) fusion(x), kind=kLoop, calls=two l = f32[5] fusion(y), kind=kLoop, calls=one
      a = f32[9] get-tuple-element(k), index=0 ROOT r = (f32[5], f32[9], f32[5]) tuple(l, a, l) }
    ENTRY e { x = f32[9] parameter(0) y = f32[5] parameter(1) ROOT region = (f32[5], f32[9], f32[5]) fusion(x, y),
      kind=kCustom, calls=held, backend_config={"region":"segments"} })");
  TakeUnplannedRegionsApart(*module, *FindDevice("h200"));
  const auto regions = RegionsOf(*module);
  ASSERT_EQ(regions.size(), 1);
  EXPECT_EQ(regions[0]->shape().ToString(), "(f32[9], f32[9], f32[5])");
  Check(*ExtractStep(*regions[0]));
}

TEST(EmittersSegments, KernelsRunOneByOneOnAHost) {
  EXPECT_TRUE(RegionsOf(*Planned(Updates({"f32[7]", "f32[1000]"}), "host")).empty());
}

TEST(EmittersSegments, SharesOnlyArraysThatOneKernelReads) {
  const auto shared = [](const std::string& text) {
    const auto module = Planned(text, "h200");
    const auto alone = ExtractStep(*RegionsOf(*module).at(0));
    std::set<int64_t> operands;
    const auto kernels = Emit(alone->entry().root());
    for (const SharablePair& pair : kernels->at(0).sharable) operands.insert(pair.operand);
    return operands.size();
  };
  EXPECT_EQ(shared("HloModule m ENTRY e { x = f32[8] parameter(0) y = f32[9] parameter(1)"
                   " a = f32[8] negate(x) b = f32[9] negate(y) ROOT t = (f32[8], f32[9]) tuple(a, b) }"),
            2);
  EXPECT_EQ(
      shared("HloModule m ENTRY e { x = f32[8] parameter(0) y = f32[9] parameter(1)"
             " a = f32[8] negate(x) u = f32[1] slice(x), slice={[7:8]} v = f32[9] concatenate(x, u), dimensions={0}"
             " b = f32[9] add(y, v) ROOT t = (f32[8], f32[9]) tuple(a, b) }"),
      1);
}

// The region's plan gives the number of threads. Kernels whose own plans differ are an error with a place in the text.
TEST(EmittersSegments, PlansMustAgree) {
  const auto module = Planned(kReductions, "h200");
  const auto alone = ExtractStep(*RegionsOf(*module).at(0));
  FusionPlan plan = *PlanFusion(alone->entry().root(), *FindDevice("h200"));
  plan.kernels[0].threads *= 2;
  const auto kernels = EmitFusion(alone->entry().root(), plan);
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().diagnostics.front().code, "C001");
}

}  // namespace
}  // namespace hlo::gpu
