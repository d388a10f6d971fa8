// Tests of loops of recurrent networks as one kernel: the blocks of a cluster share the columns of the weights.
#include <gtest/gtest.h>

#include "driver/run/step_alone.h"
#include "emitters_harness.h"
#include "gpu/codegen/emulator.h"
#include "gpu/plan/block_space.h"
#include "ir/analysis/recurrent_loop.h"
#include "ir/analysis/region.h"
#include "ir/fusion_plan.h"
#include "kernel_buffers.h"
#include "passes/pipeline.h"

namespace hlo::gpu {
namespace {

// The sizes of a loop. Texts refer to them: $T steps, $B rows, $H units, $N columns of weights, and $t, the element
// type.
struct Sizes {
  int64_t steps = 3, rows = 4, units = 32;
  std::string type = "f32";
};

std::string With(std::string text, const Sizes& sizes, int64_t gates) {
  const std::pair<char, std::string> values[] = {{'T', std::to_string(sizes.steps)},
                                                 {'B', std::to_string(sizes.rows)},
                                                 {'H', std::to_string(sizes.units)},
                                                 {'N', std::to_string(gates * sizes.units)},
                                                 {'t', sizes.type}};
  for (const auto& [letter, value] : values) {
    const std::string name = std::string("$") + letter;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) text.replace(at, 2, value);
  }
  // $0, $1, ...: $k is the slice of columns [k * H, (k + 1) * H) of all rows.
  for (int64_t k = 0; k < gates; ++k) {
    const std::string name = "$" + std::to_string(k);
    const std::string columns = "slice={[0:" + std::to_string(sizes.rows) + "], [" + std::to_string(k * sizes.units) +
                                ":" + std::to_string((k + 1) * sizes.units) + "]}";
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at))
      text.replace(at, name.size(), columns);
  }
  return text;
}

// A loop with the state h, xs, w, ys and `more`. `body` computes the next state h1 and the values in `next` from h, x
// and w.
std::string LoopText(const Sizes& sizes, int64_t gates, const std::string& body,
                     const std::string& weights = "$t[$H,$N]", const std::string& more = "",
                     const std::string& next = "", const std::string& parameters = "",
                     const std::string& more_init = "") {
  const std::string state = "(s32[], $t[$B,$H], $t[$T,$B,$N], " + weights + ", $t[$T,$B,$H]" + more + ")";
  return With("HloModule m body { s = " + state + R"( parameter(0)
      i = s32[] get-tuple-element(s), index=0 h = $t[$B,$H] get-tuple-element(s), index=1
      xs = $t[$T,$B,$N] get-tuple-element(s), index=2 w = )" +
                  weights + R"( get-tuple-element(s), index=3
      ys = $t[$T,$B,$H] get-tuple-element(s), index=4
      zero = s32[] constant(0) one = s32[] constant(1) j = s32[] add(i, one)
      x3 = $t[1,$B,$N] dynamic-slice(xs, i, zero, zero), dynamic_slice_sizes={1,$B,$N} x = $t[$B,$N] reshape(x3)
      low = $t[] constant(-8) high = $t[] constant(8) no = $t[] constant(0) yes = $t[] constant(1)
      )" + body + R"(
      y3 = $t[1,$B,$H] reshape(h1) filled = $t[$T,$B,$H] dynamic-update-slice(ys, y3, i, zero, zero)
      ROOT r = )" +
                  state + " tuple(j, h1, xs, w, filled" + next + ") } again { s = " + state +
                  R"( parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant($T) ROOT r = pred[] compare(i, n), direction=LT }
    ENTRY e { h = $t[$B,$H] parameter(0) xs = $t[$T,$B,$N] parameter(1) w = )" +
                  weights + " parameter(2) ys = $t[$T,$B,$H] parameter(3) " + parameters +
                  " i = s32[] constant(0) s = " + state + " tuple(i, h, xs, w, ys" + more_init + ") loop = " + state +
                  " while(s), condition=again, body=body a = $t[$B,$H] get-tuple-element(loop), index=1 "
                  "b = $t[$T,$B,$H] get-tuple-element(loop), index=4 ROOT r = ($t[$B,$H], $t[$T,$B,$H]) tuple(a, b) }",
              sizes, gates);
}

// The values stay small integers, so sums are the same in any order.
constexpr const char* kPlain = R"(
      z = $t[$B,$H] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      a = $t[$B,$H] add(x, z) h1 = $t[$B,$H] clamp(low, a, high))";

