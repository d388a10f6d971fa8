#include "driver/run/trip_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "driver/inspect/extract.h"
#include "driver/run/step_alone.h"
#include "interp/interpreter.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// The loop of a region that has no other kernels, or null.
const Instruction* OnlyLoop(const Instruction& region) {
  const Instruction* loop = nullptr;
  for (const Instruction* inst : FusedComputation(region).instructions()) {
    if (inst->Is(Opcode::kWhile) && loop == nullptr) loop = inst;
    else if (!inst->Is(kNoKernel)) return nullptr;
  }
  return loop;
}

// Makes a region of only the loop, with the plan and the name of the step.
std::unique_ptr<Module> Alone(const gpu::StepInfo& step, const Instruction& loop) {
  std::unique_ptr<Module> module = Extract(loop, 0, false);
  Computation& held = module->AddComputation("trips");
  Computation& entry = module->AddComputation("entry");
  std::vector<Instruction*> state, arguments;
  for (const Shape& element : loop.shape().elements()) {
    const auto number = std::ssize(state);
    state.push_back(&held.AddParameter(number, element));
    arguments.push_back(&entry.AddParameter(number, element));
  }
  Instruction& tuple = held.AddTuple({state.begin(), state.end()});
  held.SetRoot(held.AddClone(module->entry().root(), {&tuple}));
  Instruction& region = entry.Add(Opcode::kFusion, loop.shape(), {arguments.begin(), arguments.end()},
                                  FusionAttrs{.kind = FusionKind::kCustom, .calls = &held}, step.instruction->name());
  SetConfigValue(region, "region", RegionOf(*step.instruction));
  SetPlan(region, step.plan);
  entry.SetRoot(region);
  module->SetEntry(entry);
  module->RemoveUnreachable();
  return module;
}

// The loop or, with `all`, the kernels on which it depends, the loop, and the other kernels. Nothing unless the region
// has one loop and another kernel.
std::optional<RegionGroups> GroupsAroundLoop(const Instruction& region, bool all) {
  const Computation& held = FusedComputation(region);
  std::vector<const Instruction*> loops;
  for (const Instruction* inst : held.Instructions()) {
    if (inst->Is(Opcode::kWhile)) loops.push_back(inst);
  }
  if (loops.size() != 1 || OnlyLoop(region) != nullptr) return std::nullopt;
  if (!all) return RegionGroups{loops};
  std::set<const Instruction*> upstream = {loops.front()};
  const std::vector<Instruction*> order = held.PostOrder();
  for (auto inst = order.rbegin(); inst != order.rend(); ++inst) {
    if (upstream.contains(*inst)) upstream.insert((*inst)->operands().begin(), (*inst)->operands().end());
  }
  RegionGroups groups(3);
  groups[1] = loops;
  for (const Instruction* inst : order) {
    if (inst->Is(kNoKernel) || inst == loops.front()) continue;
    groups[upstream.contains(inst) ? 0 : 2].push_back(inst);
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

}  // namespace

Result<std::unique_ptr<gpu::Executable>> CompileAroundLoop(const gpu::StepInfo& step, gpu::Device& device,
                                                           const RunOptions& options, bool same_plan) {
  if (!IsRegion(*step.instruction)) return nullptr;
  const std::unique_ptr<Module> module = ExtractStep(*step.instruction);
  bool is_apart = false;  // The first region was split. Its parts are regions too.
  const auto once = [&](const Instruction& region) {
    return std::exchange(is_apart, true) ? std::nullopt : GroupsAroundLoop(region, same_plan);
  };
  if (!TakeRegionsApart(*module, once)) return nullptr;
  for (Instruction* inst : module->entry().Instructions()) {
    if (IsRegion(*inst)) SetPlan(*inst, step.plan);
  }
  return CompileAlone(*module, device, options);
}

std::set<int64_t> TripsToJudge(int64_t trips, int64_t seeded, uint64_t seed) {
  std::set<int64_t> chosen;
  if (trips == 0) return chosen;
  chosen = {0, trips - 1};
  uint64_t state = seed;
  while (std::ssize(chosen) < std::min(trips, seeded + 2)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    chosen.insert(static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(trips)));
  }
  return chosen;
}

