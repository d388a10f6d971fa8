// Tests of the interpreter that files cannot express: limits, given values, observers and in-place updates.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "tests/interp/values.h"
#include "tests/read_file.h"

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

TEST(Interpreter, LoopsStopAtTheLimitAndCallTheObserver) {
  const auto module = ParseText(ReadFile("testdata/ops/counting.hlo"));
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
  const auto module = ParseText(ReadFile("testdata/ops/observers_see_every_value_and_may_replace_it.hlo"));
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
  const auto module = ParseText(ReadFile("testdata/ops/rejects_arrays_beyond_the_memory_limit_before_it_runs.hlo"));
  InterpretOptions options;
  options.memory_limit = int64_t{1} << 30;
  const auto result = Interpret(*module, {}, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().exit, ExitCode::kLimit);
  EXPECT_EQ(result.error().message(),
            "instruction 'big' needs 3.6 TiB for f32[1000000000000], but the limit is 1.0 GiB (--memory_limit)");
}

TEST(Interpreter, PlansThePeakFromLastUses) {
  const auto module = ParseText(ReadFile("testdata/ops/plans_the_peak_from_last_uses.hlo"));
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
  const auto module = ParseText(ReadFile("testdata/ops/names_unsupported_calls.hlo"));
  const auto result = Interpret(*module, std::vector<Literal>{Literal(Shape(PrimitiveType::kF32, {2, 3}))});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().exit, ExitCode::kUnsupported);
  EXPECT_EQ(result.error().message(), "custom-call target \"mystery\" has no implementation in the interpreter");
  EXPECT_FALSE(CanInterpret(module->entry().root()));
}

TEST(Interpreter, EvaluatesOneInstruction) {
  const auto module = ParseText(ReadFile("testdata/ops/counting.hlo"));
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
  const auto module = ParseText(ReadFile("testdata/ops/updates_of_a_loop_are_in_place_and_shared.hlo"));
  const auto result = Interpret(*module, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(Doubles(result->elements()[0]), (std::vector<double>{1, 2, 3, 7}));
  EXPECT_EQ(Doubles(result->elements()[1]), (std::vector<double>{1, 2, 7, 7}));
  EXPECT_EQ(Doubles(result->elements()[2]), (std::vector<double>{7, 7, 7, 7}));
}

TEST(Interpreter, ScalarComputationsMayContainLoops) {
  // `triangle` has not only elementwise ops, so it is interpreted for each element.
  const auto module = ParseText(ReadFile("testdata/ops/scalar_computations_may_contain_loops.hlo"));
  const auto result = Interpret(*module, {});
  ASSERT_TRUE(result.has_value()) << Render(result.error(), "test");
  EXPECT_EQ(Doubles(*result), (std::vector<double>{0, 1, 10, 55}));
}

TEST(Interpreter, GivesTheSameBitsTwice) {
  // The parts of the work do not depend on the number of threads, but the thread that runs a part varies.
  const auto module = ParseText(ReadFile("testdata/ops/gives_the_same_bits_twice.hlo"));
  const std::vector<Literal> args = RandomArguments(*module);
  const auto first = Interpret(*module, args);
  ASSERT_TRUE(first.has_value());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Interpret(*module, args)->BitEquals(*first));
}

}  // namespace
}  // namespace hlo
