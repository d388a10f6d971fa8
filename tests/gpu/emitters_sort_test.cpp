// Tests of sort and topk as kernels against the interpreter, with every way to divide the work, on odd shapes. With
// comparators that are not an order, the result must be some permutation.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "gpu/codegen/emulator.h"
#include "gpu/emitters/sort_kernel.h"
#include "gpu/plan/sort_space.h"
#include "interp/interpreter.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

std::string Comparator(std::string_view type, std::string_view compare, int payloads = 0,
                       std::string_view payload = "s32") {
  std::string text = Str("before { a = ", type, "[] parameter(0) b = ", type, "[] parameter(1)");
  for (int i = 0; i < 2 * payloads; ++i) text += Str(" p", i, " = ", payload, "[] parameter(", i + 2, ")");
  return Str(text, " ROOT r = pred[] compare(a, b), ", compare, " } ");
}

std::string SortOf(std::string_view type, std::string_view dims, int dimension, std::string_view compare) {
  const std::string t = Str(type, "[", dims, "]");
  return Str(Comparator(type, compare), "ENTRY e { x = ", t, " parameter(0) ROOT r = ", t, " sort(x), dimensions={",
             dimension, "}, to_apply=before }");
}

std::string SortWith(std::string_view dims, int dimension, std::string_view compare,
                     const std::vector<std::string>& payloads) {
  std::string body = "before { a = f32[] parameter(0) b = f32[] parameter(1)", entry, shapes, operands;
  for (size_t i = 0; i < payloads.size(); ++i) {
    for (int side = 0; side < 2; ++side)
      body += Str(" p", 2 * i + side, " = ", payloads[i], "[] parameter(", 2 * i + 2 + side, ")");
    entry += Str(" y", i, " = ", payloads[i], "[", dims, "] parameter(", i + 1, ")");
    shapes += Str(", ", payloads[i], "[", dims, "]");
    operands += Str(", y", i);
  }
  return Str(body, " ROOT r = pred[] compare(a, b), ", compare, " } ENTRY e { x = f32[", dims, "] parameter(0)", entry,
             " ROOT r = (f32[", dims, "]", shapes, ") sort(x", operands, "), dimensions={", dimension,
             "}, is_stable=true, to_apply=before }");
}

// The module with a plan for these tiles in its fusion.
std::unique_ptr<Module> Tiled(const std::string& text, int64_t threads, const std::vector<int64_t>& tile) {
  auto module = Fused(text);
  Instruction& root = const_cast<Instruction&>(module->entry().root());
  const FusionBody body(root);
  const auto space = SortSpaceOf(body);
  EXPECT_TRUE(space && *space) << text;
  KernelPlan kernel{
      .kind = KernelKind::kSort, .heroes = {std::string((*space)->inst->name())}, .tile = tile, .threads = threads};
  FusionPlan plan{.target = std::string(DefaultDevice().name)};
  for (const SortStepAt& each : SortSteps(**space, SortShape(kernel))) {
    kernel.algorithm = ToString(each.step);
    plan.kernels.push_back(kernel);
  }
  SetPlan(root, plan);
  return module;
}

// The tiles are processed by one thread, as on the host, and by many threads, as on a GPU. Sorting is by merging or by
// digits. Lines have at most 512 elements.
void CheckMerged(const std::string& text, Inputs inputs = Inputs::kIntegers) {
  SCOPED_TRACE(text);
  Check(*Tiled(text, 32, {64, 64, 1}), inputs);
  Check(*Tiled(text, 64, {128, 2, 1}), inputs);
}
void CheckByDigits(const std::string& text, Inputs inputs = Inputs::kIntegers) {
  SCOPED_TRACE(text);
  Check(*Tiled(text, 32, {512, 512, 256}), inputs);
  Check(*Tiled(text, 64, {512, 8, 16}), inputs);
}

TEST(EmitSort, SortsAnyLength) {
  for (const char* dims : {"1", "2", "33", "300"}) {
    CheckByDigits(SortOf("s32", dims, 0, "direction=LT"));
    CheckMerged(SortOf("f32", dims, 0, "direction=GT"));
  }
  for (const char* dims : {"1", "7", "5000"}) Check(*Fused(SortOf("f32", dims, 0, "direction=LT")));
}

