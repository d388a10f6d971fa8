#include "judge/compare/loop_runs.h"

#include <algorithm>
#include <utility>

#include "ir/instruction.h"
#include "judge/bounds/rules.h"
#include "judge/compare/joined.h"

namespace hlo {
namespace {

constexpr int64_t kMostBytes = 1 << 20;  // Limit for a recorded state.

// Ignores bounds, because an iteration starts without them.
bool SameValues(const ShadowValue& a, const ShadowValue& b) {
  if (a.elements.size() != b.elements.size() || !Compatible(a.shape, b.shape)) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!SameValues(a.elements[i], b.elements[i])) return false;
  }
  return a.value.BitEquals(b.value) && a.exact.BitEquals(b.exact) && a.open.BitEquals(b.open);
}

void AddEnd(LoopRun& run) {
  const int64_t iterations = run.states.empty() ? 0 : run.states.back().iteration + 1;
  if (!shadow::AnyUndetermined(run.result)) run.states.push_back({iterations, run.result, true});
}

}  // namespace

std::optional<LoopRun> LoopRuns::Noted(const Instruction& loop, const ShadowValue& start) const {
  const auto noted = once_.find(&loop);
  if (noted == once_.end() || !noted->second.result || !SameValues(noted->second.start, start)) return std::nullopt;
  LoopRun run{.states = {{0, noted->second.start}}, .result = *noted->second.result};
  AddEnd(run);
  return run;
}

Result<LoopRun> LoopRuns::Run(const Instruction& loop, std::span<const ShadowValue> args, ShadowOptions options) {
  LoopRun run;
  options.is_exact_state = [](const Instruction&, int64_t) { return true; };  // Both loops receive these states.
  options.on_iteration = [&](const Instruction& at, int64_t iteration, const ShadowValue& state) {
    if (&at != &loop) return NoteIteration(at, iteration, state);
    const int64_t slots = iterations_ + 1;  // The first state is never replaced.
    if (iteration < slots) {
      run.states.push_back({iteration, state});
      return;
    }
    const int64_t slot = static_cast<int64_t>(Mix(seed_ ^ static_cast<uint64_t>(iteration * 0x9E3779B97F4A7C15)) %
                                              static_cast<uint64_t>(iteration));
    if (slot + 1 < slots) run.states[slot + 1] = {iteration, state};
  };
  options.on_loop_end = [&](const Instruction& at, int64_t trips, ShadowValue last, const ShadowValue& result) {
    if (&at != &loop) return NoteResult(at, result);
    const auto is_last = [&](const LoopState& state) { return state.iteration == trips - 1; };
    if (trips == 0 || std::ranges::any_of(run.states, is_last)) return;
    run.states.push_back({trips - 1, std::move(last)});
  };
  run.result = TRY(EvaluateShadowOf(loop, args, options));
  std::ranges::sort(run.states, {}, &LoopState::iteration);
  AddEnd(run);
  return run;
}

void LoopRuns::NoteIteration(const Instruction& loop, int64_t iteration, const ShadowValue& state) {
  if (iteration > 0 || state.shape.ByteSize() > kMostBytes) once_.erase(&loop);
  else once_[&loop] = {.start = state, .result = std::nullopt};
}

void LoopRuns::NoteResult(const Instruction& loop, const ShadowValue& result) {
  const auto noted = once_.find(&loop);
  if (noted != once_.end() && !noted->second.result) noted->second.result = result;
}

}  // namespace hlo