constexpr const char* kGru = R"(
      z = $t[$B,$N] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      xr = $t[$B,$H] slice(x), $0 zr = $t[$B,$H] slice(z), $0 ar = $t[$B,$H] add(xr, zr)
      r1 = $t[$B,$H] clamp(no, ar, yes)
      xu = $t[$B,$H] slice(x), $1 zu = $t[$B,$H] slice(z), $1 au = $t[$B,$H] add(xu, zu)
      u = $t[$B,$H] clamp(no, au, yes)
      xn = $t[$B,$H] slice(x), $2 zn = $t[$B,$H] slice(z), $2 rz = $t[$B,$H] multiply(r1, zn)
      an = $t[$B,$H] add(xn, rz) n = $t[$B,$H] clamp(low, an, high)
      ones = $t[$B,$H] broadcast(yes), dimensions={} v = $t[$B,$H] subtract(ones, u)
      vn = $t[$B,$H] multiply(v, n) uh = $t[$B,$H] multiply(u, h) h1 = $t[$B,$H] add(vn, uh))";

constexpr const char* kLstm = R"(
      c = $t[$B,$H] get-tuple-element(s), index=5 bias = $t[$N] get-tuple-element(s), index=6
      z = $t[$B,$N] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      zx = $t[$B,$N] add(x, z) rows = $t[$B,$N] broadcast(bias), dimensions={1} a = $t[$B,$N] add(zx, rows)
      ai = $t[$B,$H] slice(a), $0 gi = $t[$B,$H] clamp(no, ai, yes)
      af = $t[$B,$H] slice(a), $1 gf = $t[$B,$H] clamp(no, af, yes)
      ag = $t[$B,$H] slice(a), $2 gg = $t[$B,$H] clamp(low, ag, high)
      ao = $t[$B,$H] slice(a), $3 go = $t[$B,$H] clamp(no, ao, yes)
      fc = $t[$B,$H] multiply(gf, c) ig = $t[$B,$H] multiply(gi, gg) sum = $t[$B,$H] add(fc, ig)
      c1 = $t[$B,$H] clamp(low, sum, high) h1 = $t[$B,$H] multiply(go, c1))";

std::string PlainText(const Sizes& sizes) { return LoopText(sizes, 1, kPlain); }
std::string GruText(const Sizes& sizes) { return LoopText(sizes, 3, kGru); }
std::string LstmText(const Sizes& sizes) {
  return LoopText(sizes, 4, kLstm, "$t[$H,$N]", ", $t[$B,$H], $t[$N]", ", c1, bias",
                  "c = $t[$B,$H] parameter(4) bias = $t[$N] parameter(5)", ", c, bias");
}

std::unique_ptr<Module> Optimized(const std::string& text,
                                  const std::string& last = ",recurrent-loop-fusion,while-loop-fusion,dce") {
  auto module = Parsed(text);
  const auto passes = RunPipeline(
      *module,
      {.passes = "cublas-gemm-rewriter,dce,fusion,dce,multi_output_fusion,dce,while_loop_trip_count_annotator" + last});
  EXPECT_TRUE(passes) << passes.error().message();
  return module;
}

const Instruction* LoopOf(const Module& module) {
  for (const Computation* computation : ComputationsOfKernels(module)) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kWhile)) return inst;
    }
  }
  return nullptr;
}

// The loop alone, planned for `blocks` blocks, even if the cost model would not choose that.
std::unique_ptr<Module> Clustered(const std::string& text, int64_t blocks, int64_t threads, int64_t vector) {
  const auto module = Optimized(text);
  for (const Instruction* inst : module->entry().Instructions()) {
    if (!IsRegion(*inst)) continue;
    auto alone = ExtractStep(*inst);
    KernelPlan plan{.kind = KernelKind::kBlock, .vector = vector, .threads = threads, .splits = blocks};
    SetPlan(alone->entry().root(), {.kernels = {plan}});
    return alone;
  }
  ADD_FAILURE() << "no region of\n" << text;
  return nullptr;
}

void CheckCluster(const std::string& text, int64_t blocks = 8, int64_t threads = 128, int64_t vector = 4) {
  const auto module = Clustered(text, blocks, threads, vector);
  ASSERT_NE(module, nullptr);
  const auto kernels = Emit(module->entry().root());
  ASSERT_TRUE(kernels) << kernels.error().message();
  EXPECT_EQ(kernels->front().kernel->cluster, blocks);
  Check(*module);
}

std::string WhyNot(const std::string& text) {
  const auto module = Optimized(text, "");
  const Instruction* const loop = LoopOf(*module);
  std::string why_not;
  if (loop == nullptr) return "there is no loop";
  const auto recurrent = RecurrentLoopOf(*loop, &why_not);
  if (recurrent) ClusterFor(*recurrent, DefaultDevice(), &why_not);
  return why_not;
}

