// Tests of loops as one kernel: regions that one block of threads runs.
#include <gtest/gtest.h>

#include "driver/run/step_alone.h"
#include "emitters_harness.h"
#include "gpu/plan/block_space.h"
#include "ir/analysis/region.h"
#include "passes/pipeline.h"

namespace hlo::gpu {
namespace {

// The region that the passes make from the loop in `text`, in a module of its own.
std::unique_ptr<Module> RegionOfText(const std::string& text) {
  const auto module = Parsed(text);
  const auto passes = RunPipeline(*module, {.passes = "fusion,multi_output_fusion,dce,while-loop-fusion"});
  EXPECT_TRUE(passes) << passes.error().message();
  for (const Instruction* inst : module->entry().Instructions()) {
    if (IsRegion(*inst)) return ExtractStep(*inst);
  }
  ADD_FAILURE() << "no region";
  return nullptr;
}

void CheckLoop(const std::string& text, Inputs inputs = Inputs::kIntegers, double ulps = 0) {
  const auto module = RegionOfText(text);
  ASSERT_NE(module, nullptr);
  ASSERT_TRUE(BlockSpaceOf(module->entry().root()));
  Check(*module, inputs, ulps);
}

constexpr const char* kSum = "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } ";
constexpr const char* kMax = "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) } ";

TEST(EmittersBlock, ComputesScalars) {
  CheckLoop(R"(HloModule m
    body { s = (s32[], f32[], u32[]) parameter(0)
      i = s32[] get-tuple-element(s), index=0 x = f32[] get-tuple-element(s), index=1
      h = u32[] get-tuple-element(s), index=2
      one = s32[] constant(1) j = s32[] add(i, one) f = f32[] convert(i) y = f32[] add(x, f)
      c = u32[] constant(2654435761) k = u32[] multiply(h, c) q = u32[] constant(15)
      g = u32[] shift-right-logical(k, q) e = u32[] xor(k, g)
      ROOT r = (s32[], f32[], u32[]) tuple(j, y, e) }
    again { s = (s32[], f32[], u32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(37) ROOT r = pred[] compare(i, n), direction=LT }
    ENTRY e { i = s32[] parameter(0) x = f32[] parameter(1) h = u32[] parameter(2)
      s = (s32[], f32[], u32[]) tuple(i, x, h)
      ROOT loop = (s32[], f32[], u32[]) while(s), condition=again, body=body })");
}

// Vectors of lengths around the sizes of warps and blocks. The body also reads its state at other indices.
TEST(EmittersBlock, ComputesVectors) {
  for (const int n : {2, 31, 33, 64, 1000, 1025, 5000}) {
    const std::string v = "f32[" + std::to_string(n) + "]", w = "f32[" + std::to_string(n - 1) + "]";
    const std::string state = "(s32[], " + v + ", " + v + ")";
    CheckLoop("HloModule m body { s = " + state + " parameter(0) i = s32[] get-tuple-element(s), index=0 x = " + v +
              " get-tuple-element(s), index=1 y = " + v +
              " get-tuple-element(s), index=2 one = s32[] constant(1) j = s32[] add(i, one) head = " + w +
              " slice(y), slice={[1:" + std::to_string(n) + "]} last = f32[1] slice(x), slice={[0:1]} turned = " + v +
              " concatenate(head, last), dimensions={0} half = f32[] constant(0.5) h = " + v +
              " broadcast(half), dimensions={} xh = " + v + " multiply(x, h) z = " + v +
              " add(xh, turned) ROOT r = " + state + " tuple(j, z, x) } again { s = " + state +
              " parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(9)"
              " ROOT r = pred[] compare(i, n), direction=LT } ENTRY e { i = s32[] parameter(0) x = " +
              v + " parameter(1) y = " + v + " parameter(2) s = " + state + " tuple(i, x, y) ROOT loop = " + state +
              " while(s), condition=again, body=body }");
  }
}

// The data determine the number of trips. The reduced vectors have several shapes.
TEST(EmittersBlock, LoopsUntilConvergence) {
  for (const char* v : {"f32[7]", "f32[100]", "f32[4096]", "f32[3,50]"}) {
    const std::string vector = v, state = "(s32[], " + vector + ", f32[])";
    const std::string dims = vector.find(',') != std::string::npos ? "{0,1}" : "{0}";
    CheckLoop(std::string("HloModule m ") + kMax + "body { s = " + state +
                  " parameter(0) i = s32[] get-tuple-element(s), index=0 x = " + vector +
                  " get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)"
                  " two = f32[] constant(2) twos = " +
                  vector +
                  " broadcast(two), dimensions={} half = f32[] constant(0.5)"
                  " halves = " +
                  vector + " broadcast(half), dimensions={} q = " + vector + " divide(twos, x) a = " + vector +
                  " add(x, q) y = " + vector + " multiply(halves, a) d = " + vector + " subtract(y, x) m = " + vector +
                  " abs(d) low = f32[] constant(-inf) change = f32[] reduce(m, low), dimensions=" + dims +
                  ", to_apply=max ROOT r = " + state + " tuple(j, y, change) } again { s = " + state +
                  " parameter(0) c = f32[] get-tuple-element(s), index=2 least = f32[] constant(1e-3)"
                  " i = s32[] get-tuple-element(s), index=0 most = s32[] constant(40)"
                  " few = pred[] compare(i, most), direction=LT far = pred[] compare(c, least), direction=GT"
                  " ROOT r = pred[] and(few, far) } ENTRY e { x = " +
                  vector + " parameter(0) a = " + vector +
                  " abs(x) z = s32[] constant(0) one = f32[] constant(1) ones = " + vector +
                  " broadcast(one), dimensions={} b = " + vector + " add(a, ones) s = " + state +
                  " tuple(z, b, one) ROOT loop = " + state + " while(s), condition=again, body=body }",
              Inputs::kPlain);
  }
}

TEST(EmittersBlock, UpdatesInPlaceAndComputesSums) {
  CheckLoop(std::string("HloModule m ") + kSum + R"(
    body { s = (s32[], f32[20,30], f32[30], f32[]) parameter(0)
      i = s32[] get-tuple-element(s), index=0 all = f32[20,30] get-tuple-element(s), index=1
      x = f32[30] get-tuple-element(s), index=2 t = f32[] get-tuple-element(s), index=3
      one = s32[] constant(1) j = s32[] add(i, one) zero = s32[] constant(0)
      row = f32[1,30] reshape(x) filled = f32[20,30] dynamic-update-slice(all, row, i, zero)
      z = f32[] constant(0) of_x = f32[] reduce(x, z), dimensions={0}, to_apply=sum
      b = f32[30] broadcast(t), dimensions={} y = f32[30] add(x, b) q = f32[] constant(0.25) u = f32[] multiply(of_x, q)
      ROOT r = (s32[], f32[20,30], f32[30], f32[]) tuple(j, filled, y, u) }
    again { s = (s32[], f32[20,30], f32[30], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(6) ROOT r = pred[] compare(i, n), direction=LT }
    ENTRY e { i = s32[] parameter(0) all = f32[20,30] parameter(1) x = f32[30] parameter(2) t = f32[] constant(1)
      s = (s32[], f32[20,30], f32[30], f32[]) tuple(i, all, x, t)
      ROOT loop = (s32[], f32[20,30], f32[30], f32[]) while(s), condition=again, body=body })");
}

// A loop in a loop, with state that moves from one element of the tuple to another and with arrays that both loops only
// read.
TEST(EmittersBlock, ComputesALoopInALoop) {
  CheckLoop(R"(HloModule m
    inner { s = (s32[], f32[40], f32[40]) parameter(0) i = s32[] get-tuple-element(s), index=0
      x = f32[40] get-tuple-element(s), index=1 w = f32[40] get-tuple-element(s), index=2
      one = s32[] constant(1) j = s32[] add(i, one) y = f32[40] add(x, w)
      ROOT r = (s32[], f32[40], f32[40]) tuple(j, y, w) }
    inner_again { s = (s32[], f32[40], f32[40]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3) ROOT r = pred[] compare(i, n), direction=LT }
    outer { s = (s32[], f32[40], f32[40], f32[40]) parameter(0) i = s32[] get-tuple-element(s), index=0
      x = f32[40] get-tuple-element(s), index=1 y = f32[40] get-tuple-element(s), index=2
      w = f32[40] get-tuple-element(s), index=3 zero = s32[] constant(0)
      t = (s32[], f32[40], f32[40]) tuple(zero, x, w)
      loop = (s32[], f32[40], f32[40]) while(t), condition=inner_again, body=inner
      z = f32[40] get-tuple-element(loop), index=1 one = s32[] constant(1) j = s32[] add(i, one)
      ROOT r = (s32[], f32[40], f32[40], f32[40]) tuple(j, y, z, w) }
    outer_again { s = (s32[], f32[40], f32[40], f32[40]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(5) ROOT r = pred[] compare(i, n), direction=LT }
    ENTRY e { i = s32[] parameter(0) x = f32[40] parameter(1) y = f32[40] parameter(2) w = f32[40] parameter(3)
      s = (s32[], f32[40], f32[40], f32[40]) tuple(i, x, y, w)
      ROOT loop = (s32[], f32[40], f32[40], f32[40]) while(s), condition=outer_again, body=outer })");
}

TEST(EmittersBlock, KeepsLargeStateInScratchMemory) {
  CheckLoop(R"(HloModule m
    body { s = (s32[], f64[9000], bf16[777]) parameter(0) i = s32[] get-tuple-element(s), index=0
      x = f64[9000] get-tuple-element(s), index=1 b = bf16[777] get-tuple-element(s), index=2
      one = s32[] constant(1) j = s32[] add(i, one) y = f64[9000] reverse(x), dimensions={0} z = f64[9000] add(x, y)
      c = bf16[777] add(b, b) ROOT r = (s32[], f64[9000], bf16[777]) tuple(j, z, c) }
    again { s = (s32[], f64[9000], bf16[777]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(4) ROOT r = pred[] compare(i, n), direction=LT }
    ENTRY e { i = s32[] parameter(0) x = f64[9000] parameter(1) b = bf16[777] parameter(2)
      s = (s32[], f64[9000], bf16[777]) tuple(i, x, b)
      ROOT loop = (s32[], f64[9000], bf16[777]) while(s), condition=again, body=body })");
}

}  // namespace
}  // namespace hlo::gpu
