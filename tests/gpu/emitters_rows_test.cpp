// Tests of kernels that process whole rows: the host at every instruction set level, the emulator and the interpreter
// agree, and the planner chooses them.
#include <gtest/gtest.h>

#include "base/text.h"
#include "gpu/plan/planner.h"
#include "ir/analysis/region.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

const std::string kFolds =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } "
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) } ";

void CheckRows(const std::string& text, Inputs inputs = Inputs::kPlain, double ulps = 0) {
  const auto module = Fused(text, FusionKind::kInput);
  const auto plan = PlanKernels(module->entry().root(), DefaultDevice());
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->kernels.size(), 1u) << ToJson(*plan);
  EXPECT_EQ(plan->kernels[0].kind, KernelKind::kRows) << ToJson(*plan);
  SCOPED_TRACE(ToJson(*plan));
  Check(*module, inputs, ulps);
}

// A softmax of an array with rows of `row` elements. `leading` is the text of the other dimensions, such as "9,".
std::string Softmax(const std::string& leading, const std::string& row, const std::string& kept_dims,
                    const std::string& row_dim) {
  const std::string all = Str("f32[", leading, row, "]"), one = Str("f32[", leading.substr(0, leading.size() - 1), "]");
  return Str(kFolds, "ENTRY e { x = ", all, " parameter(0) low = f32[] constant(-inf) m = ", one,
             " reduce(x, low), dimensions={", row_dim, "}, to_apply=max mm = ", all, " broadcast(m), dimensions={",
             kept_dims, "} d = ", all, " subtract(x, mm) e = ", all, " exponential(d) z = f32[] constant(0) s = ", one,
             " reduce(e, z), dimensions={", row_dim, "}, to_apply=add ss = ", all, " broadcast(s), dimensions={",
             kept_dims, "} ROOT q = ", all, " divide(e, ss) }");
}

TEST(EmitRows, ComputesASoftmaxOfAnyLength) {
  for (const char* row : {"17", "30", "64", "100", "255", "512", "1000", "1024", "2050", "4096", "5003"}) {
    SCOPED_TRACE(row);
    CheckRows(Softmax("9,", row, "0", "1"), Inputs::kPlain, 16);
  }
  CheckRows(Softmax("2,3,5,", "96", "0,1,2", "3"), Inputs::kPlain, 16);
  CheckRows(Softmax("1,", "70", "0", "1"), Inputs::kPlain, 16);
}

TEST(EmitRows, ComputesNanAndInfinities) { CheckRows(Softmax("33,", "40", "0", "1"), Inputs::kReals, 16); }

TEST(EmitRows, ComputesRowsOfSeveralDimensions) {
  CheckRows(kFolds +
                "ENTRY e { x = f32[4,6,5,7] parameter(0) y = f32[6,7] parameter(1) z = f32[] constant(0)"
                " b = f32[4,6,5,7] broadcast(y), dimensions={1,3} m = f32[4,6,5,7] multiply(x, b)"
                " s = f32[4,6] reduce(m, z), dimensions={2,3}, to_apply=add"
                " ss = f32[4,6,5,7] broadcast(s), dimensions={0,1} d = f32[4,6,5,7] subtract(m, ss)"
                " n = f32[24,35] reshape(d) l = f32[] constant(-inf)"
                " h = f32[24] reduce(n, l), dimensions={1}, to_apply=max"
                " hh = f32[24,35] broadcast(h), dimensions={0} ROOT r = f32[24,35] subtract(n, hh) }",
            Inputs::kIntegers);
}

// The kernel stores both statistics, the result, and a value that is computed before the statistics.
TEST(EmitRows, ComputesALayerNormWithStatistics) {
  for (const char* row : {"24", "300", "768", "2560"}) {
    const std::string n(row), all = "f32[13," + n + "]", low = "bf16[13," + n + "]";
    CheckRows(kFolds + "ENTRY e { x = " + low + " parameter(0) g = f32[" + n + "] parameter(1) y = " + low +
                  " parameter(2) a = " + low + " add(x, y) c = " + all +
                  " convert(a) z = f32[] constant(0) k = f32[] constant(0.0078125) kk = f32[13] broadcast(k), "
                  "dimensions={}"
                  " s = f32[13] reduce(c, z), dimensions={1}, to_apply=add m = f32[13] multiply(s, kk) mm = " +
                  all + " broadcast(m), dimensions={0} d = " + all + " subtract(c, mm) q = " + all +
                  " multiply(d, d) v = f32[13] reduce(q, z), dimensions={1}, to_apply=add w = f32[13] add(v, kk)"
                  " r = f32[13] rsqrt(w) rr = " +
                  all + " broadcast(r), dimensions={0} t = " + all + " multiply(d, rr) gg = " + all +
                  " broadcast(g), dimensions={1} u = " + all + " multiply(t, gg) o = " + low +
                  " convert(u) ROOT p = (" + low + ", f32[13], f32[13], " + low + ") tuple(o, m, r, a) }",
              Inputs::kIntegers, 40);
  }
}

