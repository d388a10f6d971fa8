// Tests that a loop prepared in advance (judge/bounds/loop.h) has the same values and bounds, bit by bit, as one that
// runs its computations trip by trip.
#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "driver/fuzz/grow.h"
#include "interp/arguments/arguments.h"
#include "judge/bounds/rules.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

struct LoopSeen {
  const Instruction* loop;
  ShadowValue init, result;
  int64_t trips = 0;
};

// The first field that differs in any bit, or "" if all are equal.
std::string Difference(const ShadowValue& a, const ShadowValue& b) {
  for (size_t i = 0; i < std::min(a.elements.size(), b.elements.size()); ++i) {
    if (const std::string inner = Difference(a.elements[i], b.elements[i]); !inner.empty()) return Str(i, ".", inner);
  }
  if (a.elements.size() != b.elements.size()) return "elements";
  if (!Compatible(a.shape, b.shape)) return "shape";
  if (!a.value.BitEquals(b.value)) return "value";
  if (!a.bound.BitEquals(b.bound)) return "bound";
  if (!a.likely.BitEquals(b.likely)) return "likely";
  if (!a.exact.BitEquals(b.exact)) return "exact";
  if (!a.open.BitEquals(b.open)) return "open";
  if (a.IsFloat() && a.held != b.held) return "held";
  if ((a.choices == nullptr) != (b.choices == nullptr)) return "choices";
  return a.choices ? Difference(a.choices->candidates, b.choices->candidates) : "";
}

Result<ShadowValue> TripByTrip(const LoopSeen& seen, const Computation& top, const ShadowOptions& options) {
  shadow::Context context{.options = options, .top = &top};
  const WhileAttrs& attrs = seen.loop->attrs<WhileAttrs>();
  ShadowValue state = seen.init;
  bool decided = true;
  for (;;) {
    if (options.is_exact_state) state = DropBounds(std::move(state));
    const ShadowValue* const args[] = {&state};
    const ShadowValue go_on = TRY(shadow::Run(context, *attrs.condition, args));
    decided = decided && !shadow::IsOpen(go_on);
    if (shadow::IsOpen(go_on) && !shadow::HasComputed(context, go_on)) return shadow::Undetermined(seen.loop->shape());
    if (go_on.exact.GetInt(0) == 0) return decided ? std::move(state) : shadow::UndeterminedOf(std::move(state));
    state = TRY(shadow::Run(context, *attrs.body, args));
  }
}

// Compares each loop that makes at least one trip. Returns the number of trips.
int64_t CompareLoops(const Module& module, std::span<const Literal> args, ShadowOptions options) {
  std::vector<LoopSeen> begun, ended;
  const ShadowOptions plain = options;
  options.on_iteration = [&](const Instruction& loop, int64_t iteration, const ShadowValue& state) {
    if (iteration == 0) begun.push_back({.loop = &loop, .init = state, .result = {}});
  };
  options.on_loop_end = [&](const Instruction& loop, int64_t trips, const ShadowValue&, const ShadowValue& result) {
    if (trips == 0) return;
    while (begun.back().loop != &loop) begun.pop_back();  // These loops failed, so they have no end.
    ended.push_back(std::move(begun.back()));
    begun.pop_back();
    ended.back().trips = trips;
    ended.back().result = result;
  };
  if (!EvaluateShadow(module.entry(), args, options)) return 0;
  int64_t trips = 0;
  for (const LoopSeen& seen : ended) {
    const auto expected = TripByTrip(seen, module.entry(), plain);
    EXPECT_TRUE(expected.has_value()) << expected.error().message();
    if (!expected) continue;
    EXPECT_EQ(Difference(*expected, seen.result), "") << seen.loop->name();
    trips += seen.trips;
  }
  return trips;
}

