#include "gpu/runtime/run/state.h"

#include <algorithm>
#include <utility>

#include "gpu/runtime/graph_order.h"
#include "gpu/runtime/run/runner.h"

namespace hlo::gpu {
namespace {

// Whether unrolled loops still have the recorded trip counts. If not, the host runs the nodes once. If counts still
// differ then, the nodes are recorded again.
bool TripsHold(const RunState& run, const Binding::Recorded& kept) {
  return std::ranges::all_of(kept.unrolled, [&](const LoopNode* loop) { return StepsOfTrips(run, *loop) >= 0; });
}

Status RunUnrecorded(RunState& run, std::span<const Node> nodes, const std::string& why) {
  const bool decides = std::ranges::any_of(nodes, [](const Node& node) { return !std::holds_alternative<Step>(node); });
  if (run.options.notes != nullptr) {
    run.options.notes->push_back(Str(nodes.size(), " steps are queued one by one",
                                     decides ? ", and the host evaluates the conditions of loops" : "",
                                     ", because recording failed: ", why));
  }
  if (decides) run.binding.host_decides() = true;
  Status done = RunNodes(run, nodes);
  if (done) return done;
  return std::unexpected(
      std::move(done).error().AddNote(Str("before this, the steps could not be recorded as a graph: ", why)));
}

Result<std::shared_ptr<const Recording>> RecordOnce(RunState& run, std::span<const Node> nodes) {
  TRY(run.device.BeginRecording());
  run.timeline.BeginRecording();
  RecordedGraph graph;
  run.recording = true;
  run.unrolled.clear();
  Status queued = Into(run, &graph.nodes, [&] { return RecordNodes(run, nodes); });
  run.recording = false;
  if (!queued) {
    run.device.DropRecording();
    return std::unexpected(std::move(queued).error());
  }
  auto recording = TRY(run.device.EndRecording());
  if (run.options.graphs != nullptr) run.options.graphs->push_back(std::move(graph));
  return recording;
}

// Records without early launches if the device cannot make a graph with them.
Result<std::shared_ptr<const Recording>> Record(RunState& run, std::span<const Node> nodes) {
  run.device.SetEarlyLaunches(run.options.early_launches && !run.binding.launches_late());
  auto recording = RecordOnce(run, nodes);
  if (recording || !run.device.SetEarlyLaunches(false)) return recording;
  auto again = RecordOnce(run, nodes);
  if (!again) return recording;
  run.binding.launches_late() = true;
  if (run.options.notes != nullptr) {
    run.options.notes->push_back(
        Str("each kernel is launched after the kernels before it have ended, in spite of --xla_gpu_enable_pdl: ",
            recording.error().message()));
  }
  return again;
}

bool IsChain(const std::vector<std::vector<int>>& order) {
  for (int i = 1; i < std::ssize(order); ++i) {
    if (order[i] != std::vector<int>{i - 1}) return false;
  }
  return true;
}

}  // namespace

// The first run creates objects, which a recording does not allow.
Status RunRecorded(RunState& run, std::span<const Node> nodes) {
  Binding::Recorded& kept = run.binding.recorded(nodes);
  if (kept.recording != nullptr && run.timeline.asks_log() && kept.pieces == nullptr) kept = {.runs = 1};
  if (kept.recording != nullptr && !TripsHold(run, kept)) {
    if (!std::exchange(kept.doubted, true)) return RunNodes(run, nodes);
    kept = {.runs = 1};
  }
  kept.doubted = false;
  if (kept.recording == nullptr && ++kept.runs == 2) {
    auto recording = Record(run, nodes);
    if (!recording) return RunUnrecorded(run, nodes, recording.error().message());
    kept.recording = std::move(*recording);
    kept.unrolled = std::move(run.unrolled);
    kept.pieces = run.timeline.EndRecording();
  }
  if (kept.recording != nullptr) return run.timeline.Replay(*kept.recording, kept.pieces);
  return RunNodes(run, nodes);
}

Status RecordNodes(RunState& run, std::span<const Node> nodes) {
  if (nodes.size() < 2 || !run.device.RecordsOrder()) return RunNodes(run, nodes);
  std::vector<NodeWeight> weights;
  for (const Node& node : nodes) weights.push_back(WeightOf(node));
  const std::vector<std::vector<int>> order =
      GraphOrder(Dependencies(run.program, nodes, &run.binding), weights, run.options.concurrency,
                 run.device.Describe().multiprocessors);
  if (IsChain(order)) return RunNodes(run, nodes);
  struct Point {
    Device::RecordedNodes recorded;
    std::vector<int> noted;
    bool is_last = true;
  };
  const Point begin = {TRY(run.device.LastRecorded()), run.noted_after};
  std::vector<Point> points(nodes.size());
  const auto go_on_from = [&](const Point& point) {
    run.noted_after = point.noted;
    return run.device.RecordAfter(point.recorded);
  };
  const auto add = [](Point* all, const Point& one) {
    for (void* const node : one.recorded) {
      if (std::ranges::count(all->recorded, node) == 0) all->recorded.push_back(node);
    }
    for (const int node : one.noted) {
      if (std::ranges::count(all->noted, node) == 0) all->noted.push_back(node);
    }
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    Point from;
    for (const int before : order[i]) {
      points[before].is_last = false;
      add(&from, points[before]);
    }
    TRY(go_on_from(order[i].empty() ? begin : from));
    TRY(RunNode(run, nodes[i]));
    points[i] = {TRY(run.device.LastRecorded()), run.noted_after};
  }
  Point end;
  for (const Point& point : points) {
    if (point.is_last) add(&end, point);
  }
  return go_on_from(end);
}

void Note(RunState& run, RecordedNode node) {
  if (run.noted == nullptr) return;
  node.after = std::exchange(run.noted_after, {static_cast<int>(run.noted->size())});
  run.noted->push_back(std::move(node));
}

void NoteCondition(RunState& run, const Instruction& inst, std::string_view kernel) {
  Note(run,
       {.kind = RecordedNode::Kind::kKernel, .instruction = &inst, .name = std::string(kernel), .how = "condition"});
}

}  // namespace hlo::gpu
