// Tests of buffers and control flow. Random programs run in planned memory, a simple evaluation gives the expected
// results, and brute force checks their plans.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/check.h"
#include "gpu/device/device.h"
#include "gpu/runtime/buffers.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/memory_curve.h"
#include "gpu/runtime/planned.h"
#include "gpu/runtime/prepare.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

const Shape kPred = Shape::Scalar(PrimitiveType::kPred);
const Shape kS32 = Shape::Scalar(PrimitiveType::kS32);
Shape Array(int64_t size) { return Shape(PrimitiveType::kS32, {size}); }

// ---- A plain evaluation of the few ops that the programs have ----------------------------------------------------

Literal Binary(const Instruction& inst, const Literal& a, const Literal& b) {
  Literal result(inst.shape());
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const auto x = static_cast<uint32_t>(a.GetInt(i)), y = static_cast<uint32_t>(b.GetInt(i));
    switch (inst.opcode()) {
      case Opcode::kAdd: result.SetInt(i, static_cast<int32_t>(x + y)); break;
      case Opcode::kMultiply: result.SetInt(i, static_cast<int32_t>(x * y)); break;
      case Opcode::kCompare: result.SetInt(i, static_cast<int32_t>(x) < static_cast<int32_t>(y)); break;
      default: CHECK(false, inst.name());
    }
  }
  return result;
}

Literal EvaluateOne(const Instruction& inst, std::span<const Literal> operands) {
  if (inst.Is(Opcode::kCopy)) return operands[0];
  return Binary(inst, operands[0], operands[1]);
}

Literal EvaluateAll(const Computation& computation, const std::vector<Literal>& arguments) {
  std::map<const Instruction*, Literal> values;
  for (const Instruction* inst : computation.PostOrder()) {
    std::vector<Literal> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(values.at(operand));
    Literal& value = values[inst];
    switch (inst->opcode()) {
      case Opcode::kParameter: value = arguments[inst->parameter_number()]; break;
      case Opcode::kConstant: value = inst->literal(); break;
      case Opcode::kTuple: value = Literal::Tuple(operands); break;
      case Opcode::kGetTupleElement: value = operands[0].elements()[inst->tuple_index()]; break;
      case Opcode::kCall: value = EvaluateAll(*inst->attrs<CallAttrs>().to_apply, operands); break;
      case Opcode::kWhile: {
        const auto& attrs = inst->attrs<WhileAttrs>();
        value = operands[0];
        while (EvaluateAll(*attrs.condition, {value}).GetInt(0) != 0) value = EvaluateAll(*attrs.body, {value});
        break;
      }
      case Opcode::kConditional:
        value = EvaluateAll(*inst->attrs<ConditionalAttrs>().branches()[operands[0].GetInt(0) != 0 ? 0 : 1],
                            {operands[operands[0].GetInt(0) != 0 ? 1 : 2]});
        break;
      default: value = EvaluateOne(*inst, operands);
    }
  }
  return values.at(&computation.root());
}

// ---- Random programs ---------------------------------------------------------------------------------------------

class Generator {
 public:
  explicit Generator(int seed) : random_(seed) {}

  std::unique_ptr<Module> Make() {
    auto module = std::make_unique<Module>("random");
    module_ = module.get();
    Computation& entry = module->AddComputation("main");
    module->SetEntry(entry);
    std::vector<Instruction*> values;
    for (int i = 0; i < 3; ++i) values.push_back(&entry.AddParameter(i, Array(kSizes[i % 2])));
    values.push_back(&entry.AddConstant(Filled(Array(kSizes[0]), 3)));
    Grow(entry, values, 8, 2);
    entry.SetRoot(entry.AddTuple({Pick(values), Pick(values), Pick(values), values.back()}));
    return module;
  }

