// Tests of the interpreter that files cannot express: limits, given values, observers and in-place updates.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// ---- Control, limits, memory ----------------------------------------------------------------------------------------

std::unique_ptr<Module> Nested(int depth) {
  auto module = std::make_unique<Module>("nested");
  const Shape shape(PrimitiveType::kF32, {2, 3});
  Computation* inner = nullptr;
  for (int i = 0; i < depth; ++i) {
    Computation& computation = module->AddComputation(Str("level_", i));
    Instruction& parameter = computation.AddParameter(0, shape);
    Instruction& value = inner == nullptr ? computation.Add(Opcode::kAdd, shape, {&parameter, &parameter})
                                          : computation.Add(Opcode::kCall, shape, {&parameter}, CallAttrs{inner});
    computation.SetRoot(value);
    inner = &computation;
  }
  module->SetEntry(*inner);
  return module;
}

TEST(Interpreter, CallsNestDeepWithoutStack) {
  const auto module = Nested(10000);
  const std::vector<Literal> args = {Values(PrimitiveType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6})};
  InterpretOptions options;
  options.max_depth = 20000;
  const auto result = Interpret(*module, args, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(Doubles(*result), (std::vector<double>{2, 4, 6, 8, 10, 12}));

  const auto limited = Interpret(*module, args);
  ASSERT_FALSE(limited.has_value());
  EXPECT_EQ(limited.error().exit, ExitCode::kLimit);
  EXPECT_NE(limited.error().message().find("--max_depth"), std::string::npos);
}

constexpr const char* kCounting = R"(HloModule counting
condition {
  s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2,3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[2,3] add(x, x)
  ROOT t = (s32[], f32[2,3]) tuple(next, y)
}
ENTRY main {
  zero = s32[] constant(0)
  x = f32[2,3] parameter(0)
  start = (s32[], f32[2,3]) tuple(zero, x)
  loop = (s32[], f32[2,3]) while(start), condition=condition, body=body
  y = f32[2,3] get-tuple-element(loop), index=1
  ROOT both = (f32[2,3], f32[2,3]) tuple(x, y)
})";

TEST(Interpreter, LoopsStopAtTheLimitAndCallTheObserver) {
  const auto module = ParseText(kCounting);
  const std::vector<Literal> args = {Values(PrimitiveType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6})};
  InterpretOptions options;
  std::vector<int64_t> iterations;
  options.on_iteration = [&](const Instruction& loop, int64_t iteration, const Literal& state) {
    EXPECT_EQ(loop.name(), "loop");
    EXPECT_EQ(state.elements()[0].GetInt(0), iteration);
    iterations.push_back(iteration);
  };
  const auto result = Interpret(*module, args, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(iterations, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  // The loop's in-place additions have not changed the argument.
  EXPECT_EQ(Doubles(result->elements()[0]), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Doubles(result->elements()[1]), (std::vector<double>{32, 64, 96, 128, 160, 192}));
  EXPECT_EQ(Doubles(args[0]), (std::vector<double>{1, 2, 3, 4, 5, 6}));

  options.max_loop_iterations = 4;
  const auto limited = Interpret(*module, args, options);
  ASSERT_FALSE(limited.has_value());
  EXPECT_EQ(limited.error().exit, ExitCode::kLimit);
  EXPECT_EQ(limited.error().message(), "while 'loop' exceeded 4 iterations (--max_loop_iterations)");
}

TEST(Interpreter, ObserversSeeEveryValueAndMayReplaceIt) {
  const auto module = ParseText(R"(HloModule given
ENTRY main {
  x = f32[3] parameter(0)
  costly = f32[3] exponential(x)
  half = f32[3] negate(costly)
  ROOT sum = f32[3] add(half, x)
})");
  const std::vector<Literal> args = {Values(PrimitiveType::kF32, {3}, {1, 2, 3})};
  const Literal instead = Values(PrimitiveType::kF32, {3}, {10, 20, 30});
  std::vector<std::string> seen;
  InterpretOptions options;
  options.on_value = [&](const Instruction& inst, const Literal&) { seen.emplace_back(inst.name()); };
  options.given = [&](const Instruction& inst) { return inst.name() == "half" ? &instead : nullptr; };
  const auto result = Interpret(*module, args, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(Doubles(*result), (std::vector<double>{11, 22, 33}));
  EXPECT_EQ(seen, (std::vector<std::string>{"x", "half", "sum"}));  // No result needs `costly`.
  EXPECT_EQ(Doubles(instead), (std::vector<double>{10, 20, 30}));
}

TEST(Interpreter, RejectsArraysBeyondTheMemoryLimitBeforeItRuns) {
  const auto module = ParseText(R"(HloModule huge
ENTRY main {
  big = f32[1000000000000] iota(), iota_dimension=0
  ROOT first = f32[1] slice(big), slice={[0:1]}
})");
  InterpretOptions options;
  options.memory_limit = int64_t{1} << 30;
  const auto result = Interpret(*module, {}, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().exit, ExitCode::kLimit);
  EXPECT_EQ(result.error().message(),
            "instruction 'big' needs 3.6 TiB for f32[1000000000000], but the limit is 1.0 GiB (--memory_limit)");
}

TEST(Interpreter, PlansThePeakFromLastUses) {
  const auto module = ParseText(R"(HloModule chain
ENTRY main {
  x = f32[256] parameter(0)
  a = f32[256] negate(x)
  b = f32[256] negate(a)
  c = f32[256] negate(b)
  ROOT d = f32[256] negate(c)
})");
  // The argument stays, and the chain overwrites its own values.
  EXPECT_EQ(PeakBytes(module->entry()), 2 * 1024);
}

TEST(Interpreter, RejectsArgumentsOfOtherShapes) {
  const auto module = ParseText("HloModule m\nENTRY main {\n  ROOT x = f32[2,3] parameter(0)\n}");
  const auto result = Interpret(*module, std::vector<Literal>{Values(PrimitiveType::kF32, {3, 2}, {})});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "argument 0 ('x') needs f32[2,3], but got f32[3,2]");
  EXPECT_EQ(Interpret(*module, {}).error().code(), "A004");
}

TEST(Interpreter, NamesUnsupportedCalls) {
  const auto module = ParseText(R"(HloModule m
ENTRY main {
  x = f32[2,3] parameter(0)
  ROOT y = f32[2,3] custom-call(x), custom_call_target="mystery"
})");
  const auto result = Interpret(*module, std::vector<Literal>{Literal(Shape(PrimitiveType::kF32, {2, 3}))});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().exit, ExitCode::kUnsupported);
  EXPECT_EQ(result.error().message(), "custom-call target \"mystery\" has no implementation in the interpreter");
  EXPECT_FALSE(CanInterpret(module->entry().root()));
}

