#include "judge/sample_cones.h"

#include <algorithm>
#include <utility>

#include "ir/analysis/trip_count.h"
#include "judge/compare/same_operation.h"

namespace hlo {

using shadow::Cone;
using shadow::ConeArgument;

namespace {

constexpr int64_t kMostStepsOfStart = 100'000'000;

bool CannotBeRepeated(const Instruction& inst) { return !IsRepeatable(inst) || !CanInterpret(inst); }

}  // namespace

const Shape& ShapeOf(const Place& place) {
  return place.element < 0 ? place.inst->shape() : place.inst->shape().element(place.element);
}

double StepsOfLoops(const Computation& computation) {
  constexpr double kIterations = 1000;  // Assumed if the number is unknown.
  double steps = 0;
  for (const Instruction* inst : computation.instructions()) {
    double times = 1;
    if (inst->Is(Opcode::kWhile)) {
      const auto trips = TripCount(*inst);
      times = trips ? static_cast<double>(*trips) : kIterations;
    }
    for (const Computation* called : CalledComputations(*inst)) {
      if (!inst->Is(Opcode::kWhile) && !inst->Is(Opcode::kConditional) && !inst->Is(Opcode::kCall)) continue;
      steps += times * (static_cast<double>(shadow::StepsOf(*called)) + StepsOfLoops(*called));
    }
  }
  return steps;
}

std::vector<Literal> ArgumentsOf(const Cone& cone) {
  std::vector<Literal> args;
  for (const ConeArgument& argument : cone.args)
    args.push_back(argument.literal != nullptr ? *argument.literal : Literal());
  return args;
}

SampleCones::SampleCones(const Module& before, const Module& after, std::span<const Literal> args,
                         const SampleOptions& options, const ValueNumbers& numbers)
    : args_(args), options_(options), numbers_(numbers), loops_before_(LoopsOf(before)), loops_after_(LoopsOf(after)) {}

void SampleCones::GiveLeft(const Module& before, const Origins& origins) {
  for (const Computation* computation : before.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      const int number = numbers_.Of(*inst);
      const int id = origins.InputId(*inst);
      if (number == ValueNumbers::kNone || !inst->shape().IsArray() || inst->Is(Opcode::kConstant)) continue;
      if (options_.left.has && options_.left.has(id)) left_.try_emplace(number, id);
    }
  }
}

Result<std::shared_ptr<const Literal>> SampleCones::Given(const Instruction& inst, int number, const Cut& cut) {
  if (inst.Is(Opcode::kGetTupleElement) && inst.operand(0).Is(Opcode::kParameter)) {
    if (const Instruction* loop = LoopAround(inst)) return ElementOf(*loop, inst.tuple_index(), number);
  }
  const auto left = left_.find(number);
  if (left == left_.end() || cut.all || cut.computed.contains(number)) return nullptr;
  return options_.left.take(left->second);
}

const Instruction* SampleCones::LoopAround(const Instruction& inst) const {
  for (const LoopOfComputation* loops : {&loops_before_, &loops_after_}) {
    const auto loop = loops->find(&inst.computation());
    if (loop != loops->end()) return loop->second;
  }
  return nullptr;
}

// An element's value in the judged state, or its initial value if the body does not change it.
Result<std::shared_ptr<const Literal>> SampleCones::ElementOf(const Instruction& loop, int64_t element, int number) {
  if (const auto now = state_.find(number); now != state_.end()) return now->second;
  const auto known = starts_.find(number);
  if (known != starts_.end()) return known->second;
  starts_[number] = nullptr;
  const std::vector<int>* state = numbers_.StateOf(loop);
  if (state == nullptr || (*state)[element] != number || numbers_.StateOf(number) != nullptr) return nullptr;
  const Instruction& operand = loop.operand(0);
  const Place place = operand.Is(Opcode::kTuple) ? Place{&operand.operand(element)} : Place{&operand, element};
  const auto cone = TRY(Of(place, {}));
  if (!cone || cone->steps > kMostStepsOfStart) return nullptr;
  if (auto value = Interpret(*cone->module, ArgumentsOf(*cone), options_.interpret))
    starts_[number] = std::make_shared<const Literal>(std::move(*value));
  return starts_[number];
}

Result<std::optional<Cone>> SampleCones::Of(const Place& place, const Cut& cut) {
  const Computation& computation = place.inst->computation();
  std::vector<ConeArgument> args(computation.parameters().size());
  const bool is_entry = computation.IsEntry();
  for (size_t i = 0; is_entry && i < args.size(); ++i)
    args[i] = {.literal = &args_[i], .value = {}, .key = numbers_.Of(*computation.parameters()[i])};
  Status status;
  const shadow::Given given = [&](const Instruction& inst) -> std::optional<ConeArgument> {
    const int number = numbers_.Of(inst);
    if (number == ValueNumbers::kNone || !inst.shape().IsArray() || inst.Is(Opcode::kParameter)) return std::nullopt;
    auto value = Given(inst, number, cut);
    if (!value) status = std::unexpected(value.error());
    if (!value || *value == nullptr || !Compatible((*value)->shape(), inst.shape())) return std::nullopt;
    held_.push_back(*value);
    return ConeArgument{.literal = value->get(), .value = {}, .key = number};
  };
  Cone cone = shadow::ConeOf(*place.inst, args, nullptr, given);
  TRY(std::move(status));
  if (place.element >= 0) {
    Computation& entry = cone.module->entry();
    Instruction& root = entry.root();
    entry.SetRoot(root.Is(Opcode::kTuple) ? root.operand(place.element)
                                          : entry.AddGetTupleElement(root, place.element));
    if (root.IsDead()) entry.RemoveDeadTree(root);
  }
  for (const Instruction* inst : cone.module->entry().PostOrder()) {
    if (CannotBeRepeated(*inst) || HasDynamicSize(*inst)) return std::nullopt;
    const bool is_read = inst->Is(Opcode::kParameter) && (inst->IsRoot() || !inst->users().empty());
    if (is_read && cone.args[inst->parameter_number()].literal == nullptr) return std::nullopt;
  }
  const double steps = static_cast<double>(cone.steps) + StepsOfLoops(cone.module->entry());
  cone.steps = static_cast<int64_t>(std::min(steps, 0x1p60));
  return cone;
}

}  // namespace hlo