// Long lines take several tiles. Digits are counted, placed and moved by separate kernels.
TEST(EmitSort, SortsSeveralTilesByDigits) {
  for (const std::string& text :
       {SortOf("s8", "2,300", 1, "direction=GT"), SortOf("f16", "300,2", 0, "direction=LT, type=TOTALORDER"),
        SortWith("130", 0, "direction=GT, type=TOTALORDER", {"s32"}),
        SortWith("130", 0, "direction=LT, type=TOTALORDER", {"bf16", "s8"})}) {
    SCOPED_TRACE(text);
    Check(*Tiled(text, 32, {64, 64, 256}), Inputs::kReals);
    Check(*Tiled(text, 32, {64, 2, 16}), Inputs::kReals);
  }
  Check(*Tiled(SortOf("u64", "700", 0, "direction=GT"), 32, {256, 8, 256}), Inputs::kWide);
  Check(*Fused(SortOf("u16", "3,20000", 1, "direction=GT")), Inputs::kWide);
}

// On a GPU, blocks run concurrently. Here they run one after the other, so each block finds complete prefix sums of the
// block before it. The test replaces the published sums of most blocks by the block's own counts, so the next blocks
// must add up several counts.
TEST(EmitSort, TilesAddUpCountsOfEarlierTiles) {
  constexpr int64_t kLength = 1000, kTile = 64, kDigits = 32, kTiles = 16;
  constexpr uint32_t kOfTile = 1U << 30;
  const auto module = Tiled(SortOf("u8", "1000", 0, "direction=LT"), 32, {kTile, 2, kDigits});
  const auto kernels = Emit(module->entry().root());
  ASSERT_TRUE(kernels) << kernels.error().message();
  std::vector<uint8_t> keys, result(kLength);
  for (int64_t i = 0; i < kLength; ++i) keys.push_back(static_cast<uint8_t>(i * 7919 % 251));
  std::map<int, std::vector<char>> scratch;
  int64_t pass = -1;  // The first kernel counts and makes no pass.
  for (const EmittedKernel& each : *kernels) {
    std::vector<void*> arguments;
    for (const KernelBuffer& buffer : each.buffers) {
      if (buffer.kind == KernelBuffer::Kind::kOperand) arguments.push_back(keys.data());
      if (buffer.kind == KernelBuffer::Kind::kOutput) arguments.push_back(result.data());
      if (buffer.kind == KernelBuffer::Kind::kLiteral)
        arguments.push_back(const_cast<std::byte*>(buffer.literal.raw()));
      if (buffer.kind != KernelBuffer::Kind::kScratch) continue;
      arguments.push_back(scratch.try_emplace(buffer.scratch, buffer.bytes, 0).first->second.data());
    }
    std::vector<uint32_t> before(kDigits);
    for (int64_t block = 0; block < each.kernel->blocks; ++block) {
      const auto report = kernel::Emulate(*each.kernel, arguments, {.blocks = {block}});
      ASSERT_TRUE(report && report->clean()) << (report ? report->ToString() : report.error().message());
      if (pass < 0) continue;
      auto* const state = reinterpret_cast<uint32_t*>(scratch.at(kStates).data()) + (pass * kTiles + block) * kDigits;
      for (int64_t digit = 0; digit < kDigits; ++digit) {
        const uint32_t all = state[digit] & (kOfTile - 1);
        if (block % 7 != 0) state[digit] = kOfTile | (all - before[digit]);
        before[digit] = all;
      }
    }
    ++pass;
  }
  std::ranges::sort(keys);
  EXPECT_EQ(result, keys);
}

TEST(EmitSort, SortsAnyDimension) {
  for (const int dimension : {0, 1, 2}) {
    Check(*Fused(SortOf("f32", "3,70,5", dimension, "direction=LT")));
    CheckByDigits(SortOf("u16", "2,70,3", dimension, "direction=GT"));
    Check(*Tiled(SortOf("u16", "2,70,3", dimension, "direction=GT"), 32, {128, 4, 256}), Inputs::kWide);
  }
  Check(
      *Fused("before { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT } "
             "ENTRY e { x = s32[6,40]{0,1} parameter(0) ROOT r = s32[6,40]{1,0} sort(x), dimensions={0},"
             " to_apply=before }"));
}

TEST(EmitSort, SortsEmptyArrays) {
  for (const char* dims : {"0", "0,3", "3,0"}) Check(*Fused(SortOf("f32", dims, 0, "direction=LT")));
}

TEST(EmitSort, SortsEveryKeyType) {
  for (const char* type : {"pred", "s8", "s16", "s64", "u8", "u32", "u64"})
    CheckByDigits(SortOf(type, "2,150", 1, "direction=LT"));
  for (const char* type : {"f16", "bf16", "f32", "f64"})
    CheckByDigits(SortOf(type, "2,150", 1, "direction=LT, type=TOTALORDER"), Inputs::kReals);
  for (const char* type : {"pred", "s32", "u8"}) CheckByDigits(SortOf(type, "2,150", 1, "direction=GT"));
  CheckByDigits(SortOf("f32", "2,150", 1, "direction=GT, type=TOTALORDER"), Inputs::kReals);
}

