// Tests of attention as one kernel: the host at every instruction set level, the emulator and the interpreter agree,
// and the planner chooses this kernel.
#include <gtest/gtest.h>

#include "base/text.h"
#include "gpu/plan/planner.h"
#include "ir/device_description.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

const std::string kFolds =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } "
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) } ";

// The text of `shares`, the softmax over the last dimension of `scores`, which are f32 with the dimensions `all`.
std::string Softmax(const std::string& all, const std::string& rows, const std::string& kept,
                    const std::string& row_dim, const std::string& scores = "s") {
  const std::string f = "f32[" + all + "]", one = "f32[" + rows + "]";
  return Str(" low = f32[] constant(-inf) m = ", one, " reduce(", scores, ", low), dimensions={", row_dim,
             "}, to_apply=max mm = ", f, " broadcast(m), dimensions={", kept, "} d = ", f, " subtract(", scores,
             ", mm) x = ", f, " exponential(d) z = f32[] constant(0) t = ", one, " reduce(x, z), dimensions={", row_dim,
             "}, to_apply=add tt = ", f, " broadcast(t), dimensions={", kept, "} shares = ", f, " divide(x, tt)");
}

KernelPlan PlanOfOne(const Module& module) {
  const auto plan = PlanKernels(module.entry().root(), DefaultDevice());
  EXPECT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->kernels.size(), 1u) << ToJson(*plan);
  EXPECT_EQ(plan->kernels[0].kind, KernelKind::kAttention) << ToJson(*plan);
  return plan->kernels[0];
}

void CheckAttention(const std::string& text, double ulps, Inputs inputs = Inputs::kPlain) {
  const auto module = Fused(kFolds + text, FusionKind::kInput);
  SCOPED_TRACE(ToJson(PlanOfOne(*module)));
  Check(*module, inputs, ulps);
}

// The text of attention: queries times keys of `type`, a softmax, times values. Values are not negative, because
// cancellation would make the rounding errors of a sum large. Sizes are [heads, queries, keys, terms, columns].
std::string Plain(const std::string& type, int64_t heads, int64_t queries, int64_t keys, int64_t terms,
                  int64_t columns) {
  const auto dims = [](int64_t a, int64_t b, int64_t c) { return Str(a, ",", b, ",", c); };
  const std::string all = dims(heads, queries, keys);
  return Str(
      "ENTRY e { q = ", type, "[", dims(heads, queries, terms), "] parameter(0) k = ", type, "[",
      dims(heads, keys, terms), "] parameter(1) v = ", type, "[", dims(heads, keys, columns),
      "] parameter(2) va = ", type, "[", dims(heads, keys, columns), "] abs(v) s = f32[", all,
      "] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}",
      Softmax(all, Str(heads, ",", queries), "0,1", "2"), " p = ", type, "[", all, "] convert(shares) ROOT o = ", type,
      "[", dims(heads, queries, columns),
      "] dot(p, va), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} }");
}

TEST(EmitAttention, ComputesAnySizes) {
  CheckAttention(Plain("f32", 3, 37, 50, 16, 24), 200);
  CheckAttention(Plain("f32", 2, 16, 128, 64, 64), 200);
  CheckAttention(Plain("f32", 1, 70, 17, 80, 40), 200);
  CheckAttention(Plain("f32", 2, 5, 100, 130, 200), 400);
}

TEST(EmitAttention, MatrixUnitsComputeAnySizes) {
  CheckAttention(Plain("bf16", 2, 40, 70, 16, 32), 4);
  CheckAttention(Plain("f16", 3, 64, 128, 64, 64), 16);
  CheckAttention(Plain("bf16", 1, 17, 333, 72, 128), 4);
  CheckAttention(Plain("bf16", 1, 33, 40, 96, 160), 4);
}

TEST(EmitAttention, UsesMatrixUnitsIfTheTypesPermit) {
  const auto narrow = Fused(kFolds + Plain("bf16", 2, 40, 70, 16, 32), FusionKind::kInput);
  EXPECT_EQ(PlanOfOne(*narrow).algorithm, "mma");
  const auto wide = Fused(kFolds + Plain("f32", 2, 40, 70, 16, 32), FusionKind::kInput);
  EXPECT_EQ(PlanOfOne(*wide).algorithm, "");
}

