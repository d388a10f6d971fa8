#include "gpu/runtime/run/state.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gpu/runtime/turns.h"

namespace hlo::gpu {
namespace {

Status RecordTrips(RunState& run, const LoopNode& node) {
  run.unrolled.push_back(&node);
  RecordedNode noted{.kind = RecordedNode::Kind::kTrips, .instruction = node.loop, .trips = node.known_trips};
  noted.bodies.emplace_back();
  // `back`: copies after each trip. `last`: copies of the final state.
  std::vector<CopyWork> back, last;
  for (int i = 0; i < std::ssize(node.back); ++i) {
    const auto turn = std::ranges::find(node.turns, i, &LoopNode::Turn::copy);
    if (turn == node.turns.end()) back.push_back(node.back[i]);
    else last.push_back({turn->places[(node.known_trips + 1) % 2], node.back[i].to, node.back[i].bytes});
  }
  for (int64_t i = 0; i < node.known_trips; ++i) {
    const InTurns in_turns(run.binding, node, i);
    const int outer = run.timeline.EnterTrip(node.loop->id(), i);
    TRY(Into(run, i == 0 ? &noted.bodies.front() : nullptr, [&]() -> Status {
      TRY(RunBlock(run, node.body));
      return RunCopies(run, back);
    }));
    run.timeline.LeaveTrip(outer);
  }
  Note(run, std::move(noted));
  return RunCopies(run, node.known_trips > 0 ? last : std::vector<CopyWork>());
}

}  // namespace

Status RecordLoop(RunState& run, const LoopNode& node) {
  if (StepsOfTrips(run, node) >= 0) return RecordTrips(run, node);
  const auto trip = [&]() -> Status {
    const Step* const outer = std::exchange(run.left_out, node.decided.last);
    Status queued = RunBlock(run, node.body);
    run.left_out = outer;
    TRY(std::move(queued));
    return RunCopies(run, node.back);
  };
  const LoopNode::Decided& decided = node.decided;
  TRY(RunBlock(run, node.condition));
  RecordedNode noted{.kind = RecordedNode::Kind::kLoop, .instruction = node.loop};
  noted.bodies.emplace_back();
  NoteCondition(run, *node.loop, "begin_loop");
  int outer_trip = -1, all_trips = -1;
  int64_t last = -1;
  const auto body = [&]() -> Status {
    const int64_t begins = run.timeline.Name({.kind = TimelineEvent::Kind::kWait});
    outer_trip = run.timeline.EnterTrip(node.loop->id(), -1, begins);
    all_trips = run.timeline.recorded_trip();
    TRY(trip());
    last = run.named;
    if (!decided.computes) TRY(RunBlock(run, node.condition));
    const std::string_view behind = decided.last != nullptr ? decided.last->instruction->name() : "";
    NoteCondition(run, *node.loop, behind.empty() ? "next_trip" : Str(behind, " and next_trip"));
    return {};
  };
  TRY(run.device.RecordWhile(
      {run.binding.Kernel(decided.first), run.binding.Pointers(decided.arguments)},
      {run.binding.Kernel(decided.next), run.binding.Pointers(decided.next_arguments), decided.handle_at},
      [&] { return Into(run, &noted.bodies.front(), body); }));
  // The kernel of the body's last step, or an additional kernel, sets the condition.
  if (decided.last != nullptr) run.timeline.NameAs(last);
  else last = run.timeline.Name({.kind = TimelineEvent::Kind::kWait});
  run.timeline.EndLoop(all_trips, last);
  run.timeline.LeaveTrip(outer_trip);
  Note(run, std::move(noted));
  return {};
}

Status RecordBranch(RunState& run, const BranchNode& node) {
  const BranchNode::Decided& decided = node.decided;
  if (decided.set < 0) return {};
  RecordedNode noted{.kind = RecordedNode::Kind::kBranch, .instruction = node.conditional};
  noted.bodies.resize(node.branches.size());
  std::vector<std::function<Status()>> branches;
  int64_t decides = -1;
  const auto name = [&] {
    if (decides < 0) decides = run.timeline.Name({.kind = TimelineEvent::Kind::kWait});
    else run.timeline.NameAs(decides);
  };
  for (size_t i = 0; i < node.branches.size(); ++i) {
    const BranchNode::Branch& one = node.branches[i];
    const bool is_asked = decided.asked.empty() || std::ranges::count(decided.asked, static_cast<int>(i)) > 0;
    if (!is_asked) continue;
    branches.emplace_back();
    if (one.block.empty() && one.end.empty()) continue;
    branches.back() = [&, i]() -> Status {
      name();
      return Into(run, &noted.bodies[i], [&]() -> Status {
        TRY(RunBlock(run, node.branches[i].block));
        return RunCopies(run, node.branches[i].end);
      });
    };
  }
  NoteCondition(run, *node.conditional, "choose_branch");
  TRY(run.device.RecordBranches(run.binding.Kernel(decided.set), run.binding.Pointers(decided.arguments), branches));
  name();
  Note(run, std::move(noted));
  return {};
}

}  // namespace hlo::gpu