// A tile with a NaN that the comparator does not order is merged as the interpreter merges a line.
TEST(EmitSort, SortsNanLikeTheInterpreter) {
  Check(*Tiled(SortOf("f32", "2,250", 1, "direction=LT"), 32, {256, 256, 1}), Inputs::kReals);
  Check(*Tiled(SortOf("f16", "2,250", 1, "direction=GT"), 64, {256, 4, 1}), Inputs::kReals);
  Check(*Fused(SortOf("f32", "5,250", 0, "direction=LT")), Inputs::kReals);
}

TEST(EmitSort, MovesPayloads) {
  for (const auto& payloads : std::vector<std::vector<std::string>>{{"s32"}, {"f64"}, {"bf16", "s8", "pred"}}) {
    CheckByDigits(SortWith("3,90", 1, "direction=GT, type=TOTALORDER", payloads), Inputs::kReals);
    CheckMerged(SortWith("3,90", 1, "direction=LT", payloads));
  }
  // The key is not the first operand, and one operand is a result of its own.
  CheckByDigits(
      "before { a = s32[] parameter(0) b = s32[] parameter(1) c = u8[] parameter(2) d = u8[] parameter(3)"
      " ROOT r = pred[] compare(d, c), direction=LT }"
      " ENTRY e { x = s32[130] parameter(0) y = u8[130] parameter(1)"
      " s = (s32[130], u8[130]) sort(x, y), dimensions={0}, to_apply=before"
      " ROOT r = s32[130] get-tuple-element(s), index=0 }");
}

// JAX treats -0 and +0 as equal, and all NaN as equal.
constexpr const char* kCanonical =
    "before { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)"
    " zero = f32[] constant(0) none = f32[] constant(nan)"
    " a0 = pred[] compare(a, zero), direction=EQ a1 = f32[] select(a0, zero, a)"
    " an = pred[] compare(a, a), direction=NE a2 = f32[] select(an, none, a1)"
    " b0 = pred[] compare(b, zero), direction=EQ b1 = f32[] select(b0, zero, b)"
    " bn = pred[] compare(b, b), direction=NE b2 = f32[] select(bn, none, b1)"
    " ROOT r = pred[] compare(a2, b2), direction=LT, type=TOTALORDER } ";

TEST(EmitSort, SortsByComputedKeys) {
  const std::string text = Str(kCanonical,
                               "ENTRY e { x = f32[2,140] parameter(0) y = s32[2,140] iota(), iota_dimension=1"
                               " ROOT r = (f32[2,140], s32[2,140]) sort(x, y), dimensions={1}, to_apply=before }");
  CheckByDigits(text, Inputs::kReals);
  // The comparator that XLA's expansion of the total order produces.
  const auto bits = [](std::string_view x) {
    return Str(" ", x, "i = s32[] bitcast-convert(", x, ") ", x, "u = u32[] bitcast-convert(", x, ") ", x,
               "f = u32[] subtract(most, ", x, "u) ", x, "s = s32[] bitcast-convert(", x, "f) ", x,
               "n = pred[] compare(", x, "i, zero), direction=LT ", x, "k = s32[] select(", x, "n, ", x, "s, ", x,
               "i)");
  };
  CheckByDigits(Str("before { a = f32[] parameter(0) b = f32[] parameter(1) most = u32[] constant(2147483647)"
                    " zero = s32[] constant(0)",
                    bits("a"), bits("b"),
                    " ROOT r = pred[] compare(ak, bk), direction=LT } ENTRY e { x = f32[150] parameter(0)"
                    " ROOT r = f32[150] sort(x), dimensions={0}, to_apply=before }"),
                Inputs::kReals);
}

TEST(EmitSort, SortsBySeveralKeys) {
  CheckMerged(
      "before { a = s32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)"
      " l = pred[] compare(a, b), direction=LT e = pred[] compare(a, b), direction=EQ"
      " m = pred[] compare(c, d), direction=GT, type=TOTALORDER o = pred[] and(e, m) ROOT r = pred[] or(l, o) }"
      " ENTRY e { x = s32[3,110] parameter(0) y = f32[3,110] parameter(1)"
      " ROOT r = (s32[3,110], f32[3,110]) sort(x, y), dimensions={1}, to_apply=before }");
}