  Literal Filled(Shape shape, int64_t first) {
    Literal literal(std::move(shape));
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i) literal.SetInt(i, first + i);
    return literal;
  }

  int Below(int count) { return static_cast<int>(random_() % count); }

 private:
  static constexpr int64_t kSizes[] = {64, 100};

  Instruction* Pick(const std::vector<Instruction*>& values) { return values[Below(static_cast<int>(values.size()))]; }
  Instruction* PickLike(const std::vector<Instruction*>& values, const Shape& shape) {
    std::vector<Instruction*> like;
    for (Instruction* value : values) {
      if (value->shape() == shape) like.push_back(value);
    }
    return like.empty() ? nullptr : Pick(like);
  }

  void Grow(Computation& computation, std::vector<Instruction*>& values, int count, int depth) {
    for (int i = 0; i < count; ++i) {
      const int what = Below(depth > 0 ? 8 : 5);
      if (what < 4) {
        Instruction* a = Pick(values);
        values.push_back(&computation.Add(what == 0 ? Opcode::kMultiply : Opcode::kAdd, a->shape(),
                                          {a, PickLike(values, a->shape())}));
      } else if (what == 4) {
        Instruction* a = Pick(values);
        values.push_back(&computation.Add(Opcode::kCopy, a->shape(), {a}));
      } else if (what == 5) {
        AddCall(computation, values, depth);
      } else if (what == 6) {
        AddLoop(computation, values, depth);
      } else {
        AddConditional(computation, values, depth);
      }
    }
  }

  Shape ShapesOf(const std::vector<Instruction*>& values) {
    std::vector<Shape> shapes;
    for (const Instruction* value : values) shapes.push_back(value->shape());
    return Shape::Tuple(shapes);
  }

  std::vector<Instruction*> Elements(Computation& computation, Instruction& tuple) {
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < tuple.shape().elements().size(); ++i)
      elements.push_back(&computation.AddGetTupleElement(tuple, i));
    return elements;
  }

  // A tuple of these shapes. Its elements are values, or new constants.
  Instruction& Result(Computation& computation, const std::vector<Instruction*>& values,
                      const std::vector<Shape>& shapes) {
    std::vector<Instruction*> results;
    for (const Shape& shape : shapes) {
      Instruction* value = PickLike(values, shape);
      results.push_back(value != nullptr ? value : &computation.AddConstant(Filled(shape, 7)));
    }
    return computation.AddTuple(results);
  }

  void AddCall(Computation& computation, std::vector<Instruction*>& values, int depth) {
    Computation& callee = module_->AddComputation("callee");
    Instruction* argument = Pick(values);
    std::vector<Instruction*> inner = {&callee.AddParameter(0, argument->shape())};
    Grow(callee, inner, 3, depth - 1);
    callee.SetRoot(*inner.back());
    CallAttrs attrs;
    attrs.to_apply = &callee;
    values.push_back(&computation.Add(Opcode::kCall, callee.root().shape(), {argument}, attrs));
    if (Below(2) == 0)
      values.push_back(
          &computation.Add(Opcode::kCall, callee.root().shape(), {PickLike(values, argument->shape())}, attrs));
  }

  // Adds a loop. Its state is a counter and up to four arrays that the body permutes, keeps, or computes again.
  void AddLoop(Computation& computation, std::vector<Instruction*>& values, int depth) {
    std::vector<Instruction*> initial = {&computation.AddConstant(Filled(kS32, 0))};
    for (int i = 1 + Below(4); i > 0; --i) initial.push_back(Pick(values));
    const Shape state = ShapesOf(initial);
    WhileAttrs attrs;
    attrs.condition = &module_->AddComputation("condition");
    Instruction& seen = attrs.condition->AddParameter(0, state);
    CompareAttrs less;
    less.direction = ComparisonDirection::kLt;
    attrs.condition->SetRoot(attrs.condition->Add(
        Opcode::kCompare, kPred,
        {&attrs.condition->AddGetTupleElement(seen, 0), &attrs.condition->AddConstant(Filled(kS32, Below(4)))}, less));
    Computation& body = *(attrs.body = &module_->AddComputation("body"));
    std::vector<Instruction*> inner = Elements(body, body.AddParameter(0, state));
    Instruction* count = inner.front();
    std::vector<Instruction*> kept(inner.begin() + 1, inner.end()), grown = kept;
    Grow(body, grown, 1 + Below(4), depth - 1);
    std::vector<Instruction*> next = {&body.Add(Opcode::kAdd, kS32, {count, &body.AddConstant(Filled(kS32, 1))})};
    for (Instruction* old : kept) next.push_back(Below(4) == 0 ? old : PickLike(grown, old->shape()));
    body.SetRoot(body.AddTuple(next));
    Instruction& loop = computation.Add(Opcode::kWhile, state, {&computation.AddTuple(initial)}, attrs);
    for (Instruction* element : Elements(computation, loop)) {
      if (element->shape() != kS32) values.push_back(element);
    }
  }

  void AddConditional(Computation& computation, std::vector<Instruction*>& values, int depth) {
    const std::vector<Shape> shapes = {Pick(values)->shape(), Pick(values)->shape()};
    ConditionalAttrs attrs;
    std::vector<Instruction*> operands = {&computation.AddConstant(Filled(kPred, Below(2)))};
    for (Computation** branch : {&attrs.true_computation, &attrs.false_computation}) {
      *branch = &module_->AddComputation("branch");
      std::vector<Instruction*> given = {Pick(values), Pick(values)};
      operands.push_back(&computation.AddTuple(given));
      std::vector<Instruction*> inner = Elements(**branch, (*branch)->AddParameter(0, ShapesOf(given)));
      Grow(**branch, inner, 1 + Below(3), depth - 1);
      (*branch)->SetRoot(Result(**branch, inner, shapes));
    }
    Instruction& conditional = computation.Add(Opcode::kConditional, Shape::Tuple(shapes), operands, attrs);
    for (Instruction* element : Elements(computation, conditional)) values.push_back(element);
  }

  std::mt19937 random_;
  Module* module_ = nullptr;
};

