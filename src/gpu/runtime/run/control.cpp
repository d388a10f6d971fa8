#include "gpu/runtime/run/state.h"

#include <algorithm>
#include <random>

#include "base/crash.h"
#include "gpu/runtime/located.h"
#include "gpu/runtime/run/runner.h"

namespace hlo::gpu {
namespace {

Status RunReordered(RunState& run, const Block& block) {
  std::vector<std::vector<int>> after = Dependencies(run.program, block), next(block.size());
  std::vector<size_t> waits(block.size());
  std::vector<int> ready;
  for (size_t i = 0; i < block.size(); ++i) {
    waits[i] = after[i].size();
    for (const int earlier : after[i]) next[earlier].push_back(static_cast<int>(i));
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  std::mt19937_64 draw(*run.options.order);
  while (!ready.empty()) {
    std::swap(ready[draw() % ready.size()], ready.back());
    const int node = ready.back();
    ready.pop_back();
    TRY(RunNode(run, block[node]));
    for (const int later : next[node]) {
      if (--waits[later] == 0) ready.push_back(later);
    }
  }
  return {};
}

Status RunLoop(RunState& run, const LoopNode& node) {
  TRY(RunCopies(run, node.enter));
  if (run.recording) return RecordLoop(run, node);
  const int64_t most = run.program.options.max_loop_iterations;
  run.loops.push_back({node.loop, 0});
  for (;; ++run.loops.back().iteration) {
    const int outer = run.timeline.BeginTrip(run.loops.back());
    TRY(RunBlock(run, node.condition));
    uint8_t again = 0;
    TRY(ReadBack(run, &again, node.predicate, 1));
    const bool ends = again == 0 || run.loops.back().iteration == node.most_trips;
    if (!ends) {
      if (most > 0 && run.loops.back().iteration >= most) FAIL(Endless(run, *node.loop));
      TRY(RunBlock(run, node.body));
      TRY(RunCopies(run, node.back));
    }
    run.timeline.EndTrip(outer, !ends);
    if (ends) break;
  }
  run.binding.trips_made(node) = run.loops.back().iteration;
  run.loops.pop_back();
  return {};
}

Status RunBranch(RunState& run, const BranchNode& node) {
  if (run.recording) return RecordBranch(run, node);
  const auto count = static_cast<int64_t>(node.branches.size());
  int64_t branch = 0;
  if (node.conditional->operand(0).shape().type() == PrimitiveType::kPred) {
    uint8_t taken = 0;
    TRY(ReadBack(run, &taken, node.selector, 1));
    branch = taken != 0 ? 0 : 1;
  } else {
    int32_t index = 0;
    TRY(ReadBack(run, &index, node.selector, 4));
    branch = index < 0 || index >= count ? count - 1 : index;
  }
  TRY(RunBlock(run, node.branches[branch].block));
  return RunCopies(run, node.branches[branch].end);
}

}  // namespace

Status RunBlock(RunState& run, const Block& block) {
  if (run.recording) return RecordNodes(run, block);
  if (run.options.order) return RunReordered(run, block);
  const bool may_record = run.device.Records() && run.options.record && !ReadsTripsAtOnce(run);
  for (size_t i = 0; i < block.size();) {
    size_t end = i;
    int64_t steps = 0;
    for (; may_record && end < block.size(); ++end) {
      const int64_t more = StepsWithoutHost(run, block[end]);
      if (more < 0) break;
      steps += more;
    }
    if (steps > 1) TRY(RunRecorded(run, std::span(block).subspan(i, end - i)));
    else TRY(RunNode(run, block[i]));
    i = steps > 1 ? end : i + 1;
  }
  return {};
}

Status RunNodes(RunState& run, std::span<const Node> nodes) {
  for (const Node& node : nodes) TRY(RunNode(run, node));
  return {};
}

Status RunNode(RunState& run, const Node& node) {
  if (const auto* step = std::get_if<Step>(&node)) {
    const AtHand at_hand("step", step->instruction->name());
    return LocatedAt(*step->instruction, RunStep(run, *step));
  }
  if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node))
    return LocatedAt(*(*loop)->loop, RunLoop(run, **loop));
  const BranchNode& branch = *std::get<std::unique_ptr<BranchNode>>(node);
  return LocatedAt(*branch.conditional, RunBranch(run, branch));
}

}  // namespace hlo::gpu
