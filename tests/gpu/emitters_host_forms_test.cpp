// Tests of kernel forms that are planned only for a host: short rows by threads, runs side by side, and rows in the
// order in which they are read. All sums of the integer inputs are exact, so the default of 0 ulps requires the
// interpreter's values.
#include <gtest/gtest.h>

#include "base/text.h"
#include "emitters_harness.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {
namespace {

// The fusion of `text` with the host's plan written into it, so that every device obeys it. Expects that the last
// kernel is of `kind` with this tile.
std::unique_ptr<Module> ForHost(const std::string& text, KernelKind kind, const std::vector<int64_t>& tile,
                                int64_t fetched_bytes = 64) {
  auto module = Fused(text, FusionKind::kInput);
  Instruction& root = module->entry().root();
  auto plan = PlanKernels(root, HostDescription(2, 32, fetched_bytes));
  if (!plan) {
    ADD_FAILURE() << plan.error().message();
    return module;
  }
  EXPECT_EQ(plan->kernels.back().kind, kind) << text;
  EXPECT_EQ(plan->kernels.back().tile, tile) << text;
  plan->target.clear();
  SetPlan(root, *plan);
  return module;
}

constexpr std::string_view kReducers =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) } "
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) } "
    "half { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT m = bf16[] add(a, b) } "
    "most { a = s8[] parameter(0) b = s8[] parameter(1) ROOT m = s8[] maximum(a, b) } "
    "more { a = s32[] parameter(0) b = s32[] parameter(1) o = s32[] constant(1) s = s32[] add(a, b)"
    " ROOT r = s32[] add(s, o) } "
    "argmax { av = f32[] parameter(0) ai = s32[] parameter(1) bv = f32[] parameter(2) bi = s32[] parameter(3)"
    " k = pred[] compare(av, bv), direction=GE v = f32[] select(k, av, bv) j = s32[] select(k, ai, bi)"
    " ROOT r = (f32[], s32[]) tuple(v, j) } "
    // The order of the reduction is free. The smallest index of equal values wins.
    "first { av = f32[] parameter(0) ai = s32[] parameter(1) bv = f32[] parameter(2) bi = s32[] parameter(3)"
    " g = pred[] compare(av, bv), direction=GT e = pred[] compare(av, bv), direction=EQ"
    " l = pred[] compare(ai, bi), direction=LT el = pred[] and(e, l) k = pred[] or(g, el) v = f32[] select(k, av, bv)"
    " j = s32[] select(k, ai, bi) ROOT r = (f32[], s32[]) tuple(v, j) } ";

TEST(EmitRowReduction, AThreadComputesEachShortRow) {
  const std::string reducers(kReducers);
  // A tile has 64 rows if they and their transposed copy fill less than half of the nearest cache, otherwise 32. Rows
  // of more than 32 elements are read in pieces of 16.
  const auto rows = [](int64_t row, int64_t bytes) {
    const int64_t columns = row <= 32 ? row : 16;
    return std::vector<int64_t>{64 * (columns / 16 + 1) * 16 * bytes < 8 << 10 ? 64 : 32, columns};
  };
  struct Case {
    int64_t rows, row;
  };
  for (const Case& c : {Case{64, 30}, Case{70, 17}, Case{200, 63}, Case{129, 32}, Case{66, 48}, Case{65, 33},
                        Case{70, 100}, Case{64, 255}}) {
    const std::string from = Str("[", c.rows, ",", c.row, "]"), to = Str("[", c.rows, "]");
    Check(*ForHost(reducers + "ENTRY e { x = f32" + from + " parameter(0) y = f32" + from + " parameter(1) m = f32" +
                       from + " multiply(x, y) i = f32[] constant(3) ROOT r = f32" + to +
                       " reduce(m, i), dimensions={1}, to_apply=add }",
                   KernelKind::kRowReduction, rows(c.row, 4)));
    Check(*ForHost(reducers + "ENTRY e { x = bf16" + from + " parameter(0) i = bf16[] constant(0) ROOT r = bf16" + to +
                       " reduce(x, i), dimensions={1}, to_apply=half }",
                   KernelKind::kRowReduction, rows(c.row, 2)));
    Check(*ForHost(reducers + "ENTRY e { x = s8" + from + " parameter(0) i = s8[] constant(-128) ROOT r = s8" + to +
                       " reduce(x, i), dimensions={1}, to_apply=most }",
                   KernelKind::kRowReduction, rows(c.row, 1)));
    // The planner does not know an identity of this reducer.
    Check(*ForHost(reducers + "ENTRY e { x = s32" + from + " parameter(0) i = s32[] constant(5) ROOT r = s32" + to +
                       " reduce(x, i), dimensions={1}, to_apply=more }",
                   KernelKind::kRowReduction, rows(c.row, 4)));
  }
  Check(*ForHost(reducers + "ENTRY e { x = f32[100,30] parameter(0) i = f32[] constant(-inf)"
                            " ROOT r = f32[100] reduce(x, i), dimensions={1}, to_apply=max }",
                 KernelKind::kRowReduction, rows(30, 4)),
        Inputs::kReals);
}

