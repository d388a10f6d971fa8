#include <gtest/gtest.h>

#include "base/text.h"
#include "ir/analysis/running_fold.h"
#include "ir/fusion_plan.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

std::string Reducer(std::string_view type, std::string_view op) {
  return Str("f { a = ", type, "[] parameter(0) b = ", type, "[] parameter(1) ROOT m = ", type, "[] ", op, "(a, b) } ");
}

// The attribute `window` of a scan along dimension `along` of size `count`, in an array with `rank` dimensions.
std::string WindowOf(int64_t rank, int64_t along, int64_t count, bool reverse = false, bool exclusive = false) {
  std::vector<std::string> sizes, pads;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = d == along ? count : 1, wide = d != along ? 0 : exclusive ? count : count - 1;
    const int64_t other = d == along && exclusive ? -1 : 0;
    sizes.push_back(Str(size));
    pads.push_back(reverse ? Str(other, "_", wide) : Str(wide, "_", other));
  }
  return Str("window={size=", Join(sizes, "x"), " pad=", Join(pads, "x"), "}");
}

// Checks the scan with the plan for a GPU and with the plan for a host.
void CheckScan(Module& module, Inputs inputs = Inputs::kIntegers, double ulps = 0) {
  Instruction& root = module.entry().root();
  for (const DeviceDescription& device : {DefaultDevice(), HostDescription(2, 32)}) {
    RemovePlans(module);
    auto plan = PlanKernels(root, device);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->kernels.back().kind, KernelKind::kScan) << ToJson(*plan);
    plan->target.clear();
    SetPlan(root, *plan);
    SCOPED_TRACE(ToJson(*plan));
    Check(module, inputs, ulps);
  }
}

struct Sizes {
  std::string dims;
  int64_t along, count;
};
void CheckSizes(const std::vector<Sizes>& all, bool reverse = false, bool exclusive = false) {
  for (const Sizes& each : all) {
    SCOPED_TRACE(each.dims);
    const int64_t rank = std::ranges::count(each.dims, ',') + 1;
    const std::string t = Str("f32[", each.dims, "]");
    CheckScan(*Fused(
        Str(Reducer("f32", "add"), "ENTRY e { x = ", t, " parameter(0) i = f32[] constant(3) ROOT r = ", t,
            " reduce-window(x, i), ", WindowOf(rank, each.along, each.count, reverse, exclusive), ", to_apply=f }"),
        FusionKind::kInput));
  }
}

// Rows for one warp, for one block, and for several blocks. Some are multiples of a step.
const std::vector<Sizes> kRowSizes = {{"5,17", 1, 17},     {"9,33", 1, 33},       {"3,300", 1, 300},
                                      {"4,1024", 1, 1024}, {"70,1029", 1, 1029},  {"70,2048", 1, 2048},
                                      {"2,5000", 1, 5000}, {"40003", 0, 40003},   {"2,16384", 1, 16384},
                                      {"3,2,130", 2, 130}, {"70,3,1100", 2, 1100}};
// Narrow and wide arrays, which are divided into strips. Some strips are shorter, and some are shared by several
// blocks.
const std::vector<Sizes> kColumnSizes = {{"17,5", 0, 17},      {"300,64", 0, 300},  {"40,1024", 0, 40},
                                         {"1000,17", 0, 1000}, {"33,2500", 0, 33},  {"3,50,70", 1, 50},
                                         {"2,513,36", 1, 513}, {"20,3,5,7", 0, 20}, {"2,64,9000", 1, 64},
                                         {"20,66000", 0, 20},  {"3000,34", 0, 3000}};

TEST(EmitScan, ScansRowsOfAnyLength) { CheckSizes(kRowSizes); }
TEST(EmitScan, ScansColumnsOfAnyShape) { CheckSizes(kColumnSizes); }
TEST(EmitScan, ScansInReverse) {
  CheckSizes(kRowSizes, /*reverse=*/true);
  CheckSizes(kColumnSizes, /*reverse=*/true);
}
TEST(EmitScan, ScansWithoutTheElementItself) {
  for (const bool reverse : {false, true}) {
    CheckSizes(kRowSizes, reverse, /*exclusive=*/true);
    CheckSizes(kColumnSizes, reverse, /*exclusive=*/true);
  }
}