// Several heads of queries share keys and values. In memory, heads come after positions. The second product is values
// times shares.
TEST(EmitAttention, ComputesGroupedHeadsWithAMask) {
  const std::string all = "2,3,4,20,40";
  CheckAttention(
      Str("ENTRY e { q = bf16[2,20,3,4,16] parameter(0) k = bf16[2,40,3,16] parameter(1) v = bf16[2,40,3,16] "
          "parameter(2) va = bf16[2,40,3,16] abs(v) s = f32[2,3,20,4,40] dot(q, k), lhs_batch_dims={0,2}, "
          "rhs_batch_dims={0,2}, "
          "lhs_contracting_dims={4}, rhs_contracting_dims={3} st = f32[",
          all, "] transpose(s), dimensions={0,1,3,2,4} i = s32[", all, "] iota(), iota_dimension=3 j = s32[", all,
          "] iota(), iota_dimension=4 c = pred[", all,
          "] compare(i, j), direction=GE n = f32[] constant(-1e30) nn = f32[", all,
          "] broadcast(n), dimensions={} w = f32[", all, "] select(c, st, nn)",
          Softmax(all, "2,3,4,20", "0,1,2,3", "4", "w"), " p = bf16[", all,
          "] convert(shares) ROOT o = bf16[2,3,16,4,20] dot(va, p), lhs_batch_dims={0,2}, rhs_batch_dims={0,1}, "
          "lhs_contracting_dims={1}, rhs_contracting_dims={4} }"),
      8);
}

// An operand is converted to the type of the product, as in a dot. The shares keep their type.
TEST(EmitAttention, ComputesMixedTypes) {
  const std::string all = "3,20,40";
  CheckAttention(
      Str("ENTRY e { q = bf16[3,20,16] parameter(0) k = f32[3,40,16] parameter(1) v = bf16[3,40,24] parameter(2) va = "
          "bf16[3,40,24] abs(v) s = f32[",
          all,
          "] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, "
          "lhs_contracting_dims={2}, rhs_contracting_dims={2}",
          Softmax(all, "3,20", "0,1", "2"),
          " ROOT o = f32[3,20,24] dot(shares, va), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
          "rhs_contracting_dims={1} }"),
      200);
}

// The kernel also stores the statistics of the rows. A bias is added to the scores. The results are the maximum of the
// product and another array.
TEST(EmitAttention, StoresStatisticsAndComputesAnEpilogue) {
  const std::string all = "2,24,36";
  CheckAttention(
      Str("ENTRY e { q = f32[2,24,16] parameter(0) k = f32[2,36,16] parameter(1) v = f32[2,36,8] parameter(2) va = "
          "f32[2,36,8] abs(v) b = "
          "f32[24,36] parameter(3) g = f32[2,24,8] parameter(4) u = f32[",
          all,
          "] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2} "
          "bb = f32[",
          all, "] broadcast(b), dimensions={1,2} s = f32[", all, "] add(u, bb)", Softmax(all, "2,24", "0,1", "2"),
          " o = f32[2,24,8] dot(shares, va), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
          "rhs_contracting_dims={1} h = f32[2,24,8] maximum(o, g) lt = f32[2,24] log(t) ls = f32[2,24] add(lt, m) ROOT "
          "r = "
          "(f32[2,24,8], f32[2,24]) tuple(h, ls) }"),
      400);
}

TEST(EmitAttention, GivesAReasonIfAFusionIsNotAttention) {
  const auto why = [](const std::string& text) {
    const auto module = Fused(kFolds + text, FusionKind::kInput);
    const FusionBody body(module->entry().root());
    PlanRequest request(body, DefaultDevice());
    const auto answer = PlanAttention(request);
    EXPECT_TRUE(answer && answer->candidates.empty());
    return answer ? answer->why : answer.error().message();
  };
  EXPECT_EQ(why(Plain("f32", 2, 20, 20000, 16, 16)), "rows of 20000 keys do not fit on chip");
  EXPECT_EQ(why(Plain("f32", 2, 20, 40, 300, 16)), "a query, key or value has more than 256 elements");
  EXPECT_EQ(why(Plain("f32", 40, 1, 40, 16, 16)), "no two rows share their keys and values");
}

// The kernel fits into the shared memory of the device for which it is planned, not only of the largest device.
TEST(EmitAttention, FitsTheDevice) {
  const auto module = Fused(kFolds + Plain("bf16", 64, 128, 1024, 64, 64), FusionKind::kInput);
  for (const char* device : {"a10", "a100", "h200"}) {
    const auto plan = PlanKernels(module->entry().root(), *FindDevice(device));
    ASSERT_TRUE(plan) << plan.error().message();
    const auto kernels = EmitFusion(module->entry().root(), *plan);
    ASSERT_TRUE(kernels) << kernels.error().message();
    for (const EmittedKernel& kernel : *kernels)
      EXPECT_LE(kernel.kernel->SharedBytes(), *FindDevice(device)->shared_memory_bytes) << device << ToJson(*plan);
  }
}

TEST(EmitAttention, PlantedFaultsChangeTheResult) {
  const auto module = Fused(kFolds + Plain("f32", 2, 20, 40, 16, 16), FusionKind::kInput);
  const auto literals = MakeInputs(*module, Inputs::kPlain);
  const auto sound = RunKernels(*module, literals, On::kHost);
  ASSERT_TRUE(sound);
  for (const char* fault : {"dropped_term", "wrong_index"}) {
    const auto faulty = RunKernels(*module, literals, On::kHost, fault);
    ASSERT_TRUE(faulty) << fault;
    EXPECT_FALSE(faulty->BitEquals(*sound)) << fault;
  }
}

}  // namespace
}  // namespace hlo::gpu
