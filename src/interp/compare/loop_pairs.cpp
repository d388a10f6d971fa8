#include "interp/compare/loop_pairs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/trip_count.h"

namespace hlo {
namespace {

// The loop of which `value`, of its body, is an element of the state; null: of none, or of several.
const Instruction* LoopOfState(const Instruction& value, const Callers& callers) {
  if (!ElementOfState(value)) return nullptr;
  const Instruction* caller = callers.OnlyOneOf(value.computation());
  const bool is_body =
      caller != nullptr && caller->Is(Opcode::kWhile) && caller->attrs<WhileAttrs>().body == &value.computation();
  return is_body ? caller : nullptr;
}

}  // namespace

bool LoopPair::HasCounterpart(int64_t element_before) const {
  return std::ranges::find(elements, element_before) != elements.end();
}

std::optional<LoopPair> ChangedLoop(const Instruction& loop, const OriginFunction& origin_of, const Callers& callers) {
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  if (!loop.shape().IsTuple() || !body.root().Is(Opcode::kTuple)) return std::nullopt;
  const Instruction* same = origin_of(loop);
  if (same != nullptr && Compatible(same->shape(), loop.shape())) return std::nullopt;
  LoopPair pair{.elements = std::vector<int64_t>(loop.shape().elements().size(), -1)};
  const auto take = [&](const Instruction& element, const Instruction& origin) {
    int64_t& at = pair.elements[element.tuple_index()];
    if (at < 0 && Compatible(element.shape(), origin.shape())) at = origin.tuple_index();
  };
  for (const Instruction* element : body.parameter(0).users()) {
    if (!element->Is(Opcode::kGetTupleElement)) return std::nullopt;
    const Instruction* origin = origin_of(*element);
    const Instruction* before = origin == nullptr ? nullptr : LoopOfState(*origin, callers);
    if (before == nullptr) continue;
    if (pair.before != nullptr && pair.before != before) return std::nullopt;
    pair.before = before;
    take(*element, *origin);
  }
  if (pair.before == nullptr || !pair.before->attrs<WhileAttrs>().body->root().Is(Opcode::kTuple)) return std::nullopt;
  for (const Instruction* element : loop.users()) {  // What trips write and none reads.
    if (!element->Is(Opcode::kGetTupleElement)) return std::nullopt;
    const Instruction* origin = origin_of(*element);
    if (origin != nullptr && origin->Is(Opcode::kGetTupleElement) && &origin->operand(0) == pair.before)
      take(*element, *origin);
  }
  return pair;
}

LoopBeside::LoopBeside(const Instruction& loop, const LoopPair& pair, ShadowValue start, ShadowOptions options)
    : root_(loop.attrs<WhileAttrs>().body->root()),
      pair_(pair),
      options_(std::move(options)),
      next_(std::move(start)) {}

void LoopBeside::Begin(const ShadowValue& before) {
  now_ = next_;
  if (!status_) return;
  const std::array state = {Now(before)};
  for (size_t i = 0; i < pair_.elements.size(); ++i) {
    const auto element = static_cast<int64_t>(i);
    const Instruction& value = root_.operand(element);
    if (pair_.elements[i] >= 0 || ElementOfState(value) == element) continue;
    auto next = EvaluateShadowOf(value, state, options_);
    if (!next) {
      status_ = std::unexpected(next.error());
      return;
    }
    next_.elements[i] = std::move(*next);
  }
}

ShadowValue LoopBeside::With(const ShadowValue& before, const ShadowValue& own) const {
  ShadowValue state = own;
  for (size_t i = 0; i < pair_.elements.size(); ++i) {
    if (pair_.elements[i] >= 0) state.elements[i] = before.elements[pair_.elements[i]];
  }
  return state;
}

}  // namespace hlo