// A reduction of two arrays whose reducer has no known identity. The resulting index is compared along the row and used
// in a gather from the row.
TEST(EmitRows, ComputesAnArgMaxAndItsUses) {
  CheckRows(
      "pick { v = f32[] parameter(0) i = s32[] parameter(1) w = f32[] parameter(2) j = s32[] parameter(3)"
      " c = pred[] compare(v, w), direction=GE a = f32[] select(c, v, w) b = s32[] select(c, i, j)"
      " ROOT t = (f32[], s32[]) tuple(a, b) } "
      "ENTRY e { x = f32[21,75] parameter(0) i = s32[21,75] iota(), iota_dimension=1 l = f32[] constant(-inf)"
      " z = s32[] constant(0) r = (f32[21], s32[21]) reduce(x, i, l, z), dimensions={1}, to_apply=pick"
      " v = f32[21] get-tuple-element(r), index=0 j = s32[21] get-tuple-element(r), index=1"
      " vv = f32[21,75] broadcast(v), dimensions={0} jj = s32[21,75] broadcast(j), dimensions={0}"
      " h = pred[21,75] compare(i, jj), direction=EQ d = f32[21,75] subtract(vv, x)"
      " ROOT t = (f32[21,75], s32[21], pred[21,75]) tuple(d, j, h) }",
      Inputs::kIntegers);
}

TEST(EmitRows, ComputesACausalMask) {
  CheckRows(kFolds +
                "ENTRY e { x = bf16[2,3,40,40] parameter(0) c = f32[2,3,40,40] convert(x)"
                " i = s32[2,3,40,40] iota(), iota_dimension=2 j = s32[2,3,40,40] iota(), iota_dimension=3"
                " k = pred[2,3,40,40] compare(j, i), direction=LE n = f32[] constant(-1e30)"
                " nn = f32[2,3,40,40] broadcast(n), dimensions={} a = f32[2,3,40,40] select(k, c, nn)"
                " l = f32[] constant(-inf) m = f32[2,3,40] reduce(a, l), dimensions={3}, to_apply=max"
                " mm = f32[2,3,40,40] broadcast(m), dimensions={0,1,2} d = f32[2,3,40,40] subtract(a, mm)"
                " e = f32[2,3,40,40] exponential(d) z = f32[] constant(0)"
                " s = f32[2,3,40] reduce(e, z), dimensions={3}, to_apply=add"
                " ss = f32[2,3,40,40] broadcast(s), dimensions={0,1,2} q = f32[2,3,40,40] divide(e, ss)"
                " ROOT o = bf16[2,3,40,40] convert(q) }",
            Inputs::kPlain, 2);
}

// The kernel reads the index of each row of the table only once.
TEST(EmitRows, ComputesGatheredRows) {
  CheckRows(kFolds +
                "ENTRY e { x = f32[50,96] parameter(0) i = s32[20,1] parameter(1)"
                " g = f32[20,96] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
                " index_vector_dim=1, slice_sizes={1,96} z = f32[] constant(0)"
                " s = f32[20] reduce(g, z), dimensions={1}, to_apply=add ss = f32[20,96] broadcast(s), dimensions={0}"
                " ROOT r = f32[20,96] subtract(g, ss) }",
            Inputs::kIntegers);
}

// Rows that do not fit on chip are computed again for each use, and the plan says so.
TEST(EmitRows, ComputesRowsThatDoNotFitOnChip) {
  const std::string text = Softmax("2,", "70000", "0", "1");
  const auto module = Fused(text, FusionKind::kInput);
  const auto plan = PlanKernels(module->entry().root(), DefaultDevice());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->kernels[0].kept.empty()) << ToJson(*plan);
  EXPECT_EQ(plan->slow, "rows of 70000 elements do not fit on chip, so they are read or computed again");
  CheckRows(text, Inputs::kPlain, 16);
}