TEST(Interpreter, EvaluatesOneInstruction) {
  const auto module = ParseText(kCounting);
  const Computation& main = module->entry();
  const Instruction* loop = nullptr;
  for (const Instruction* inst : main.Instructions()) {
    if (inst->Is(Opcode::kWhile)) loop = inst;
  }
  const std::vector<Literal> state = {Literal::Tuple(
      {Literal::Scalar(PrimitiveType::kS32, int64_t{3}), Values(PrimitiveType::kF32, {2, 3}, {1, 1, 1, 1, 1, 2})})};
  const auto result = Evaluate(*loop, state);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(Doubles(result->elements()[1]), (std::vector<double>{4, 4, 4, 4, 4, 8}));
}

TEST(Interpreter, UpdatesOfALoopAreInPlaceAndShared) {
  // y keeps the array of the previous trip, so the update must not overwrite it.
  const auto module = ParseText(R"(HloModule history
condition {
  s = (s32[], s32[4], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s32[4], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  update = s32[1] reshape(next)
  y = s32[4] dynamic-update-slice(x, update, i)
  ROOT t = (s32[], s32[4], s32[4]) tuple(next, y, x)
}
ENTRY main {
  zero = s32[] constant(0)
  x = s32[4] constant({7, 7, 7, 7})
  start = (s32[], s32[4], s32[4]) tuple(zero, x, x)
  loop = (s32[], s32[4], s32[4]) while(start), condition=condition, body=body
  new = s32[4] get-tuple-element(loop), index=1
  old = s32[4] get-tuple-element(loop), index=2
  ROOT all = (s32[4], s32[4], s32[4]) tuple(new, old, x)
})");
  const auto result = Interpret(*module, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(Doubles(result->elements()[0]), (std::vector<double>{1, 2, 3, 7}));
  EXPECT_EQ(Doubles(result->elements()[1]), (std::vector<double>{1, 2, 7, 7}));
  EXPECT_EQ(Doubles(result->elements()[2]), (std::vector<double>{7, 7, 7, 7}));
}

TEST(Interpreter, ScalarComputationsMayContainLoops) {
  // `triangle` has not only elementwise ops, so it is interpreted for each element.
  const auto module = ParseText(R"(HloModule map
condition {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT more = pred[] compare(i, zero), direction=GT
}
body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sum = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] subtract(i, one)
  more = s32[] add(sum, i)
  ROOT t = (s32[], s32[]) tuple(next, more)
}
triangle {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], s32[]) tuple(n, zero)
  loop = (s32[], s32[]) while(start), condition=condition, body=body
  ROOT sum = s32[] get-tuple-element(loop), index=1
}
ENTRY main {
  x = s32[4] constant({0, 1, 4, 10})
  ROOT y = s32[4] map(x), dimensions={0}, to_apply=triangle
})");
  const auto result = Interpret(*module, {});
  ASSERT_TRUE(result.has_value()) << Render(result.error(), "test");
  EXPECT_EQ(Doubles(*result), (std::vector<double>{0, 1, 10, 55}));
}

TEST(Interpreter, GivesTheSameBitsTwice) {
  // The parts of the work do not depend on the number of threads, but the thread that runs a part varies.
  const auto module = ParseText(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY main {
  x = f32[301,517] parameter(0)
  y = f32[517,403] parameter(1)
  z = f32[301,403] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[301,403] exponential(z)
  zero = f32[] constant(0)
  ROOT s = f32[403] reduce(e, zero), dimensions={0}, to_apply=add
})");
  const std::vector<Literal> args = RandomArguments(*module);
  const auto first = Interpret(*module, args);
  ASSERT_TRUE(first.has_value());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Interpret(*module, args)->BitEquals(*first));
}

}  // namespace
}  // namespace hlo
