// Tests the search for arguments that reach all sides of sites (judge/reach/reach.h). Runs of random modules test the
// proofs.
#include <gtest/gtest.h>

#include <bit>

#include "base/text.h"
#include "compare_widened_cases.h"
#include "driver/fuzz/grow.h"
#include "interp/arguments/arguments.h"
#include "judge/reach/reach_search.h"
#include "judge/reach/value_bounds.h"

namespace hlo {
namespace {

struct Reached {
  std::unique_ptr<Module> module;
  std::unique_ptr<Reach> reach;
  std::vector<ReachingSet> sets;

  const Site& Of(std::string_view name, SiteKind kind) const {
    for (const Site& site : reach->sites()) {
      if (site.inst->name() == name && site.kind == kind) return site;
    }
    ADD_FAILURE() << "no site at " << name;
    return reach->sites().front();
  }
  bool HasAll(std::string_view name, SiteKind kind) const { return Of(name, kind).reached == Of(name, kind).all(); }
};

Reached Search(std::string text) {
  Reached found{Parsed(std::move(text)), nullptr, {}};
  found.reach = std::make_unique<Reach>(*found.module);
  const auto own = MakeArguments(*found.module, {.seed = 1});
  EXPECT_TRUE(own);
  const InterpretOptions interpret = {.max_steps = 100'000};
  auto run = found.reach->Run(*own, interpret);
  EXPECT_TRUE(run) << (run ? "" : run.error().message());
  if (run)
    found.sets = ArgumentsThatReach(*found.module, std::move(*run), {.seed = 1, .interpret = interpret}, *found.reach);
  return found;
}

std::string Entry(const std::string& body) { return "HloModule m\nENTRY main {\n" + body + "\n}\n"; }

TEST(JudgeReach, BothEndsOfAClampBehindArithmetic) {
  const Reached found = Search(Entry(R"(
    x = f32[2,3] parameter(0)
    two = f32[] constant(2)
    twos = f32[2,3] broadcast(two), dimensions={}
    scaled = f32[2,3] divide(x, twos)
    e = f32[2,3] exponential(scaled)
    t = f32[3,2] transpose(e), dimensions={1,0}
    low = f32[] constant(0.01)
    high = f32[] constant(600)
    ROOT c = f32[3,2] clamp(low, t, high))"));
  EXPECT_TRUE(found.HasAll("c", SiteKind::kClamp));
  EXPECT_LE(found.sets.size(), 2u);
}

TEST(JudgeReach, SidesOfSelectsBehindSumsAndProducts) {
  const Reached found = Search(Entry(R"(
    x = f32[8] parameter(0)
    w = f32[8,4] parameter(1)
    d = f32[4] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    limit = f32[] constant(1000)
    limits = f32[4] broadcast(limit), dimensions={}
    above = pred[4] compare(d, limits), direction=GT
    zero = f32[] constant(0)
    zeros = f32[4] broadcast(zero), dimensions={}
    ROOT s = f32[4] select(above, d, zeros))"));
  EXPECT_TRUE(found.HasAll("above", SiteKind::kCompare));
  EXPECT_TRUE(found.HasAll("s", SiteKind::kSelect));
}

// A negative index counts from the end, so that only indices below -8 are below the range.
TEST(JudgeReach, WrappedStartsOutOfRange) {
  const Reached found = Search(Entry(R"(
    x = f32[8] parameter(0)
    i = s32[] parameter(1)
    zero = s32[] constant(0)
    eight = s32[] constant(8)
    is_negative = pred[] compare(i, zero), direction=LT
    wrapped = s32[] add(i, eight)
    start = s32[] select(is_negative, wrapped, i)
    ROOT s = f32[3] dynamic-slice(x, start), dynamic_slice_sizes={3})"));
  EXPECT_TRUE(found.HasAll("s", SiteKind::kStart));
  EXPECT_TRUE(found.HasAll("is_negative", SiteKind::kCompare));
}

TEST(JudgeReach, EveryBranchAndWhatIsInIt) {
  const Reached found = Search(R"(HloModule m
one { x = f32[2] parameter(0)
  ROOT n = f32[2] negate(x) }
two { x = f32[2] parameter(0)
  c = f32[2] constant({100, 200})
  above = pred[2] compare(x, c), direction=GT
  ROOT s = f32[2] select(above, x, c) }
ENTRY main {
  i = s32[] parameter(0)
  x = f32[2] parameter(1)
  ROOT r = f32[2] conditional(i, x, x, x), branch_computations={one, two, one}
})");
  EXPECT_TRUE(found.HasAll("r", SiteKind::kBranch));
  EXPECT_TRUE(found.HasAll("above", SiteKind::kCompare));
}

TEST(JudgeReach, ANanForATestOfNan) {
  const Reached found = Search(Entry(R"(
    x = f32[3] parameter(0)
    y = f32[3] tanh(x)
    is_nan = pred[3] compare(y, y), direction=NE
    zero = f32[] constant(0)
    zeros = f32[3] broadcast(zero), dimensions={}
    ROOT s = f32[3] select(is_nan, zeros, y))"));
  EXPECT_TRUE(found.HasAll("s", SiteKind::kSelect));
}

TEST(JudgeReach, WhatIsAskedOfArgumentsIsKept) {
  const Reached found = Search(Entry(R"(
    x = s32[8] parameter(0)
    size = s32[] parameter(1)
    d = s32[<=8] set-dimension-size(x, size), dimensions={0}
    ten = s32[] constant(10)
    above = pred[] compare(size, ten), direction=GT
    ROOT r = (s32[<=8], pred[]) tuple(d, above))"));
  EXPECT_EQ(found.Of("above", SiteKind::kCompare).reached, 2u);  // A size above 8 is an error.
  for (const auto& set : found.sets) EXPECT_LE(set.arguments[1].GetInt(0), 8);
}

// Bounds prove that sides of a clamped start, a counter, an unsigned index and a square are unreachable. Dependence
// proves this for a decision about constants.
TEST(JudgeReach, UnreachableSidesAreProven) {
  const Reached found = Search(R"(HloModule m
condition { s = (s32[], f32[10]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT less = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[10]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[10] get-tuple-element(s), index=1
  counted = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}
  updated = f32[10] dynamic-update-slice(x, counted, i)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[10]) tuple(next, updated) }
ENTRY main {
  x = f32[10] parameter(0)
  i = s32[] parameter(1)
  u = u8[] parameter(2)
  zero = s32[] constant(0)
  seven = s32[] constant(7)
  c = s32[] clamp(zero, i, seven)
  clamped = f32[3] dynamic-slice(x, c), dynamic_slice_sizes={3}
  unsigned = f32[3] dynamic-slice(x, u), dynamic_slice_sizes={3}
  square = f32[10] multiply(x, x)
  zero_f = f32[] constant(0)
  zeros = f32[10] broadcast(zero_f), dimensions={}
  negative = pred[10] compare(square, zeros), direction=LT
  constants = pred[] compare(zero, seven), direction=GT
  init = (s32[], f32[10]) tuple(zero, x)
  loop = (s32[], f32[10]) while(init), condition=condition, body=body
  ROOT r = (f32[3], f32[3], pred[10], pred[], (s32[], f32[10])) tuple(clamped, unsigned, negative, constants, loop)
})");
  constexpr uint64_t kBelowBit = 1 << kBelow, kBeyondBit = 1 << kBeyond;
  EXPECT_EQ(found.Of("clamped", SiteKind::kStart).unreachable, kBelowBit | kBeyondBit);
  EXPECT_EQ(found.Of("unsigned", SiteKind::kStart).unreachable, kBelowBit);
  EXPECT_TRUE(found.Of("unsigned", SiteKind::kStart).reached & kBeyondBit);
  EXPECT_EQ(found.Of("counted", SiteKind::kStart).unreachable, kBelowBit);
  EXPECT_EQ(found.Of("negative", SiteKind::kCompare).unreachable, 1u);
  EXPECT_EQ(found.Of("constants", SiteKind::kCompare).unreachable, 1u);
}

TEST(JudgeReach, TheSameSetsAgain) {
  for (const uint64_t seed : {830002000, 830002001, 830002002}) {
    const std::unique_ptr<Module> module = GrowModule({.seed = seed});
    const auto own = MakeArguments(*module, {.seed = seed});
    ASSERT_TRUE(own);
    Reach first(*module), second(*module);
    const ReachSearchOptions options = {.seed = seed, .interpret = {.max_steps = 100'000}};
    auto first_run = first.Run(*own, options.interpret), second_run = second.Run(*own, options.interpret);
    ASSERT_EQ(first_run.has_value(), second_run.has_value());
    if (!first_run) continue;
    const std::vector<ReachingSet> a = ArgumentsThatReach(*module, std::move(*first_run), options, first);
    const std::vector<ReachingSet> b = ArgumentsThatReach(*module, std::move(*second_run), options, second);
    ASSERT_EQ(a.size(), b.size());
    for (size_t set = 0; set < a.size(); ++set) {
      for (size_t i = 0; i < own->size(); ++i) {
        ForEachLeaf((*own)[i].shape(), [&](const ShapeIndex& leaf, const Shape& shape) {
          if (!shape.IsArray()) return;
          EXPECT_TRUE(a[set].arguments[i].At(leaf).BitEquals(b[set].arguments[i].At(leaf)));
        });
      }
    }
  }
}

// Every value of a run is within its bounds. A value of the entry that does not depend on arguments is the same in all
// runs.
TEST(JudgeReach, BoundsAndDependenceHoldInRandomModules) {
  constexpr InputProfile kProfiles[] = {InputProfile::kNormal, InputProfile::kSpecial, InputProfile::kWide,
                                        InputProfile::kEdge,   InputProfile::kExact,   InputProfile::kFingerprint};
  for (uint64_t seed = 830002100; seed < 830002400; ++seed) {
    const std::unique_ptr<Module> module = GrowModule({.seed = seed});
    const ValueBounds bounds(*module);
    const Dependence dependence(*module);
    std::vector<std::optional<Literal>> constants(module->id_limit());
    bool holds = true;
    for (const InputProfile profile : kProfiles) {
      const auto args = MakeArguments(*module, {.seed = seed, .profile = profile, .constrain = seed % 2 == 0});
      if (!args) continue;
      InterpretOptions options = {.max_loop_iterations = 1000, .max_steps = 20'000};
      options.on_value = [&](const Instruction& inst, const Literal& value) {
        if (!holds || !value.shape().IsArray()) return;
        const Bounds& range = bounds.Of(inst);
        for (int64_t i = 0; !IsComplex(value.shape().type()) && i < value.shape().NumElements(); ++i) {
          const double x = value.GetDouble(i);
          if (x != x ? range.nan : x >= range.low && x <= range.high) continue;
          holds = false;
          ADD_FAILURE() << "seed " << seed << ", '" << inst.name() << "': " << x << " is not in [" << range.low << ", "
                        << range.high << "]";
          return;
        }
        if (!inst.computation().IsEntry() || dependence.OfAny(inst)) return;
        std::optional<Literal>& known = constants[inst.id()];
        if (!known) known = value;
        EXPECT_TRUE(known->BitEquals(value)) << "seed " << seed << ", '" << inst.name() << "'";
      };
      (void)Interpret(*module, *args, options);
    }
  }
}

}  // namespace
}  // namespace hlo
