#include "judge/loop_states.h"

namespace hlo {
namespace {

std::optional<Counterparts::Element> ElementRead(const Instruction& inst, const LoopOfComputation& loops) {
  if (!inst.Is(Opcode::kGetTupleElement)) return std::nullopt;
  const Instruction& tuple = inst.operand(0);
  if (tuple.Is(Opcode::kWhile)) return Counterparts::Element{&tuple, inst.tuple_index()};
  const auto loop = loops.find(&inst.computation());
  if (!tuple.Is(Opcode::kParameter) || loop == loops.end()) return std::nullopt;
  return Counterparts::Element{loop->second, inst.tuple_index()};
}

}  // namespace

LoopOfComputation LoopsOf(const Module& module) {
  LoopOfComputation loops;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kWhile)) continue;
      loops[inst->attrs<WhileAttrs>().body] = inst;
      loops[inst->attrs<WhileAttrs>().condition] = inst;
    }
  }
  return loops;
}

Counterparts::Counterparts(const LoopOfComputation& before, const LoopOfComputation& after, const Origins& origins) {
  const auto take = [&](const Instruction& user) {
    const auto element = ElementRead(user, after);
    if (!element) return;
    for (const Instruction* origin : origins.Of(user)) {
      const auto other = ElementRead(*origin, before);
      if (other && Compatible(origin->shape(), user.shape()))
        of_.try_emplace({element->loop, element->element}, *other);
    }
  };
  for (const auto& [computation, loop] : after) {
    for (const Instruction* user : computation->parameter(0).users()) take(*user);
    for (const Instruction* user : loop->users()) take(*user);
  }
}

std::optional<Counterparts::Element> Counterparts::Of(const Instruction& loop_after, int64_t element) const {
  const auto found = of_.find({&loop_after, element});
  return found == of_.end() ? std::nullopt : std::optional(found->second);
}

const Instruction* Counterparts::LoopOf(const Instruction& loop_after) const {
  const auto found = of_.lower_bound({&loop_after, 0});
  return found == of_.end() || found->first.first != &loop_after ? nullptr : found->second.loop;
}

void LoopStates::Add(int64_t iteration, const Literal& state) {
  const int64_t number = seen_++;
  latest_ = iteration;
  if (states_.size() < kStates) return states_.push_back({iteration, state});
  // Reservoir sampling: each later state is kept with the same probability.
  const auto place = Mixed(seed_, static_cast<uint64_t>(number)) % static_cast<uint64_t>(number);
  if (place + 1 < kStates) states_[place + 1] = {iteration, state};
}

std::vector<LoopStates::State> LoopStates::Of(bool of_condition) const {
  std::vector<State> states = states_;
  if (of_condition && end_) states.push_back(*end_);
  return states;
}

}  // namespace hlo