void CompareText(const std::string& text, int64_t trips) {
  const auto module = ParseText(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> args = RandomArguments(*module);
  for (const bool widened : {false, true}) {
    for (const bool exact : {false, true}) {
      ShadowOptions options;
      options.widened = widened;
      if (exact) options.is_exact_state = [](const Instruction&, int64_t) { return true; };
      EXPECT_EQ(CompareLoops(*module, args, options), trips) << widened << exact;
    }
  }
}

TEST(ShadowLoops, AgreeForScalars) {
  CompareText(R"(HloModule m
less {
  s = (s32[], f32[], f32[7], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(50)
  ROOT again = pred[] compare(i, n), direction=LT
}
fused {
  x = f32[7] parameter(0)
  y = f32[] parameter(1)
  thrice = f32[] constant(3)
  d = f32[] divide(y, thrice)
  b = f32[7] broadcast(d), dimensions={}
  zero = f32[] constant(0)
  m = f32[7] multiply(x, b)
  t = f32[7] tanh(m)
  ROOT r = (f32[7], f32[], f32[]) tuple(t, d, zero)
}
step {
  s = (s32[], f32[], f32[7], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  y = f32[] get-tuple-element(s), index=1
  x = f32[7] get-tuple-element(s), index=2
  old = f32[] get-tuple-element(s), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = (f32[7], f32[], f32[]) fusion(x, y), kind=kLoop, calls=fused
  e = f32[] get-tuple-element(f), index=1
  f0 = f32[7] get-tuple-element(f), index=0
  z = f32[] get-tuple-element(f), index=2
  float = f32[] convert(i)
  c = f32[] add(e, float)
  big = pred[] compare(c, old), direction=GT
  picked = f32[] select(big, c, z)
  ROOT t = (s32[], f32[], f32[7], f32[]) tuple(j, picked, x, y)
}
ENTRY main {
  x = f32[7] parameter(0)
  y = f32[] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[], f32[7], f32[]) tuple(zero, y, x, y)
  ROOT l = (s32[], f32[], f32[7], f32[]) while(start), condition=less, body=step
})",
              50);
}

// One loop has a state that is not a tuple. Another is inside a loop. Its x is constant in the inner loop and changes
// in the outer one, so the inner loop is prepared again on each outer trip.
TEST(ShadowLoops, AgreeInLoops) {
  CompareText(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
inner_less {
  s = (s32[], f32[300], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT again = pred[] compare(i, n), direction=LT
}
inner_step {
  s = (s32[], f32[300], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[300] get-tuple-element(s), index=1
  y = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = f32[] constant(0)
  sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  z = f32[] add(y, sum)
  ROOT t = (s32[], f32[300], f32[]) tuple(j, x, z)
}
less {
  x = f32[300] parameter(0)
  first = f32[1] slice(x), slice={[0:1]}
  scalar = f32[] reshape(first)
  n = f32[] constant(1000)
  size = f32[] abs(scalar)
  ROOT again = pred[] compare(size, n), direction=LT
}
step {
  x = f32[300] parameter(0)
  zero = s32[] constant(0)
  half = f32[] constant(0.5)
  start = (s32[], f32[300], f32[]) tuple(zero, x, half)
  l = (s32[], f32[300], f32[]) while(start), condition=inner_less, body=inner_step
  y = f32[] get-tuple-element(l), index=2
  b = f32[300] broadcast(y), dimensions={}
  ROOT r = f32[300] add(b, x)
}
ENTRY main {
  x = f32[300] parameter(0)
  ROOT l = f32[300] while(x), condition=less, body=step
})",
              2 + 2 * 5);
}

TEST(ShadowLoops, AgreeForGeneratedLoops) {
  int64_t trips = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    const auto module = GrowModule({.seed = seed, .max_elems = 64, .focus = {"while"}});
    const auto args =
        MakeArguments(*module, {.seed = seed, .profile = seed % 2 ? InputProfile::kLong : InputProfile::kNormal});
    ASSERT_TRUE(args.has_value()) << args.error().message();
    for (const bool widened : {false, true}) {
      for (const bool exact : {false, true}) {
        ShadowOptions options;
        options.widened = widened;
        if (exact) options.is_exact_state = [](const Instruction&, int64_t) { return true; };
        trips += CompareLoops(*module, *args, options);
      }
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed << "\n";
  }
  EXPECT_GT(trips, 1000);
}

}  // namespace
}  // namespace hlo