CompileOptions ByHostCalls() {
  CompileOptions options;
  class Caller : public HostCaller {
    Result<Literal> Call(const Instruction& inst, std::span<const Literal> operands) override {
      return EvaluateOne(inst, operands);
    }
  };
  HostCalls host;
  host.open = [] { return std::make_unique<Caller>(); };
  host.prefers = [](const Instruction& inst) { return !MovesBytes(inst); };
  options.host = std::make_shared<const HostCalls>(std::move(host));
  return options;
}

std::vector<Literal> ArgumentsOf(const Module& module, Generator& generator) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module.entry().parameters()) {
    arguments.push_back(generator.Filled(parameter->shape(), 1000 * static_cast<int64_t>(arguments.size() + 1)));
  }
  return arguments;
}

TEST(RuntimeBuffers, RandomProgramsHaveCorrectResults) {
  const auto device = OpenHostDevice();
  int64_t copies = 0;
  for (int seed = 0; seed < 500; ++seed) {
    Generator generator(seed);
    const auto module = generator.Make();
    const std::vector<Literal> arguments = ArgumentsOf(*module, generator);
    const Literal expected = EvaluateAll(module->entry(), arguments);
    auto executable = Compile(*module, *device, ByHostCalls());
    ASSERT_TRUE(executable) << executable.error().message();
    copies += (*executable)->memory().copies;
    for (int run = 0; run < 2; ++run) {  // The second run finds the memory that the first run left.
      const auto result = (*executable)->Run(arguments);
      ASSERT_TRUE(result) << result.error().message();
      ASSERT_TRUE(result->BitEquals(expected)) << "seed " << seed << "\n" << (*executable)->BuffersText();
    }
  }
  EXPECT_GT(copies, 0);
}

// Permits in-place operation of every elementwise step, as a kernel might.
ShareTable AllShares(const Module& module) {
  ShareTable shares;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (MovesBytes(*inst)) shares[inst].push_back({0, 0, 0, true});
      if (!inst->Is(Opcode::kAdd) && !inst->Is(Opcode::kMultiply)) continue;
      for (int64_t i = 0; i < inst->operand_count(); ++i) shares[inst].push_back({i, 0, 0, false});
    }
  }
  return shares;
}