// Several reductions at once, with pairs, an epilogue, and intermediate results that are also stored.
TEST(EmitRowReduction, AThreadComputesSeveralReductionsOfAShortRow) {
  const std::string reducers(kReducers);
  const std::vector<int64_t> tile = {32, 30};
  Check(*ForHost(reducers + "ENTRY e { x = f32[70,30] parameter(0) z = f32[] constant(0) m = f32[] constant(-inf)"
                            " y = f32[70,30] multiply(x, x) s = f32[70] reduce(y, z), dimensions={1}, to_apply=add"
                            " h = f32[70] reduce(x, m), dimensions={1}, to_apply=max q = f32[70] parameter(1)"
                            " d = f32[70] subtract(s, q) ROOT r = (f32[70], f32[70], f32[70,30]) tuple(d, h, y) }",
                 KernelKind::kRowReduction, tile));
  Check(*ForHost(reducers + "ENTRY e { x = f32[70,30] parameter(0) i = s32[70,30] iota(), iota_dimension=1"
                            " m = f32[] constant(-inf) z = s32[] constant(0)"
                            " ROOT r = (f32[70], s32[70]) reduce(x, i, m, z), dimensions={1}, to_apply=argmax }",
                 KernelKind::kRowReduction, tile));
  for (const std::string_view row : {"33", "57", "90", "250"}) {
    const std::string from = Str("[70,", row, "]");
    Check(*ForHost(reducers + "ENTRY e { x = f32" + from + " parameter(0) i = s32" + from +
                       " iota(), iota_dimension=1 m = f32[] constant(-inf) z = s32[] constant(0)"
                       " ROOT r = (f32[70], s32[70]) reduce(x, i, m, z), dimensions={1}, to_apply=first }",
                   KernelKind::kRowReduction, {32, 16}));
  }
}

// Maxima and minima of NaN with either sign, infinities, and zeros of both signs are computed from their bits as
// integers.
TEST(EmitRowReduction, Computes16BitMaximaAndMinima) {
  const auto reduce = [](std::string_view type, std::string_view op, std::string_view dims, std::string_view initial,
                         std::string_view made) {
    const std::string_view rows = dims.substr(0, dims.find(','));
    return Str("f { a = ", type, "[] parameter(0) b = ", type, "[] parameter(1) ROOT m = ", type, "[] ", op,
               "(a, b) } ENTRY e { x = ", type, "[", dims, "] parameter(0) z = ", type, "[] constant(-0) zs = ", type,
               "[", dims, "] broadcast(z), dimensions={} n = ", type, "[", dims, "] negate(x) m = ", type, "[", dims,
               "] multiply(x, zs) i = ", type, "[] constant(", initial, ") ROOT r = ", type, "[", rows, "] reduce(",
               made, ", i), dimensions={1}, to_apply=f }");
  };
  for (const std::string_view type : {"bf16", "f16"}) {
    for (const std::string_view op : {"maximum", "minimum"}) {
      for (const std::string_view dims : {"9,777", "3,1024", "70,100"}) {
        const std::vector<int64_t> tile = dims == "70,100" ? std::vector<int64_t>{64, 16} : std::vector<int64_t>{1, 32};
        const auto check = [&](std::string_view initial, std::string_view made, Inputs inputs) {
          Check(*ForHost(reduce(type, op, dims, initial, made), KernelKind::kRowReduction, tile), inputs);
        };
        check(op == "maximum" ? "-inf" : "inf", "x", Inputs::kReals);
        check("1", "x", Inputs::kPlain);
        check("nan", "n", Inputs::kPlain);
        check("-0", "m", Inputs::kPlain);  // All elements are zeros, of both signs.
      }
    }
  }
}