TEST(EmitScan, ScansWithAnyReducerAndType) {
  const struct {
    const char *type, *op, *initial;
  } cases[] = {{"f32", "maximum", "-inf"}, {"f64", "minimum", "inf"}, {"s32", "add", "0"},     {"s8", "multiply", "1"},
               {"u16", "maximum", "0"},    {"s64", "add", "7"},       {"pred", "or", "false"}, {"u32", "xor", "0"},
               {"f16", "maximum", "-inf"}, {"bf16", "minimum", "inf"}};
  for (const auto& each : cases) {
    for (const int64_t along : {0, 1}) {
      for (const bool reverse : {false, true}) {
        const std::string t = Str(each.type, "[70,66]");
        CheckScan(*Fused(Str(Reducer(each.type, each.op), "ENTRY e { x = ", t, " parameter(0) i = ", each.type,
                             "[] constant(", each.initial, ") ROOT r = ", t, " reduce-window(x, i), ",
                             WindowOf(2, along, along == 0 ? 70 : 66, reverse), ", to_apply=f }")),
                  Inputs::kReals);
      }
    }
  }
}

// The accumulator is f32. Each result is rounded once, as the interpreter's is.
TEST(EmitScan, SumsOfBf16AreComputedInF32) {
  CheckScan(*Fused(Str(Reducer("bf16", "add"), "ENTRY e { x = bf16[6,500] parameter(0) i = bf16[] constant(0) ",
                       "ROOT r = bf16[6,500] reduce-window(x, i), ", WindowOf(2, 1, 500), ", to_apply=f }")));
}

// The pairs are affine maps, and the reducer composes them in order, which is not commutative.
TEST(EmitScan, OperandsStayInOrder) {
  const std::string maps =
      "f { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)"
      " s = s32[] multiply(a, c) m = s32[] multiply(b, c) o = s32[] add(m, d) ROOT r = (s32[], s32[]) tuple(s, o) } ";
  for (const int64_t along : {0, 1}) {
    CheckScan(*Fused(Str(maps, "ENTRY e { x = s32[300,70] parameter(0) y = s32[300,70] parameter(1)",
                         " i = s32[] constant(1) j = s32[] constant(0)",
                         " ROOT r = (s32[300,70], s32[300,70]) reduce-window(x, y, i, j), ",
                         WindowOf(2, along, along == 0 ? 300 : 70), ", to_apply=f }")));
  }
}

// The running maximum and its index, the first index among equal elements.
TEST(EmitScan, ComputesARunningArgmax) {
  const std::string larger =
      "f { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)"
      " c = pred[] compare(a, b), direction=GE v = f32[] select(c, a, b) w = s32[] select(c, i, j)"
      " ROOT r = (f32[], s32[]) tuple(v, w) } ";
  for (const int64_t along : {0, 1}) {
    CheckScan(*Fused(Str(larger, "ENTRY e { x = f32[90,200] parameter(0) y = s32[90,200] iota(), iota_dimension=",
                         along, " i = f32[] constant(-inf) j = s32[] constant(0)",
                         " ROOT r = (f32[90,200], s32[90,200]) reduce-window(x, y, i, j), ",
                         WindowOf(2, along, along == 0 ? 90 : 200), ", to_apply=f }")));
  }
}