TEST(EmitRows, RejectsUsesInOtherRows) {
  const auto module = Fused(kFolds +
                            "ENTRY e { x = f32[40,40] parameter(0) z = f32[] constant(0)"
                            " s = f32[40] reduce(x, z), dimensions={1}, to_apply=add"
                            " ss = f32[40,40] broadcast(s), dimensions={1} ROOT r = f32[40,40] subtract(x, ss) }");
  const auto plan = PlanKernels(module->entry().root(), DefaultDevice());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->kernels[0].kind, KernelKind::kLoop);
  EXPECT_NE(plan->slow.find("read at another index than that of the computed element"), std::string::npos)
      << plan->slow;
  Check(*module);
}

TEST(EmitRows, PlantedFaultsChangeTheResult) {
  const auto module = Fused(Softmax("9,", "100", "0", "1"), FusionKind::kInput);
  const auto literals = MakeInputs(*module, Inputs::kPlain);
  const auto sound = RunKernels(*module, literals, On::kHost);
  for (const char* fault : {"dropped_term", "wrong_index"}) {
    const auto faulty = RunKernels(*module, literals, On::kHost, fault);
    ASSERT_TRUE(sound && faulty);
    EXPECT_FALSE(faulty->BitEquals(*sound)) << fault;
  }
}

// A region that one kernel can compute becomes one fusion without inner fusions. Any other region is split up.
TEST(TakeUnplannedRegionsApart, RegionsOfRowsBecomeFusions) {
  const std::string sums =
      kFolds +
      "sums { x = f32[20,64] parameter(0) z = f32[] constant(0) ROOT s = f32[20] reduce(x, z), dimensions={1}, "
      "to_apply=add } ";
  const auto entry = [](std::string_view held) {
    return Str(
        held,
        " ENTRY e { x = f32[20,64] parameter(0) region = (f32[20], f32[20,64]) fusion(x), kind=kCustom, calls=held,"
        " backend_config={\"region\":\"rows\"} a = f32[20] get-tuple-element(region), index=0"
        " b = f32[20,64] get-tuple-element(region), index=1 ROOT t = (f32[20,64], f32[20]) tuple(b, a) }");
  };
  const auto whole = Parsed(
      entry(sums +
            "shares { x = f32[20,64] parameter(0) s = f32[20] parameter(1) ss = f32[20,64] broadcast(s), "
            "dimensions={0} ROOT d = f32[20,64] divide(x, ss) } "
            "held { x = f32[20,64] parameter(0) s = f32[20] fusion(x), kind=kInput, calls=sums"
            " d = f32[20,64] fusion(x, s), kind=kLoop, calls=shares ROOT t = (f32[20], f32[20,64]) tuple(s, d) }"));
  EXPECT_EQ(TakeUnplannedRegionsApart(*whole, DefaultDevice()), std::vector<std::string>());
  int64_t fusions = 0;
  for (const Instruction* inst : whole->entry().instructions()) {
    EXPECT_FALSE(IsRegion(*inst));
    if (!inst->Is(Opcode::kFusion)) continue;
    ++fusions;
    const auto plan = PlanKernels(*inst, DefaultDevice());
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->kernels[0].kind, KernelKind::kRows) << ToJson(*plan);
  }
  EXPECT_EQ(fusions, 1);

  const auto apart = Parsed(
      entry(sums + "twice { x = f32[20,64] parameter(0) ROOT d = f32[20,64] add(x, x) } "
                   "held { x = f32[20,64] parameter(0) d = f32[20,64] fusion(x), kind=kLoop, calls=twice"
                   " s = f32[20] fusion(d), kind=kInput, calls=sums ROOT t = (f32[20], f32[20,64]) tuple(s, d) }"));
  EXPECT_EQ(TakeUnplannedRegionsApart(*apart, DefaultDevice()),
            std::vector<std::string>{"'region' cannot run as one kernel of kind rows: it has no long reduction whose "
                                     "result is used along the reduced row"});
  for (const Instruction* inst : apart->entry().instructions()) EXPECT_FALSE(IsRegion(*inst));
}

}  // namespace
}  // namespace hlo::gpu
