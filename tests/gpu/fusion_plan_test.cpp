// Tests that plans print and parse back, that a plan in the text is obeyed, and that an unsuitable plan is an error.
#include <gtest/gtest.h>

#include <set>

#include "base/source_text.h"
#include "driver/target.h"
#include "emitters_harness.h"
#include "gpu/codegen/host.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion.h"
#include "ir/text/printer.h"
#include "parser/parser.h"
#include "passes/fusion/walk.h"

namespace hlo::gpu {
namespace {

constexpr const char* kAdd = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } ";

FusionPlan PlanOfRoot(const Module& module, const DeviceDescription& device = DefaultDevice()) {
  auto plan = PlanKernels(module.entry().root(), device);
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? std::move(*plan) : FusionPlan{};
}

// A fusion whose last kernel is planned as `kind`. The cases have at least one fusion of each kind.
struct Case {
  const char* kind;
  std::string text;
  const char* device = "h200";
};
std::vector<Case> Cases() {
  const std::string add = kAdd, less =
                                    "less { a = f32[] parameter(0) b = f32[] parameter(1)"
                                    " ROOT r = pred[] compare(a, b), direction=LT } ";
  return {
      {"block",
       "one_more { i = s32[] parameter(0) one = s32[] constant(1) ROOT r = s32[] add(i, one) }"
       " twice { x = f32[70] parameter(0) ROOT r = f32[70] add(x, x) }"
       " few { i = s32[] parameter(0) n = s32[] constant(9) ROOT r = pred[] compare(i, n), direction=LT }"
       " body { s = (s32[], f32[70]) parameter(0) i = s32[] get-tuple-element(s), index=0"
       " x = f32[70] get-tuple-element(s), index=1 j = s32[] fusion(i), kind=kLoop, calls=one_more"
       " y = f32[70] fusion(x), kind=kLoop, calls=twice ROOT r = (s32[], f32[70]) tuple(j, y) }"
       " again { s = (s32[], f32[70]) parameter(0) i = s32[] get-tuple-element(s), index=0"
       " ROOT r = pred[] fusion(i), kind=kLoop, calls=few }"
       " region { i = s32[] parameter(0) x = f32[70] parameter(1) s = (s32[], f32[70]) tuple(i, x)"
       " loop = (s32[], f32[70]) while(s), condition=again, body=body"
       " ROOT y = f32[70] get-tuple-element(loop), index=1 }"
       " ENTRY e { i = s32[] parameter(0) x = f32[70] parameter(1) ROOT r = f32[70] fusion(i, x), kind=kCustom,"
       " calls=region, backend_config={\"region\":\"block\"} }"},
      {"segments",
       "twice { x = f32[70] parameter(0) ROOT r = f32[70] add(x, x) }"
       " as_often { y = f32[3,9] parameter(0) ROOT r = f32[3,9] add(y, y) }"
       " region { x = f32[70] parameter(0) y = f32[3,9] parameter(1) a = f32[70] fusion(x), kind=kLoop, calls=twice"
       " b = f32[3,9] fusion(y), kind=kLoop, calls=as_often ROOT r = (f32[70], f32[3,9]) tuple(a, b) }"
       " ENTRY e { x = f32[70] parameter(0) y = f32[3,9] parameter(1)"
       " ROOT r = (f32[70], f32[3,9]) fusion(x, y), kind=kCustom, calls=region,"
       " backend_config={\"region\":\"segments\"} }"},
      {"loop", "ENTRY e { x = f32[40,70] parameter(0) ROOT r = f32[40,70] negate(x) }"},
      {"loop",
       "ENTRY e { x = f32[40,70] parameter(0) y = f32[9] parameter(1) a = f32[40,70] negate(x)"
       " b = f32[9] abs(y) ROOT r = (f32[40,70], f32[9]) tuple(a, b) }"},
      {"loop",
       "ENTRY e { x = f32[40,70] parameter(0) u = f32[3,70] parameter(1) i = s32[] parameter(2)"
       " z = s32[] constant(0) ROOT r = f32[40,70] dynamic-update-slice(x, u, i, z) }"},
      {"transpose", "ENTRY e { x = f32[40,70] parameter(0) ROOT r = f32[70,40] transpose(x), dimensions={1,0} }"},
      {"attention",
       add + "ENTRY e { q = f32[3,40,16] parameter(0) k = f32[3,50,16] parameter(1) v = f32[3,50,24] parameter(2)"
             " s = f32[3,40,50] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0},"
             " lhs_contracting_dims={2}, rhs_contracting_dims={2} z = f32[] constant(0)"
             " t = f32[3,40] reduce(s, z), dimensions={2}, to_apply=add"
             " b = f32[3,40,50] broadcast(t), dimensions={0,1} d = f32[3,40,50] divide(s, b)"
             " ROOT r = f32[3,40,24] dot(d, v), lhs_batch_dims={0}, rhs_batch_dims={0},"
             " lhs_contracting_dims={2}, rhs_contracting_dims={1} }"},
      {"rows", add + "ENTRY e { x = f32[40,700] parameter(0) z = f32[] constant(0) e = f32[40,700] exponential(x)"
                     " s = f32[40] reduce(e, z), dimensions={1}, to_apply=add"
                     " b = f32[40,700] broadcast(s), dimensions={0} ROOT r = f32[40,700] divide(e, b) }"},
      {"row_reduction", add + "ENTRY e { x = f32[40,700] parameter(0) z = f32[] constant(0)"
                              " ROOT r = f32[40] reduce(x, z), dimensions={1}, to_apply=add }"},
      {"row_reduction", add + "ENTRY e { x = f32[3,70000] parameter(0) z = f32[] constant(0)"
                              " ROOT r = f32[3] reduce(x, z), dimensions={1}, to_apply=add }"},
      {"column_reduction", add + "ENTRY e { x = f32[4000,36] parameter(0) z = f32[] constant(0)"
                                 " ROOT r = f32[36] reduce(x, z), dimensions={0}, to_apply=add }"},
      {"column_reduction", add + "ENTRY e { x = f32[400,1030] parameter(0) z = f32[] constant(0)"
                                 " ROOT r = f32[1030] reduce(x, z), dimensions={0}, to_apply=add }"},
      {"scan", add + "ENTRY e { x = f32[70,700] parameter(0) z = f32[] constant(0) ROOT r = f32[70,700]"
                     " reduce-window(x, z), window={size=1x700 pad=0_0x699_0}, to_apply=add }"},
      {"scan", add + "ENTRY e { x = f32[3,70000] parameter(0) z = f32[] constant(0) ROOT r = f32[3,70000]"
                     " reduce-window(x, z), window={size=1x70000 pad=0_0x0_69999}, to_apply=add }"},
      {"scan", add + "ENTRY e { x = f32[400,1030] parameter(0) z = f32[] constant(0) ROOT r = f32[400,1030]"
                     " reduce-window(x, z), window={size=400x1 pad=399_0x0_0}, to_apply=add }"},
      {"contraction",
       "ENTRY e { x = f32[40,70] parameter(0) y = f32[70,33] parameter(1)"
       " ROOT r = f32[40,33] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"},
      {"contraction",
       "ENTRY e { x = bf16[2,70] parameter(0) y = s8[70,330] parameter(1) w = bf16[70,330] convert(y)"
       " ROOT r = f32[2,330] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
       "host"},
      {"contraction",
       "ENTRY e { x = f32[40,70] parameter(0) y = f32[70,33] parameter(1)"
       " ROOT r = f32[40,33] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
       "host"},
      {"scatter", add + "ENTRY e { x = f32[40,7] parameter(0) i = s32[5,1] parameter(1) u = f32[5,7] parameter(2)"
                        " ROOT r = f32[40,7] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
                        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }"},
      {"scatter", add + "ENTRY e { x = f32[40,7] parameter(0) i = s32[5,1] parameter(1) u = f32[5,7] parameter(2)"
                        " y = f32[40,7] negate(x) ROOT r = f32[40,7] scatter(y, i, u), update_window_dims={1},"
                        " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,"
                        " to_apply=add }"},
      {"sort", less + "ENTRY e { x = f32[40,70] parameter(0) ROOT r = f32[40,70] sort(x), dimensions={1},"
                      " to_apply=less }"},
      {"sort", less + "ENTRY e { x = f32[9000] parameter(0) ROOT r = f32[9000] sort(x), dimensions={0},"
                      " to_apply=less }"},
      {"sort", "ENTRY e { x = f32[3,70000] parameter(0) ROOT r = (f32[3,9], s32[3,9]) topk(x), k=9, largest=true }"},
      {"fft", "ENTRY e { x = c64[6,60] parameter(0) ROOT r = c64[6,60] fft(x), fft_type=FFT, fft_length={60} }"},
      {"fft",
       "ENTRY e { x = f32[3,17,12] parameter(0) ROOT r = c64[3,17,7] fft(x), fft_type=RFFT, fft_length={17,12} }"},
      {"matrix", "ENTRY e { x = f32[3,9,9] parameter(0) ROOT r = f32[3,9,9] cholesky(x), lower=true }"},
  };
}

// The module of the case's text: a text with a region is parsed unchanged, another text is fused.
std::unique_ptr<Module> ModuleOf(const Case& each) {
  return each.text.contains("\"region\"") ? Parsed(each.text) : Fused(each.text);
}

std::vector<kernel::KernelHash> HashesOf(const std::vector<EmittedKernel>& kernels) {
  std::vector<kernel::KernelHash> hashes;
  for (const EmittedKernel& kernel : kernels) hashes.push_back(kernel::Hash(*kernel.kernel));
  return hashes;
}

TEST(FusionPlan, EachKindHasACase) {
  std::set<std::string_view> kinds;
  for (const Case& each : Cases()) kinds.insert(each.kind);
#define OTHER_KIND(Name, text, fields, what)
#define KERNEL_KIND(Name, text, fields, what) \
  EXPECT_TRUE(kinds.contains(text)) << "Cases() of tests/gpu/fusion_plan_test.cpp has no '" << text << "'";
#include "ir/kernel_kinds.def"
}

TEST(FusionPlan, PrintsParsesAndIsObeyed) {
  for (const Case& each : Cases()) {
    const auto module = ModuleOf(each);
    const FusionPlan plan = PlanOfRoot(*module, *FindDevice(each.device));
    ASSERT_FALSE(plan.kernels.empty()) << each.text;
    EXPECT_EQ(ToString(plan.kernels.back().kind), each.kind) << each.text;
    const auto kernels = EmitFusion(module->entry().root(), plan);
    ASSERT_TRUE(kernels) << kernels.error().message();

    SetPlan(module->entry().root(), plan);
    const auto read = Parse(std::make_shared<SourceText>("plan.hlo", Print(*module)));
    ASSERT_TRUE(read) << read.error().message();
    const Instruction& root = (*read)->entry().root();
    const auto back = ReadPlan(root);
    ASSERT_TRUE(back && *back) << ToJson(plan);
    EXPECT_EQ(**back, plan) << ToJson(plan) << ToJson(**back);
    const auto again = EmitFusion(root, **back);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(HashesOf(*again), HashesOf(*kernels)) << ToJson(plan);
    RemovePlans(**read);
    EXPECT_FALSE(HasPlan(root)) << Print(**read);
  }
}

// Numbers that a user may write in place of the planner's are obeyed and give the same results.
TEST(FusionPlan, OtherNumbersAreObeyed) {
  const std::string rows = std::string(kAdd) +
                           "ENTRY e { x = f32[40,1024] parameter(0) z = f32[] constant(0)"
                           " ROOT r = f32[40] reduce(x, z), dimensions={1}, to_apply=add }";
  const std::string columns = std::string(kAdd) +
                              "ENTRY e { x = f32[1024,96] parameter(0) z = f32[] constant(0)"
                              " ROOT r = f32[96] reduce(x, z), dimensions={0}, to_apply=add }";
  const std::string row_scan = std::string(kAdd) +
                               "ENTRY e { x = f32[40,1000] parameter(0) z = f32[] constant(0) ROOT r = f32[40,1000]"
                               " reduce-window(x, z), window={size=1x1000 pad=0_0x999_0}, to_apply=add }";
  const std::string column_scan = std::string(kAdd) +
                                  "ENTRY e { x = f32[100,96] parameter(0) z = f32[] constant(0) ROOT r = f32[100,96]"
                                  " reduce-window(x, z), window={size=100x1 pad=0_99x0_0}, to_apply=add }";
  const std::string dot =
      "ENTRY e { x = f32[40,70] parameter(0) y = f32[70,100] parameter(1)"
      " ROOT r = f32[40,100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
  const std::string loop =
      "ENTRY e { x = f32[40,62] parameter(0) y = f32[40] parameter(1)"
      " b = f32[40,62] broadcast(y), dimensions={0} ROOT r = f32[40,62] add(x, b) }";
  const std::string transpose =
      "ENTRY e { x = f32[90,70] parameter(0) ROOT r = f32[70,90] transpose(x), "
      "dimensions={1,0} }";
  const std::string stitched = std::string(kAdd) +
                               "ENTRY e { x = f32[40,1024] parameter(0) z = f32[] constant(0)"
                               " r = f32[40] reduce(x, z), dimensions={1}, to_apply=add"
                               " b = f32[40,1024] broadcast(r), dimensions={0} ROOT d = f32[40,1024] subtract(x, b) }";
  const auto reduction = [](std::string_view rest) { return Str(R"("heroes":["r"],)", rest); };
  const struct {
    std::string text, kernel;
  } cases[] = {
      {rows, Str(R"({"kind":"row_reduction",)", reduction(R"("tile":[1,64],"vector":2,"threads":32})"))},
      {rows, Str(R"({"kind":"row_reduction",)", reduction(R"("tile":[4,64],"vector":2,"threads":128,"unroll":2})"))},
      {rows, Str(R"({"kind":"row_reduction",)", reduction(R"("tile":[1,128],"threads":128,"splits":3})"))},
      {columns,
       Str(R"({"kind":"column_reduction",)", reduction(R"("tile":[1,64],"vector":2,"threads":32,"unroll":4})"))},
      {columns,
       Str(R"({"kind":"column_reduction",)", reduction(R"("tile":[4,128],"vector":4,"threads":128,"splits":5})"))},
      {columns, Str(R"({"kind":"column_reduction",)", reduction(R"("tile":[16,128],"vector":4,"threads":512})"))},
      {row_scan, Str(R"({"kind":"scan",)", reduction(R"("tile":[1,64],"vector":2,"threads":32})"))},
      {row_scan, Str(R"({"kind":"scan",)", reduction(R"("tile":[1,256],"vector":4,"threads":64})"))},
      {row_scan, Str(R"({"kind":"scan",)", reduction(R"("tile":[4,32],"threads":128})"))},
      {column_scan, Str(R"({"kind":"scan",)", reduction(R"("tile":[1,64],"vector":2,"threads":32,"unroll":2})"))},
      {column_scan, Str(R"({"kind":"scan",)", reduction(R"("tile":[1,128],"threads":128})"))},
      {dot, Str(R"({"kind":"contraction",)", reduction(R"("tile":[16,128,32],"vector":4,"threads":128})"))},
      {dot, Str(R"({"kind":"contraction",)", reduction(R"("tile":[32,32,64],"threads":64})"))},
      {dot, Str(R"({"kind":"contraction",)", reduction(R"("tile":[12,64,128],"vector":2,"threads":64})"))},
      {dot, Str(R"({"kind":"contraction",)", reduction(R"("tile":[5,32,96],"threads":32})"))},
      {stitched, Str(R"({"kind":"rows",)", reduction(R"("tile":[1,64],"vector":2,"threads":32})"))},
      {stitched, Str(R"({"kind":"rows",)", reduction(R"("tile":[4,128],"vector":4,"threads":128,"unroll":2})"))},
      {stitched, Str(R"({"kind":"rows",)", reduction(R"("tile":[1,1024],"threads":1024})"))},
      {loop, R"({"kind":"loop","tile":[2048],"vector":4,"threads":512})"},
      {loop, R"({"kind":"loop","tile":[1,64],"vector":2,"threads":32})"},
      {loop, R"({"kind":"loop","tile":[4,64],"vector":2,"threads":128})"},
      {transpose, R"({"kind":"transpose","tile":[32,64],"threads":128})"},
      {transpose, R"({"kind":"transpose","tile":[64,16,16],"threads":32})"},
      {transpose, R"({"kind":"transpose","tile":[96,16,32],"threads":96})"},
      {transpose, R"({"kind":"loop","tile":[256],"threads":256})"},
  };
  for (const auto& each : cases) {
    const auto module = Fused(each.text);
    Instruction& root = module->entry().root();
    const FusionPlan planned = PlanOfRoot(*module);
    std::string kernel = each.kernel;
    // Instructions have other names in the fused computation.
    if (const size_t hero = kernel.find("[\"r\"]"); hero != std::string::npos)
      kernel.replace(hero + 2, 1, planned.kernels.back().heroes.front());
    root.mutable_common().backend_config.text = Str(R"({"plan":{"target":"h200","kernels":[)", kernel, "]}}");
    const auto plan = PlanOf(root, DefaultDevice());
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_NE(*plan, planned) << kernel;
    Check(*module, Inputs::kIntegers);
  }
}

TEST(FusionPlan, PredictedUpdatesAreInPlace) {
  int64_t foreseen = 0;
  for (const Case& each : Cases()) {
    const auto module = ModuleOf(each);
    const Instruction& fusion = module->entry().root();
    const FusionPlan plan = PlanOfRoot(*module);
    for (size_t root = 0; root < FusionRoots(fusion).size(); ++root) {
      if (!CanUpdateInPlace(fusion, static_cast<int64_t>(root))) continue;
      ++foreseen;
      EXPECT_TRUE(plan.kernels[root].in_place) << ToJson(plan);
    }
  }
  EXPECT_GT(foreseen, 0);
}

// A fusion that passes treat as a reduction is planned as a reduction, or its plan says why it is slow. Any other
// fusion is not planned as a reduction.
TEST(FusionPlan, PredictedReductionsAreReductions) {
  int64_t reductions = 0;
  for (const Case& each : Cases()) {
    const auto module = ModuleOf(each);
    const auto walk = WalkOf(module->entry().root());
    if (!walk) continue;
    const FusionPlan plan = PlanOfRoot(*module);
    const KernelKind kind = plan.kernels.front().kind;
    const bool reduction = kind == KernelKind::kRowReduction || kind == KernelKind::kColumnReduction;
    reductions += reduction;
    if (reduction) EXPECT_TRUE(walk->reduces) << ToJson(plan);
    else EXPECT_TRUE(!walk->reduces || !plan.slow.empty()) << ToJson(plan);
  }
  EXPECT_GT(reductions, 0);
}

// Few processors can compare f16. On others, a reduction that compares f16 is much slower than one that compares f32.
TEST(FusionPlan, MaximaOfF16AreComparedInF32) {
  const auto module = Fused(
      "max { a = f16[] parameter(0) b = f16[] parameter(1) ROOT r = f16[] maximum(a, b) } "
      "ENTRY e { x = f16[40,700] parameter(0) z = f16[] constant(-inf)"
      " ROOT r = f16[40] reduce(x, z), dimensions={1}, to_apply=max }");
  const auto kernels = EmitFusion(module->entry().root(), PlanOfRoot(*module));
  ASSERT_TRUE(kernels) << kernels.error().message();
  const auto emitted = kernel::EmitHost(*kernels->front().kernel, kernel::HostStage::kOptimized);
  ASSERT_TRUE(emitted) << emitted.error().message();
  const std::string& code = *emitted;
  EXPECT_NE(code.find("fcmp"), std::string::npos) << code;
  for (size_t at = code.find("fcmp"); at != std::string::npos; at = code.find("fcmp", at + 1)) {
    const std::string line = code.substr(at, code.find('\n', at) - at);
    EXPECT_EQ(line.find("half"), std::string::npos) << line;
  }
  Check(*module, Inputs::kIntegers);
}

// The description of a device that is not in the table is the nearest row of the table.
TEST(DeviceDescription, IsTheNearestRow) {
  EXPECT_EQ(NearestDevice("NVIDIA H200", 90).name, "h200");
  EXPECT_EQ(NearestDevice("NVIDIA A100-SXM4-80GB", 80).name, "a100");
  EXPECT_EQ(NearestDevice("NVIDIA A10", 86).name, "a10");
  EXPECT_EQ(NearestDevice("NVIDIA L40S", 89).name, "l40s");
  EXPECT_EQ(NearestDevice("NVIDIA GeForce RTX 3090", 86).name, "a10");
  EXPECT_EQ(NearestDevice("NVIDIA B200", 100).name, "h200");
  EXPECT_EQ(FindDevice("host")->shared_memory_bytes, std::nullopt);
  EXPECT_EQ(TargetOfPlatform("cpu", false), nullptr);  // Plans for the default device run on any host.
  EXPECT_EQ(TargetOfPlatform("cpu", true)->name, "host");
  const DeviceDescription host = HostDescription(8, 64);
  EXPECT_EQ(host.multiprocessors, 8);
  EXPECT_EQ(host.instruction_rate, 8 * FindDevice("host")->instruction_rate);
}

// Vectors of independent elements have the device's width. Reductions combine elements in the same order on all hosts.
TEST(FusionPlan, VectorsHaveTheWidthOfTheDevice) {
  const auto loop = Fused("ENTRY e { x = f32[4000,700] parameter(0) ROOT r = f32[4000,700] negate(x) }");
  const auto rows = Fused(std::string(kAdd) +
                          "ENTRY e { x = f32[40,704] parameter(0) z = f32[] constant(0)"
                          " ROOT r = f32[40] reduce(x, z), dimensions={1}, to_apply=add }");
  for (const int bytes : {16, 32, 64}) {
    const DeviceDescription device = HostDescription(2, bytes);
    EXPECT_EQ(PlanOfRoot(*loop, device).kernels[0].vector, bytes / 4);
    EXPECT_EQ(PlanOfRoot(*rows, device).kernels[0], PlanOfRoot(*rows, HostDescription(2, 32)).kernels[0]);
  }
}

}  // namespace
}  // namespace hlo::gpu