bool IsLiveAt(const BufferedValue& value, int64_t unit) {
  for (const Interval& interval : value.live) {
    if (interval.begin <= unit && unit <= interval.end) return true;
  }
  return false;
}

// Checks the rule of buffers.h for each unit of time.
void CheckPlan(const BufferPlan& plan, int seed) {
  const auto touches = [&](int a, int b) {
    const Place &x = plan.place_of[a], &y = plan.place_of[b];
    if (x.area != y.area || x.number != y.number || x.area == Area::kNothing) return false;
    if (x.area != Area::kArena) return true;
    const int64_t x_end = x.offset + plan.values.values[a].bytes, y_end = y.offset + plan.values.values[b].bytes;
    return x.offset < y_end && y.offset < x_end;
  };
  const auto becomes = [&](int a, int b, int64_t position) {
    for (const InPlace& pair : plan.values.in_place) {
      if (pair.may && pair.position == position && pair.operand == a && pair.result == b) return true;
    }
    for (const Merge& merge : plan.values.merges) {
      if (merge.position == position && merge.from == a && merge.to == b) return true;
    }
    return false;
  };
  const int count = static_cast<int>(plan.place_of.size());
  for (int64_t unit = 0; unit < 4 * plan.values.positions; ++unit) {
    std::vector<int> live;
    for (int v = 0; v < count; ++v) {
      if (IsLiveAt(plan.values.values[v], unit) && plan.place_of[v].area >= Area::kOutput) live.push_back(v);
    }
    for (size_t i = 0; i < live.size(); ++i) {
      for (size_t j = i + 1; j < live.size(); ++j) {
        if (!touches(live[i], live[j])) continue;
        const bool allowed = becomes(live[i], live[j], unit / 4) || becomes(live[j], live[i], unit / 4);
        ASSERT_TRUE(allowed && plan.place_of[live[i]] == plan.place_of[live[j]])
            << "seed " << seed << ": values " << live[i] << " and " << live[j] << " at unit " << unit << "\n"
            << ToString(plan);
      }
    }
  }
}