TEST(EmitTranspose, InterleavesRuns) {
  const auto text = [](std::string_view type, int64_t batch, int64_t runs, int64_t run) {
    return Str("ENTRY e { x = ", type, "[", batch, ",", runs, ",", run, "] parameter(0) b = ", type, "[", runs,
               "] parameter(1) t = ", type, "[", batch, ",", run, ",", runs,
               "] transpose(x), dimensions={0,2,1} c = ", type, "[", batch, ",", run, ",", runs,
               "] broadcast(b), dimensions={2} ROOT r = ", type, "[", batch, ",", run, ",", runs, "] add(t, c) }");
  };
  Check(*ForHost(text("f32", 5, 3, 64), KernelKind::kTranspose, {64, 3}));
  Check(*ForHost(text("f32", 3, 2, 37), KernelKind::kTranspose, {64, 2}));
  Check(*ForHost(text("bf16", 2, 3, 300), KernelKind::kTranspose, {256, 3}));
  Check(*ForHost(text("s8", 2, 4, 70), KernelKind::kTranspose, {96, 4}));
  Check(*ForHost(text("f64", 2, 8, 33), KernelKind::kTranspose, {64, 8}));
  // The arrays are large enough for streaming stores. The vectors are not multiples of a cache line.
  Check(*ForHost(text("f32", 30000, 3, 64), KernelKind::kTranspose, {64, 3}));
}

// Both sides are accessed in whole cache lines along strips. The last strip is shorter. The fusion also has other
// operations. Pairs of lines are used if memory is fetched in pairs and a row has an even number of lines.
TEST(EmitTranspose, TransposesWholeLinesInStrips) {
  for (const int64_t lines : {1, 2}) {
    const auto check = [&](const std::string& text, const std::vector<int64_t>& tile) {
      Check(*ForHost(text, KernelKind::kTranspose, tile, 64 * lines));
    };
    check(
        "ENTRY e { x = f32[2,1056,1040] parameter(0) y = f32[2,1040,1056] parameter(1)"
        " t = f32[2,1040,1056] transpose(x), dimensions={0,2,1} ROOT r = f32[2,1040,1056] add(t, y) }",
        {4096, 16 * lines, 16});
    check(
        "ENTRY e { x = s32[1552,1360] parameter(0) n = s32[1552,1360] negate(x)"
        " ROOT t = s32[1360,1552] transpose(n), dimensions={1,0} }",
        {4096, 16, 16});
    // Lines of 32 elements are transposed as squares of 16 in registers.
    check(
        "ENTRY e { x = bf16[2,2112,2080] parameter(0) y = bf16[2,2080,2112] parameter(1)"
        " t = bf16[2,2080,2112] transpose(x), dimensions={0,2,1} ROOT r = bf16[2,2080,2112] add(t, y) }",
        {4096, 32 * lines, 32});
  }
}

