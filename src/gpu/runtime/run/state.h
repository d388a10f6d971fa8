// The state of a running program, and the functions of its steps, control flow and recordings.
#ifndef HLO_GPU_RUNTIME_RUN_STATE_H_
#define HLO_GPU_RUNTIME_RUN_STATE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gpu/runtime/binding.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/program.h"
#include "gpu/runtime/recorded_graph.h"
#include "gpu/runtime/timeline_writer.h"

namespace hlo::gpu {

struct RunState {
  RunState(Binding& binding, const RunOptions& options)
      : binding(binding),
        program(binding.program()),
        device(binding.device()),
        options(options),
        timeline(device, options.timeline) {}

  Binding& binding;
  const Program& program;
  Device& device;
  const RunOptions& options;
  TimelineWriter timeline;
  std::vector<LoopStep> loops;
  double host_call_seconds = 0;

  bool recording = false;
  int64_t named = -1;  // The last named piece of the recording.
  // The step whose last work is skipped, because the kernel that sets the loop's condition does it too. Or null.
  const Step* left_out = nullptr;
  std::vector<const LoopNode*> unrolled;
  std::vector<RecordedNode>* noted = nullptr;  // Descriptions of recorded nodes, or null.
  std::vector<int> noted_after;                // Predecessors of the next description.
};

// ---- Blocks and control flow ---------------------------------------------------------------------------------------

Status RunBlock(RunState& run, const Block& block);
Status RunNodes(RunState& run, std::span<const Node> nodes);
Status RunNode(RunState& run, const Node& node);

// ---- Steps ---------------------------------------------------------------------------------------------------------

Status RunStep(RunState& run, const Step& step);
Status RunCopies(RunState& run, const std::vector<CopyWork>& copies, int step = -1);
Status ReadBack(RunState& run, void* to, PlaceNumber from, int64_t bytes);
bool NeedsHost(const Step& step);
bool ReadsTripsAtOnce(const RunState& run);
Status CheckTrips(const RunState& run, std::span<const int64_t> counted, std::span<const Instruction* const> loops);
Error Endless(const RunState& run, const Instruction& loop);

// ---- Recordings ----------------------------------------------------------------------------------------------------

// Number of steps, or -1 if the host takes part.
int64_t StepsWithoutHost(const RunState& run, const Node& node);
// Number of steps if the loop is unrolled, otherwise -1. Loops with few steps are unrolled if the host's last run had
// the known number of trips.
int64_t StepsOfTrips(const RunState& run, const LoopNode& node);
// Replays the nodes, or records them in their second run.
Status RunRecorded(RunState& run, std::span<const Node> nodes);
Status RecordNodes(RunState& run, std::span<const Node> nodes);
Status RecordLoop(RunState& run, const LoopNode& node);
Status RecordBranch(RunState& run, const BranchNode& node);

// Runs `queue` with `nodes` as the place of descriptions.
template <class Queue>
Status Into(RunState& run, std::vector<RecordedNode>* nodes, const Queue& queue) {
  auto* const outer = std::exchange(run.noted, run.options.graphs != nullptr ? nodes : nullptr);
  const std::vector<int> outer_after = std::exchange(run.noted_after, {});
  Status queued = queue();
  run.noted = outer;
  run.noted_after = outer_after;
  return queued;
}
void Note(RunState& run, RecordedNode node);
void NoteCondition(RunState& run, const Instruction& inst, std::string_view kernel);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RUN_STATE_H_