TEST(EmitScan, ComputesProducersAndUsers) {
  for (const int64_t along : {0, 1}) {
    const std::string window = WindowOf(2, along, along == 0 ? 130 : 72);
    CheckScan(*Fused(Str(Reducer("f32", "add"), "ENTRY e { x = f32[130,72] parameter(0) w = s32[72] parameter(1)",
                         " k = f32[] parameter(2) c = f32[72] convert(w) b = f32[130,72] broadcast(c), dimensions={1}",
                         " m = f32[130,72] multiply(x, b) s = f32[130,72] reduce-window(m, k), ", window,
                         ", to_apply=f", " n = f32[130,72] subtract(s, x) o = s32[130,72] convert(n)",
                         " ROOT r = (s32[130,72], f32[130,72], f32[130,72]) tuple(o, s, m) }"),
                     FusionKind::kInput));
    // Two scans run in the same loop.
    CheckScan(*Fused(
        Str(Reducer("f32", "add"), "g { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) } ",
            "ENTRY e { x = f32[130,72] parameter(0) y = f32[130,72] parameter(1) z = f32[] constant(0)",
            " l = f32[] constant(-inf) s = f32[130,72] reduce-window(x, z), ", window, ", to_apply=f",
            " t = f32[130,72] reduce-window(y, l), ", window, ", to_apply=g ROOT r = f32[130,72] add(s, t) }"),
        FusionKind::kInput));
  }
}

TEST(EmitScan, ScansOtherLayoutsAndLoneInstructions) {
  CheckScan(*Fused(Str(Reducer("f32", "add"), "ENTRY e { x = f32[70,40]{0,1} parameter(0) i = f32[] constant(0)",
                       " ROOT r = f32[70,40]{1,0} reduce-window(x, i), ", WindowOf(2, 0, 70), ", to_apply=f }")));
  Check(*Parsed(Str(Reducer("f32", "add"), "ENTRY e { x = f32[70,40] parameter(0) i = f32[] parameter(1)",
                    " ROOT r = f32[70,40] reduce-window(x, i), ", WindowOf(2, 1, 40), ", to_apply=f }")));
}

TEST(EmitScan, RecognizesRunningFolds) {
  const auto fold = [](std::string_view dims, std::string_view window, std::string_view result = "f32[40]",
                       std::string_view op = "add") {
    const auto module =
        Parsed(Str(Reducer("f32", op), "ENTRY e { x = f32[", dims, "] parameter(0) i = f32[] constant(0)",
                   " ROOT r = ", result, " reduce-window(x, i), window={", window, "}, to_apply=f }"));
    return RunningFoldOf(module->entry().root());
  };
  EXPECT_EQ(fold("40", "size=40 pad=39_0"), (RunningFold{0, false, false}));
  EXPECT_EQ(fold("40", "size=40 pad=0_39"), (RunningFold{0, true, false}));
  EXPECT_EQ(fold("40", "size=40 pad=40_-1"), (RunningFold{0, false, true}));
  EXPECT_EQ(fold("40", "size=40 pad=-1_40"), (RunningFold{0, true, true}));
  EXPECT_EQ(fold("40", "size=50 pad=49_0"), (RunningFold{0, false, false}));  // The window is longer than the array.
  EXPECT_EQ(fold("40", "size=39 pad=39_-1"), (RunningFold{0, false, true}));
  EXPECT_EQ(fold("2,40", "size=1x40 pad=0_0x39_0", "f32[2,40]"), (RunningFold{1, false, false}));
  // The window is shorter than the array, so the last window drops an element.
  EXPECT_EQ(fold("40", "size=39 pad=38_0"), std::nullopt);
  EXPECT_EQ(fold("40", "size=40 pad=39_1", "f32[41]"), std::nullopt);  // There are more results than elements.
  EXPECT_EQ(fold("16", "size=16 pad=15_0", "f32[16]"), std::nullopt);  // The array is too short.
  EXPECT_EQ(fold("20,40", "size=20x40 pad=19_0x39_0", "f32[20,40]"), std::nullopt);
  // The initial value is the left operand of a subtraction, so it must come first.
  EXPECT_EQ(fold("40", "size=40 pad=0_39", "f32[40]", "subtract"), std::nullopt);
}

}  // namespace
}  // namespace hlo::gpu