Result<std::unique_ptr<TripCheck>> TripCheck::Of(const gpu::StepInfo& step, gpu::Device& device,
                                                 const RunOptions& options) {
  if (!IsRegion(*step.instruction)) return nullptr;
  const Instruction* const loop = OnlyLoop(*step.instruction);
  if (loop == nullptr) return nullptr;
  std::unique_ptr<TripCheck> check(new TripCheck(step, *loop));
  check->alone_ = TRY(CompileAlone(*Alone(step, *loop), device, options));
  if (check->alone_ == nullptr) return nullptr;
  return check;
}

// The value of an instruction in a region that computes only the loop. `result` is the loop's value.
Result<Literal> TripCheck::Value(const Instruction& inst, std::span<const Literal> inputs,
                                 const Literal* result) const {
  if (&inst == &loop_) return *result;
  if (inst.Is(Opcode::kParameter)) return inputs[inst.parameter_number()];
  std::vector<Literal> operands;
  for (const Instruction* operand : inst.operands()) operands.push_back(TRY(Value(*operand, inputs, result)));
  return Evaluate(inst, operands);
}

// The state after `trips` trips (0: no limit), or after an earlier end of the loop.
Result<Literal> TripCheck::Go(const Literal& state, int64_t trips, int64_t* made) {
  std::vector<Literal> arguments;
  for (const Literal& element : state.elements()) arguments.push_back(element);
  return alone_->Run(arguments, {.stop_loops_after = trips, .trips = made});
}

Status TripCheck::Run(std::span<const Literal> inputs, const Literal& output, int64_t seeded, const LocalOptions& local,
                      const Judge& judge) {
  const auto& attrs = loop_.attrs<WhileAttrs>();
  LocalOptions options = local;
  options.plan = &step_.precision;
  const Literal begin = TRY(Value(loop_.operand(0), inputs, nullptr));
  int64_t trips = 0, made = 0;
  const Literal end = TRY(Go(begin, 0, &trips));
  const auto judge_condition = [&](const Literal& state, int64_t trip) -> Status {
    const Literal goes_on = Literal::Scalar(PrimitiveType::kPred, int64_t{trip < trips});
    const gpu::LoopStep at{&loop_, trip};
    return judge(TRY(CompareLocal(*attrs.condition, {&state, 1}, goes_on, options)), {&at, 1});
  };
  Literal state = begin;
  int64_t at = 0;
  for (const int64_t trip : TripsToJudge(trips, seeded, local.seed)) {
    if (trip > at) state = TRY(Go(state, trip - at, &made));
    Literal next = TRY(Go(state, 1, &made));
    const gpu::LoopStep step{&loop_, trip};
    TRY(judge(TRY(CompareLocal(*attrs.body, {&state, 1}, next, options)), {&step, 1}));
    TRY(judge_condition(state, trip));
    state = std::move(next);
    at = trip + 1;
  }
  TRY(judge_condition(end, trips));
  const Literal expected = TRY(Value(FusedComputation(*step_.instruction).root(), inputs, &end));
  return judge(CompareBitwise(expected, output, local), {});
}

Result<std::optional<Comparison>> TripCheck::WithRandomArguments(LocalOptions local, const std::set<ShapeIndex>& open) {
  local.plan = &step_.precision;
  return CompareWhereDecided(
      local, open,
      [&](const ArgumentOptions& made_up, const LocalOptions& options) -> Result<std::optional<Comparison>> {
        auto arguments = MakeArguments(alone_->module(), made_up);
        if (!arguments) return std::nullopt;
        const Literal state = Literal::Tuple(std::move(*arguments));
        int64_t made = 0;
        const auto next = TRY(UnlessOfDevice(Go(state, 1, &made)));
        if (!next || made != 1) return std::nullopt;
        auto comparison = CompareLocal(*loop_.attrs<WhileAttrs>().body, {&state, 1}, *next, options);
        return comparison ? std::optional(std::move(*comparison)) : std::nullopt;
      });
}

}  // namespace hlo