void CheckCurve(const BufferPlan& plan, int seed) {
  const MemoryCurve curve = CurveOf(plan);
  int64_t most_temporaries = 0, most = 0;
  for (int64_t position = 0; position < plan.values.positions; ++position) {
    MemoryPoint expected;
    for (int64_t unit = 4 * position; unit < 4 * position + 4; ++unit) {
      MemoryPoint now;
      std::set<int> counted;
      for (size_t v = 0; v < plan.place_of.size(); ++v) {
        const Area area = plan.place_of[v].area;
        if ((area != Area::kArena && area != Area::kOutput) || !IsLiveAt(plan.values.values[v], unit) ||
            !counted.insert(plan.buffer_of[v]).second)
          continue;
        const int64_t bytes =
            (plan.values.values[v].bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
        if (area == Area::kOutput) now.outputs += plan.values.values[v].bytes;
        else now.temporaries += bytes;
      }
      if (now.bytes() > expected.bytes()) expected = now;
      most_temporaries = std::max(most_temporaries, now.temporaries);
    }
    ASSERT_EQ(curve.at[position].bytes(), expected.bytes()) << "seed " << seed << " at " << position << "\n"
                                                            << ToString(plan);
    most = std::max(most, expected.bytes());
  }
  EXPECT_EQ(most_temporaries, plan.arena_lower_bound) << "seed " << seed;
  EXPECT_EQ(curve.at[curve.peak].bytes(), most) << "seed " << seed;
  int64_t held = 0;
  for (const HeldBuffer& buffer : curve.at_peak) {
    held += buffer.bytes;
    EXPECT_TRUE(buffer.first <= curve.peak && curve.peak <= buffer.last) << "seed " << seed;
  }
  EXPECT_EQ(held, most) << "seed " << seed;
}

TEST(RuntimeBuffers, TheCurveCountsLiveBytes) {
  for (int seed = 0; seed < 300; ++seed) {
    const auto module = Prepare(*Generator(seed).Make(), DefaultDevice());
    CheckCurve(PlanBuffers(*module, FindValues(*module, AllShares(*module)), {.outputs_in_arena = seed % 2 == 0}),
               seed);
  }
}

TEST(RuntimeBuffers, LiveValuesNeverOverlap) {
  int64_t in_place = 0;
  for (int seed = 0; seed < 300; ++seed) {
    const auto module = Prepare(*Generator(seed).Make(), DefaultDevice());
    const BufferPlan plan =
        PlanBuffers(*module, FindValues(*module, AllShares(*module)), {.outputs_in_arena = seed % 2 == 0});
    CheckPlan(plan, seed);
    EXPECT_GE(plan.arena_bytes, plan.arena_lower_bound);
    EXPECT_LE(plan.arena_bytes, 3 * plan.arena_lower_bound + 1024) << "seed " << seed;
    for (const InPlace& pair : plan.values.in_place) {
      const int buffer = plan.buffer_of[pair.operand];
      in_place += !pair.must && buffer >= 0 && buffer == plan.buffer_of[pair.result];
    }
  }
  EXPECT_GT(in_place, 100);
}

// The loop is while (i < n) { x = x + y; i = i + 1 }. x is updated in place and y passed through, without a copy.
TEST(RuntimeBuffers, LoopStateStaysInPlace) {
  Module module("loop");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  const Shape state = Shape::Tuple({Array(64), Array(64)});
  WhileAttrs attrs;
  attrs.condition = &module.AddComputation("condition");
  Instruction& seen = attrs.condition->AddParameter(0, state);
  attrs.condition->SetRoot(attrs.condition->Add(
      Opcode::kCompare, kPred,
      {&attrs.condition->AddGetTupleElement(seen, 0), &attrs.condition->AddGetTupleElement(seen, 1)}, CompareAttrs()));
  attrs.body = &module.AddComputation("body");
  Instruction& given = attrs.body->AddParameter(0, state);
  Instruction &x = attrs.body->AddGetTupleElement(given, 0), &y = attrs.body->AddGetTupleElement(given, 1);
  Instruction& sum = attrs.body->Add(Opcode::kAdd, Array(64), {&x, &y});
  attrs.body->SetRoot(attrs.body->AddTuple({&sum, &y}));
  Instruction &p = entry.AddParameter(0, Array(64)), &q = entry.AddParameter(1, Array(64));
  Instruction& start = entry.Add(Opcode::kAdd, Array(64), {&p, &q});
  Instruction& loop = entry.Add(Opcode::kWhile, state, {&entry.AddTuple({&start, &q})}, attrs);
  entry.SetRoot(entry.AddGetTupleElement(loop, 0));
  const auto prepared = Prepare(module, DefaultDevice());
  const BufferPlan plan = PlanBuffers(*prepared, FindValues(*prepared, AllShares(*prepared)));
  EXPECT_TRUE(plan.copies.empty()) << ToString(plan);
  // Only the predicate is in the arena, because the state is in the memory of the result.
  EXPECT_EQ(plan.arena_bytes, 256) << ToString(plan);
  EXPECT_EQ(plan.PlaceOf(*prepared->entry().root().operands()[0], 1).area, Area::kParameter);
}

TEST(RuntimeBuffers, DonatedParametersAreReused) {
  Module module("donated");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  Instruction& p = entry.AddParameter(0, Array(1000));
  Instruction& a = entry.Add(Opcode::kAdd, Array(1000), {&p, &p});
  entry.SetRoot(entry.Add(Opcode::kMultiply, Array(1000), {&a, &a}));
  module.header.donors.push_back({0, {}});
  const auto prepared = Prepare(module, DefaultDevice());
  const BufferPlan plan = PlanBuffers(*prepared, FindValues(*prepared, AllShares(*prepared)),
                                      {.reuse_parameters = true, .outputs_in_arena = true});
  EXPECT_EQ(plan.arena_bytes, 4096);
  const BufferPlan apart =
      PlanBuffers(*prepared, FindValues(*prepared, AllShares(*prepared)), {.outputs_in_arena = true});
  EXPECT_EQ(apart.arena_bytes, 4096);
  EXPECT_EQ(apart.place_of[apart.values.of_instruction[p.id()][0]].area, Area::kParameter);
}

TEST(RuntimeBuffers, EqualConstantsShareMemory) {
  Module module("constants");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  Generator generator(0);
  Instruction& a = entry.AddConstant(generator.Filled(Array(64), 1));
  Instruction& b = entry.AddConstant(generator.Filled(Array(64), 1));
  Instruction& c = entry.AddConstant(generator.Filled(Array(64), 2));
  entry.SetRoot(entry.AddTuple({&a, &b, &c}));
  const auto prepared = Prepare(module, DefaultDevice());
  EXPECT_EQ(PlanBuffers(*prepared, FindValues(*prepared, {})).constants.size(), 2u);
}

TEST(RuntimeExecutable, AnObserverSeesEachStep) {
  const auto device = OpenHostDevice();
  for (int seed = 0; seed < 20; ++seed) {
    Generator generator(seed);
    const auto module = generator.Make();
    auto executable = Compile(*module, *device, ByHostCalls());
    ASSERT_TRUE(executable);
    int64_t steps = 0, deepest = 0;
    Observer observer;
    observer.observe = [&](const Instruction& inst, std::span<const LoopStep> loops, std::span<const Literal> inputs,
                           const Literal& output) -> Status {
      EXPECT_TRUE(output.BitEquals(EvaluateOne(inst, inputs))) << inst.name();
      ++steps;
      deepest = std::max(deepest, static_cast<int64_t>(loops.size()));
      for (const LoopStep& loop : loops) EXPECT_TRUE(loop.loop->Is(Opcode::kWhile) && loop.iteration < 4);
      return {};
    };
    RunOptions options;
    options.observer = &observer;
    ASSERT_TRUE((*executable)->Run(ArgumentsOf(*module, generator), options));
    EXPECT_GT(steps, 0);
  }
}

TEST(RuntimeExecutable, LoopsHaveALimit) {
  const auto device = OpenHostDevice();
  Module module("forever");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  WhileAttrs attrs;
  attrs.condition = &module.AddComputation("condition");
  attrs.condition->AddParameter(0, kS32);
  attrs.condition->SetRoot(attrs.condition->AddConstant(Literal::Scalar(PrimitiveType::kPred, int64_t{1})));
  attrs.body = &module.AddComputation("body");
  Instruction& count = attrs.body->AddParameter(0, kS32);
  attrs.body->SetRoot(attrs.body->Add(Opcode::kAdd, kS32, {&count, &count}));
  entry.SetRoot(entry.Add(Opcode::kWhile, kS32, {&entry.AddParameter(0, kS32)}, attrs));
  CompileOptions options = ByHostCalls();
  options.max_loop_iterations = 10;
  auto executable = Compile(module, *device, options);
  ASSERT_TRUE(executable);
  const std::vector<Literal> arguments = {Literal::Scalar(PrimitiveType::kS32, int64_t{1})};
  const auto result = (*executable)->Run(arguments);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit, ExitCode::kLimit);
}