// Each element is output exactly once with every comparator: LE, a constant, and a relation with cycles.
TEST(EmitSort, ComparatorsWithoutOrderGiveAPermutation) {
  for (const char* body : {"ROOT r = pred[] compare(a, b), direction=LE", "ROOT r = pred[] constant(true)",
                           "ROOT r = pred[] constant(false)",
                           "five = s32[] constant(5) m = s32[] multiply(a, five) s = s32[] subtract(m, b)"
                           " eleven = s32[] constant(11) q = s32[] remainder(s, eleven) three = s32[] constant(3)"
                           " ROOT r = pred[] compare(q, three), direction=LT"}) {
    const std::string text = Str("before { a = s32[] parameter(0) b = s32[] parameter(1) ", body,
                                 " } ENTRY e { x = s32[300] parameter(0)"
                                 " ROOT r = s32[300] sort(x), dimensions={0}, to_apply=before }");
    SCOPED_TRACE(text);
    for (const auto& tile : std::vector<std::vector<int64_t>>{{32, 32, 1}, {128, 128, 1}, {128, 2, 1}, {512, 8, 1}}) {
      const auto module = Tiled(text, tile[0] == tile[1] ? 32 : 64, tile);
      Literal input(Shape(PrimitiveType::kS32, {300}));
      for (int64_t i = 0; i < 300; ++i) input.SetInt(i, i * 7919 % 300);
      const Literal inputs[] = {input};
      const auto emulated = RunKernels(*module, inputs, On::kEmulator), host = RunKernels(*module, inputs, On::kHost);
      ASSERT_TRUE(emulated && host);
      EXPECT_TRUE(host->BitEquals(*emulated));
      std::vector<int64_t> found, all(300);
      for (int64_t i = 0; i < 300; ++i) found.push_back(host->GetInt(i));
      std::ranges::sort(found);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(found, all);
    }
  }
}

std::string TopKOf(std::string_view type, std::string_view dims, std::string_view rows, int k, std::string_view more) {
  return Str("ENTRY e { x = ", type, "[", dims, "] parameter(0) ROOT r = (", type, "[", rows, k, "], s32[", rows, k,
             "]) topk(x), k=", k, ", ", more, " }");
}

TEST(EmitTopK, ReturnsTheBestFirst) {
  for (const char* type : {"s8", "u32", "bf16", "f32", "f64"}) {
    for (const char* more : {"largest=true", "largest=false"}) {
      CheckByDigits(TopKOf(type, "3,77", "3,", 5, more), Inputs::kReals);
    }
  }
  CheckMerged(TopKOf("f16", "3,200", "3,", 200, "largest=true"), Inputs::kReals);
  Check(*Fused(TopKOf("f32", "300", "", 1, "largest=true")), Inputs::kReals);
  Check(*Fused(TopKOf("f32", "3,40", "3,", 0, "largest=true")), Inputs::kReals);
}

// The first k elements are selected from a line or from its tiles. The buffer is small and often full, and many keys
// are equal.
TEST(EmitTopK, SelectsFromLongLines) {
  for (const char* type : {"s8", "u32", "bf16", "f32", "f64"}) {
    for (const char* more : {"largest=true", "largest=false"}) {
      const std::string text = TopKOf(type, "2,600", "2,", 9, more);
      SCOPED_TRACE(text);
      Check(*Tiled(text, 64, {1024, 1024, 256, 5}), Inputs::kIntegers);
      Check(*Tiled(text, 32, {128, 128, 16, 3}), Inputs::kReals);
    }
  }
  Check(*Tiled(TopKOf("f32", "900", "", 1, "largest=true"), 64, {256, 256, 256, 1}), Inputs::kReals);
  Check(*Tiled(TopKOf("s32", "130", "", 64, "largest=false"), 32, {64, 64, 256, 128}), Inputs::kIntegers);
  Check(*Tiled(TopKOf("f32", "0,300", "0,", 5, "largest=true"), 32, {64, 64, 256, 8}), Inputs::kReals);
}

TEST(EmitTopK, HostsSelectIfKIsSmall) {
  const auto tile = [](const std::string& text, int multiprocessors) {
    const auto module = Fused(text);
    const auto plan = PlanKernels(module->entry().root(), HostDescription(multiprocessors, 32));
    EXPECT_TRUE(plan);
    std::vector<std::string> steps;
    for (const KernelPlan& kernel : plan->kernels) steps.push_back(kernel.algorithm);
    return Str(Join(steps, " "), " ", plan->kernels[0].tile[0]);
  };
  EXPECT_EQ(tile(TopKOf("f32", "64,50304", "64,", 50, "largest=true"), 2), "select_lines 65536");
  EXPECT_EQ(tile(TopKOf("f32", "2000000", "", 10, "largest=true"), 2), "select_tiles select_lines 524288");
  EXPECT_EQ(tile(TopKOf("f32", "4,5000", "4,", 1000, "largest=true"), 2), "radix_lines 8192");
  EXPECT_EQ(tile(TopKOf("f32", "4,300", "4,", 3, "largest=true"), 2), "radix_lines 512");
}

}  // namespace
}  // namespace hlo::gpu
