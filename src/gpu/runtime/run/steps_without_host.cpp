#include "gpu/runtime/run/state.h"

namespace hlo::gpu {
namespace {

// Declared first, because nodes contain blocks.
int64_t StepsWithoutHost(const RunState& run, const Block& block);

// Number of steps if the device decides how often the loop runs, or which branch runs. Otherwise -1.
int64_t StepsDecided(const RunState& run, const LoopNode& node) {
  if (node.decided.first < 0 || run.binding.host_decides()) return -1;
  const int64_t condition = StepsWithoutHost(run, node.condition), body = StepsWithoutHost(run, node.body);
  return condition < 0 || body < 0 ? -1 : condition + body + 2;
}

int64_t StepsDecided(const RunState& run, const BranchNode& node) {
  if (!node.decided.by_device || run.binding.host_decides()) return -1;
  int64_t steps = 1;
  for (const BranchNode::Branch& one : node.branches) {
    const int64_t more = StepsWithoutHost(run, one.block);
    if (more < 0) return -1;
    steps += more;
  }
  return steps;
}

int64_t StepsWithoutHost(const RunState& run, const Block& block) {
  int64_t steps = 0;
  for (const Node& node : block) {
    const int64_t more = StepsWithoutHost(run, node);
    if (more < 0) return -1;
    steps += more;
  }
  return steps;
}

}  // namespace

int64_t StepsWithoutHost(const RunState& run, const Node& node) {
  if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
    const int64_t steps = StepsOfTrips(run, **loop);
    return steps >= 0 ? steps : StepsDecided(run, **loop);
  }
  if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) return StepsDecided(run, **branch);
  return NeedsHost(std::get<Step>(node)) ? -1 : 1;
}

int64_t StepsOfTrips(const RunState& run, const LoopNode& node) {
  const int64_t most_steps = node.decided.first < 0 ? 4096 : 2000;
  const int64_t trips = node.known_trips, most = run.program.options.max_loop_iterations;
  if (trips < 0 || node.most_trips >= 0 || run.binding.trips_made(node) != trips || (most > 0 && trips > most))
    return -1;
  const int64_t steps = StepsWithoutHost(run, node.body);
  return steps >= 0 && trips * steps <= most_steps ? trips * steps : -1;
}

}  // namespace hlo::gpu
