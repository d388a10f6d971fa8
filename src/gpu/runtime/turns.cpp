#include "gpu/runtime/turns.h"

#include <algorithm>

namespace hlo::gpu {

std::vector<LoopNode::Turn> FindTurns(const Instruction& loop, const BufferPlan& buffers,
                                      std::span<const PlannedCopy> back, PlaceRange body,
                                      std::span<const int> value_at) {
  const Values& values = buffers.values;
  const int64_t enter = values.position_of[loop.id()], end = values.ends_of[loop.id()].front();
  const auto is_of_trip = [&](int value) {
    return values.values[value].position > enter && values.values[value].position < end;
  };
  const auto copies_with = [&](int buffer) {
    return std::ranges::count_if(back, [&](const PlannedCopy& copy) {
      return buffers.buffer_of[copy.from] == buffer || buffers.buffer_of[copy.to] == buffer;
    });
  };
  std::vector<LoopNode::Turn> turns;
  for (int i = 0; i < std::ssize(back); ++i) {
    const auto [from, to] = back[i];
    const int state = buffers.buffer_of[to], next = buffers.buffer_of[from];
    if (state < 0 || next < 0 || state == next || values.values[from].bytes != values.values[to].bytes) continue;
    if (copies_with(state) > 1 || copies_with(next) > 1 || !is_of_trip(from)) continue;
    LoopNode::Turn turn{.copy = i};
    bool may = true;
    for (PlaceNumber place = body.first; place < body.first + body.count; ++place) {
      const int value = value_at[place];
      const int buffer = value < 0 ? -1 : buffers.buffer_of[value];
      if (buffer == state) {
        may = may && (value == to || is_of_trip(value));
        turn.state.push_back(place);
      } else if (buffer == next) {
        may = may && is_of_trip(value);
        turn.next.push_back(place);
      }
    }
    if (may && !turn.next.empty()) turns.push_back(std::move(turn));
  }
  return turns;
}

InTurns::InTurns(Binding& binding, const LoopNode& loop, int64_t trip) : binding_(binding) {
  for (const LoopNode::Turn& turn : loop.turns) {
    void* const next = binding.Pointer(turn.places[trip % 2]);
    for (const PlaceNumber place : turn.next) Move(place, next);
    if (trip == 0) continue;  // The first trip reads the initial state from its own place.
    void* const state = binding.Pointer(turn.places[(trip - 1) % 2]);
    for (const PlaceNumber place : turn.state) Move(place, state);
  }
}

InTurns::~InTurns() {
  for (const auto& [place, before] : before_) binding_.Move(place, before);
}

void InTurns::Move(PlaceNumber place, void* to) { before_.emplace_back(place, binding_.Move(place, to)); }

}  // namespace hlo::gpu