// Buffers are shared as far as possible, so a missing dependency changes results.
TEST(RuntimeProgram, StepsGiveTheSameResultsInAnyValidOrder) {
  const auto device = OpenHostDevice();
  int64_t reordered = 0;
  for (int seed = 0; seed < 200; ++seed) {
    Generator generator(seed);
    const auto module = generator.Make();
    const std::vector<Literal> arguments = ArgumentsOf(*module, generator);
    auto executable = Compile(*module, *device, ByHostCalls());
    ASSERT_TRUE(executable);
    std::vector<const Instruction*> steps, ran;
    Observer observer;
    observer.observe = [&](const Instruction& inst, const auto&...) -> Status {
      ran.push_back(&inst);
      return {};
    };
    const auto expected = (*executable)->Run(arguments, {.observer = &observer});
    ASSERT_TRUE(expected);
    steps.swap(ran);
    for (uint64_t order = 0; order < 4; ++order) {
      const auto result = (*executable)->Run(arguments, {.observer = &observer, .order = order});
      ASSERT_TRUE(result);
      EXPECT_TRUE(result->BitEquals(*expected)) << "seed " << seed << ", order " << order;
      reordered += ran != steps;
      ran.clear();
    }
  }
  EXPECT_GT(reordered, 100);
}

TEST(RuntimeProgram, TwoDevicesAndTwoReplicasRunConcurrently) {
  const std::unique_ptr<Device> devices[] = {OpenHostDevice(), OpenHostDevice()};
  for (int seed = 0; seed < 20; ++seed) {
    Generator generator(seed);
    const auto module = generator.Make();
    const auto program = CompileProgram(*Plan(*module, *devices[0], ByHostCalls()), *devices[0], ByHostCalls());
    ASSERT_TRUE(program);
    struct Replica {
      std::unique_ptr<Executable> executable;
      std::vector<Literal> arguments;
      Result<Literal> expected, result;
    };
    std::vector<Replica> replicas;
    for (int i = 0; i < 4; ++i) {
      auto executable = BindProgram(*program, *devices[i / 2]);
      ASSERT_TRUE(executable);
      EXPECT_EQ((*executable)->program(), *program);
      std::vector<Literal> arguments = ArgumentsOf(*module, generator);
      auto expected = (*executable)->Run(arguments);
      ASSERT_TRUE(expected);
      replicas.push_back({std::move(*executable), std::move(arguments), std::move(expected), Literal()});
    }
    std::vector<std::thread> threads;
    for (Replica& replica : replicas) {
      threads.emplace_back([&replica] {
        for (int run = 0; run < 5; ++run) replica.result = replica.executable->Run(replica.arguments);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Replica& replica : replicas) {
      ASSERT_TRUE(replica.result);
      EXPECT_TRUE(replica.result->BitEquals(*replica.expected)) << "seed " << seed;
    }
  }
}

TEST(RuntimeExecutable, ArgumentsMustFit) {
  const auto device = OpenHostDevice();
  Module module("one");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  entry.SetRoot(entry.AddParameter(0, Array(3)));
  auto executable = Compile(module, *device);
  ASSERT_TRUE(executable);
  const std::vector<Literal> none, wrong = {Literal(Array(4))}, right = {Literal(Array(3))};
  EXPECT_EQ((*executable)->Bind(none).error().exit, ExitCode::kRejected);
  EXPECT_EQ((*executable)->Bind(wrong).error().exit, ExitCode::kRejected);
  EXPECT_TRUE((*executable)->Run(right));
}

TEST(RuntimeExecutable, LayoutsDoNotChangeValues) {
  const auto device = OpenHostDevice();
  Module module("layout");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  Layout columns = DefaultLayout(3);
  columns.minor_to_major = {0, 2, 1};
  const Shape plain(PrimitiveType::kS32, {2, 3, 5}), odd(PrimitiveType::kS32, {2, 3, 5}, columns);
  Instruction& p = entry.AddParameter(0, odd);
  Literal constant(odd);
  for (int i = 0; i < 30; ++i) constant.SetInt(i, 100 * i);
  entry.SetRoot(entry.Add(Opcode::kAdd, plain, {&p, &entry.AddConstant(constant)}));
  auto executable = Compile(module, *device, ByHostCalls());
  ASSERT_TRUE(executable);
  Literal argument(plain);
  for (int i = 0; i < 30; ++i) argument.SetInt(i, i);
  const auto result = (*executable)->Run(std::vector<Literal>{argument});
  ASSERT_TRUE(result);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(result->GetInt(i), 101 * i);
}

TEST(RuntimeDevice, UnknownAndAbsentDevicesAreNamed) {
  EXPECT_EQ(OpenDevice("tpu").error().exit, ExitCode::kUsage);
  EXPECT_EQ(OpenDevice("cuda:x").error().exit, ExitCode::kUsage);
  EXPECT_TRUE(OpenDevice("cpu"));
  const auto cuda = OpenDevice("cuda:999");
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().exit, ExitCode::kDevice);
}

}  // namespace
}  // namespace hlo::gpu