TEST(EmittersRecurrent, ComputesAPlainNetwork) {
  CheckCluster(PlainText({}));
  CheckCluster(PlainText({.steps = 2, .rows = 1, .units = 64}));
  CheckCluster(PlainText({.steps = 1, .rows = 11, .units = 24}), 8, 64, 1);
  CheckCluster(PlainText({.steps = 5, .rows = 3, .units = 12}), 4, 32, 1);
  CheckCluster(PlainText({.steps = 4, .rows = 5, .units = 6}), 2, 96, 1);
}

TEST(EmittersRecurrent, ComputesAGru) {
  CheckCluster(GruText({}));
  CheckCluster(GruText({.steps = 4, .rows = 9, .units = 40}), 8, 256, 1);
}

TEST(EmittersRecurrent, ComputesAnLstm) {
  CheckCluster(LstmText({}));
  CheckCluster(LstmText({.steps = 2, .rows = 2, .units = 128}), 8, 512);
}

// The values do not fit into shared memory beside the arrays that must be there.
TEST(EmittersRecurrent, KeepsLargeValuesInScratchMemory) {
  const std::string text = LstmText({.steps = 2, .rows = 9, .units = 256});
  CheckCluster(text, 8, 512);
  const auto module = Clustered(text, 8, 512, 4);
  const auto kernels = Emit(module->entry().root());
  const auto is_scratch = [](const KernelBuffer& buffer) { return buffer.kind == KernelBuffer::Kind::kScratch; };
  ASSERT_TRUE(kernels);
  EXPECT_TRUE(std::ranges::any_of(kernels->front().buffers, is_scratch));
}

TEST(EmittersRecurrent, Computes16BitFloats) {
  for (const char* type : {"bf16", "f16"}) {
    CheckCluster(PlainText({.type = type}));
    CheckCluster(LstmText({.rows = 3, .type = type}));
  }
}

TEST(EmittersRecurrent, ComputesTransposedWeights) {
  const char* const body = R"(
      z = $t[$B,$N] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      z0 = $t[$B,$H] slice(z), $0 z1 = $t[$B,$H] slice(z), $1 x0 = $t[$B,$H] slice(x), $0 x1 = $t[$B,$H] slice(x), $1
      a0 = $t[$B,$H] add(x0, z0) a1 = $t[$B,$H] add(x1, z1) a = $t[$B,$H] subtract(a0, a1)
      h1 = $t[$B,$H] clamp(low, a, high))";
  CheckCluster(LoopText({.units = 32}, 2, body, "$t[$N,$H]"));
}

TEST(EmittersRecurrent, ComputesTwoDependentProducts) {
  const char* const body = R"(
      v = $t[$H,$H] get-tuple-element(s), index=5
      z = $t[$B,$H] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      a = $t[$B,$H] add(x, z) g = $t[$B,$H] clamp(low, a, high)
      q = $t[$B,$H] dot(g, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      d = $t[$B,$H] subtract(q, h) h1 = $t[$B,$H] clamp(low, d, high))";
  CheckCluster(LoopText({}, 1, body, "$t[$H,$N]", ", $t[$H,$H]", ", v", "v = $t[$H,$H] parameter(4)", ", v"));
}

// One product has the input x as its operand, the other the state h. Both have the same rows.
TEST(EmittersRecurrent, ComputesAProductOfTheInput) {
  const char* const body = R"(
      v = $t[$H,$H] get-tuple-element(s), index=5
      z = $t[$B,$H] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      q = $t[$B,$H] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      d = $t[$B,$H] subtract(q, z) h1 = $t[$B,$H] clamp(low, d, high))";
  CheckCluster(LoopText({}, 1, body, "$t[$H,$N]", ", $t[$H,$H]", ", v", "v = $t[$H,$H] parameter(4)", ", v"));
}

TEST(EmittersRecurrent, ComputesAConcatenationOfInputAndState) {
  const char* const body = R"(
      v = $t[48,$H] get-tuple-element(s), index=5 x16 = $t[$B,16] slice(x), slice={[0:$B], [0:16]}
      both = $t[$B,48] concatenate(x16, h), dimensions={1}
      z = $t[$B,$H] dot(both, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} h1 = $t[$B,$H] clamp(low, z, high))";
  CheckCluster(LoopText({}, 1, body, "$t[$H,$N]", ", $t[48,$H]", ", v", "v = $t[48,$H] parameter(4)", ", v"), 8, 128,
               2);
}