// The operand, the result or both have runs of a few elements. The tiles are boxes of consecutive elements, and the
// last boxes are smaller.
TEST(EmitTranspose, TransposesShortRunsInBoxes) {
  const auto text = [](std::string_view type, std::string_view from, std::string_view to, std::string_view order) {
    return Str("ENTRY e { x = ", type, "[", from, "] parameter(0) ROOT t = ", type, "[", to,
               "] transpose(x), dimensions={", order, "} }");
  };
  const auto check = [&](std::string_view type, std::string_view from, std::string_view to, std::string_view order,
                         const std::vector<int64_t>& tile) {
    Check(*ForHost(text(type, from, to, order), KernelKind::kTranspose, tile));
  };
  check("u32", "5,3,96,2", "5,2,96,3", "0,3,2,1", {2, 2, 96, 3});
  check("f32", "12,7,40,2", "40,7,12,2", "2,1,0,3", {40, 2, 12, 2});
  check("bf16", "100,4,5", "4,100,5", "1,0,2", {4, 100, 5});
  check("s8", "6,11,30,3", "3,30,11,6", "3,2,1,0", {3, 30, 11, 6});
  check("f64", "3,70,3,5", "5,3,3,70", "3,2,0,1", {5, 3, 53});
  check("pred", "250,9", "9,250", "1,0", {9, 250});
  // The fusion also has a scalar, and an array in the order of the result.
  Check(
      *ForHost("ENTRY e { x = f32[200,3,5] parameter(0) y = f32[5,3,200] parameter(1) z = f32[] parameter(2)"
               " t = f32[5,3,200] transpose(x), dimensions={2,1,0} b = f32[5,3,200] broadcast(z), dimensions={}"
               " m = f32[5,3,200] multiply(t, b) ROOT r = f32[5,3,200] add(m, y) }",
               KernelKind::kTranspose, {5, 3, 50}));
  // The rows of 5 elements are read as runs, and added in the order of the result.
  Check(
      *ForHost("ENTRY e { x = f32[200,3,5] parameter(0) y = f32[200,3,5] parameter(1) z = f32[5] parameter(2)"
               " a = f32[3,200,5] transpose(x), dimensions={1,0,2} b = f32[3,200,5] transpose(y), dimensions={1,0,2}"
               " c = f32[3,200,5] broadcast(z), dimensions={2} s = f32[3,200,5] add(a, b)"
               " ROOT r = f32[3,200,5] multiply(s, c) }",
               KernelKind::kTranspose, {3, 50, 5}));
}

int64_t TilesIn(const kernel::Region& region) {
  int64_t tiles = 0;
  for (const kernel::Instruction& instruction : region.body) {
    tiles += instruction.op == kernel::Op::kTile ? 1 : 0;
    for (const kernel::Region& inner : instruction.regions) tiles += TilesIn(inner);
  }
  return tiles;
}

// Each of eight concatenations has two parts. All combinations would be 256 tiles.
TEST(EmitLoop, ManyConcatenationsTakeFewTiles) {
  std::string text = "ENTRY e { ", sum = "c0";
  for (int i = 0; i < 8; ++i) {
    text +=
        Str("a", i, " = f32[", 4 * i + 3, ",64] parameter(", 2 * i, ") b", i, " = f32[", 37 - 4 * i, ",64] parameter(",
            2 * i + 1, ") c", i, " = f32[40,64] concatenate(a", i, ", b", i, "), dimensions={0} ");
    if (i == 0) continue;
    text += Str(i == 7 ? "ROOT " : "", "sum", i, " = f32[40,64] add(", sum, ", c", i, ") ");
    sum = Str("sum", i);
  }
  const auto module = ForHost(text + "}", KernelKind::kLoop, {8, 256});
  const auto kernels = Emit(module->entry().root());
  ASSERT_TRUE(kernels) << kernels.error().message();
  EXPECT_LE(TilesIn(kernels->front().kernel->body), 24);
  Check(*module);
}

// Rows that are adjacent in the operand are far apart in the result.
TEST(EmitLoop, RowsFollowTheOrderOfTheOperand) {
  Check(
      *ForHost("ENTRY e { x = bf16[16,20,128] parameter(0) ROOT t = bf16[20,16,128] transpose(x), dimensions={1,0,2} }",
               KernelKind::kLoop, {8, 512}));
  Check(*ForHost(
      "ENTRY e { x = f32[3,8,5,36] parameter(0) y = f32[36] parameter(1) t = f32[3,5,8,36] transpose(x),"
      " dimensions={0,2,1,3} b = f32[3,5,8,36] broadcast(y), dimensions={3} ROOT r = f32[3,5,8,36] add(t, b) }",
      KernelKind::kLoop, {8, 128}));
}

}  // namespace
}  // namespace hlo::gpu