TEST(EmittersRecurrent, ComputesVectors) {
  const char* const products[] = {"dot(g, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
                                  "dot(w, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
                                  "dot(w, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}"};
  for (const char* product : products) {
    const std::string body = std::string(R"(
      g = $t[$H] reshape(h) z = $t[$H] )") +
                             product + R"(
      v = $t[$H] reshape(x) a = $t[$H] add(v, z) n = $t[$H] clamp(low, a, high) h1 = $t[$B,$H] reshape(n))";
    CheckCluster(LoopText({.rows = 1, .units = 64}, 1, body));
  }
}

TEST(EmittersRecurrent, TheFilledArrayMayBeAnyNumberOfResults) {
  const std::string text = PlainText({});
  const std::string root = text.substr(text.rfind("ROOT"));
  std::string none = text, twice = text;
  none.replace(none.rfind("ROOT"), root.size(), "ROOT r = (f32[4,32]) tuple(a) }");
  twice.replace(twice.rfind("ROOT"), root.size(),
                "c = f32[3,4,32] negate(b) ROOT r = (f32[4,32], f32[3,4,32], f32[3,4,32]) tuple(a, b, c) }");
  CheckCluster(none);
  CheckCluster(twice);
}

TEST(EmittersRecurrent, AMissingClusterBarrierIsDetected) {
  const auto module = Clustered(PlainText({}), 8, 128, 4);
  ASSERT_NE(module, nullptr);
  const auto kernels = Emit(module->entry().root());
  ASSERT_TRUE(kernels) << kernels.error().message();
  const kernel::Kernel& kernel = *kernels->front().kernel;
  const kernel::Buffers buffers = kernel::MakeBuffers(kernel);
  kernel::SetMostTrips(kernel, buffers, 100);
  const auto findings = [&](kernel::KernelFault fault) {
    kernel::EmulateOptions options;
    options.nvptx.fault = fault;
    const auto report = kernel::Emulate(kernel, buffers.arguments, options);
    EXPECT_TRUE(report) << report.error().message();
    return report->findings;
  };
  EXPECT_TRUE(findings(kernel::KernelFault::kNone).empty());
  const auto found = findings(kernel::KernelFault::kMissingClusterBarrier);
  EXPECT_TRUE(std::ranges::any_of(
      found, [](const auto& finding) { return finding.finding == kernel::Finding::kCrossBlockRace; }));
}

TEST(EmittersRecurrent, UnsuitableLoopsAreRejectedWithAReason) {
  EXPECT_EQ(WhyNot(LstmText({.units = 512})),
            "each of 8 blocks would need 557056 bytes of shared memory for weights and state, but has only 232448");
  EXPECT_EQ(WhyNot(PlainText({.rows = 65, .units = 128})), "'gemm_fusion' has more than 64 rows");
  EXPECT_EQ(WhyNot(GruText({.rows = 64, .units = 128})),
            "its products are faster on the whole device, with one launch each");
  EXPECT_EQ(WhyNot(PlainText({.rows = 400, .units = 201})).substr(0, 13), "'gemm_fusion'");
  // Both operands of the second product are state, so neither can stay in shared memory as weights.
  const char* const squares = R"(
      c = $t[$H,$H] get-tuple-element(s), index=5
      z = $t[$B,$H] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      q = $t[$B,$H] dot(z, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      c1 = $t[$H,$H] clamp(no, c, yes)
      d = $t[$B,$H] add(q, x) h1 = $t[$B,$H] clamp(low, d, high))";
  EXPECT_EQ(WhyNot(LoopText({.units = 256}, 1, squares, "$t[$H,$N]", ", $t[$H,$H]", ", c1",
                            "v = $t[$H,$H] parameter(4)", ", v")),
            "the weights of 'gemm_fusion.1' change from trip to trip");
  const char* const turned = R"(
      z = $t[$B,$H] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      t = $t[$B,$H] reverse(z), dimensions={1} a = $t[$B,$H] add(x, t) h1 = $t[$B,$H] clamp(low, a, high))";
  EXPECT_NE(WhyNot(LoopText({.units = 256}, 1, turned)).find("reads state at other columns than it writes"),
            std::string::npos)
      << WhyNot(LoopText({.units = 256}, 1, turned));
}

// The planner chooses a cluster if its cost model expects a gain. An a100 has no clusters.
TEST(EmittersRecurrent, ThePlannerChoosesClusters) {
  const auto module = Optimized(LstmText({.rows = 8, .units = 256}));
  for (const Instruction* inst : module->entry().Instructions()) {
    if (!IsRegion(*inst)) continue;
    const auto plan = PlanFusion(*inst, DefaultDevice());
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->kernels.front().splits, 8);
    const auto older = PlanFusion(*inst, *FindDevice("a100"));
    EXPECT_TRUE(!older || older->kernels.front().splits == 1);
    return;
  }
  ADD_FAILURE() << "no region";
}

}  // namespace
}  // namespace hlo::gpu
