#include "gpu/runtime/run/state.h"

#include <array>
#include <chrono>

#include "base/check.h"
#include "gpu/runtime/prepare.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool IsWatched(const RunState& run) {
  return run.options.observer != nullptr || (run.timeline.is_on() && !run.timeline.asks_log()) ||
         run.options.interrupted != nullptr || run.options.wait_for_each;
}

// Runs `work` as `event`. While recording, the event is not timed but names a piece.
template <class Work>
Status Timed(RunState& run, const TimelineEvent& event, const Work& work, bool on_host = false) {
  if (!run.recording) return run.timeline.Timed(event, on_host, work);
  TRY(work());
  run.named = run.timeline.Name(event);
  return {};
}

Status Copy(RunState& run, const std::vector<CopyWork>& copies) {
  for (const CopyWork& copy : copies) {
    TRY(run.device.Copy(run.binding.Pointer(copy.to), run.binding.Pointer(copy.from), copy.bytes));
    if (run.noted != nullptr) Note(run, {.kind = RecordedNode::Kind::kCopy, .bytes = copy.bytes});
  }
  return {};
}

void NoteWork(RunState& run, const Step& step) {
  if (step.work.empty()) return;  // Copy() notes the copies.
  const StepInfo& info = run.program.steps[step.info];
  size_t kernels = 0;
  for (const Work& work : step.work) {
    if (&step == run.left_out && &work == &step.work.back()) break;
    RecordedNode node{.kind = RecordedNode::Kind::kKernel, .instruction = step.instruction, .how = info.how};
    if (std::holds_alternative<LibraryWork>(work)) {
      node.kind = RecordedNode::Kind::kLibrary;
    } else if (const auto* fill = std::get_if<FillWork>(&work)) {
      node.kind = RecordedNode::Kind::kFill;
      node.bytes = fill->width * fill->count;
    } else if (kernels < info.kernels.size()) {
      const EmittedKernel& emitted = info.kernels[kernels++];
      node.name = emitted.kernel->name;
      node.how = LaunchText(emitted);
    }
    Note(run, std::move(node));
  }
}

Status Launch(RunState& run, const KernelWork& work) {
  return run.device.Launch(run.binding.Kernel(work.code), run.binding.Pointers(work.arguments));
}

Status ReadTrips(RunState& run, const KernelWork& work) {
  if (run.program.options.max_loop_iterations <= 0 && run.options.trips == nullptr) return {};
  std::array<int64_t, kTripFields> trips = {};
  TRY(run.device.CopyOut(trips.data(), run.binding.Pointer(work.trips), sizeof(trips)));
  if (run.options.trips != nullptr) *run.options.trips = trips[kTripsMade];
  return CheckTrips(run, trips, work.loops);
}

// If trips are not read at once, CheckLoops() reads them later.
Status LaunchLoops(RunState& run, const KernelWork& work) {
  TRY(Launch(run, work));
  return ReadsTripsAtOnce(run) ? ReadTrips(run, work) : Status();
}

Status RunCall(RunState& run, const LibraryWork& work) {
  BoundCall& call = run.binding.Call(work);
  const auto operands = run.binding.Pointers(work.operands), results = run.binding.Pointers(work.results);
  void* const packed = run.binding.Pointer(work.packed);
  if (!work.pack_once) TRY(call.Pack(operands, packed));
  return call.Run(operands, results, run.binding.Pointer(work.scratch), packed);
}

Status RunHostCall(RunState& run, const Instruction& inst, const HostWork& work) {
  TRY(run.device.Synchronize());
  const Clock::time_point start = Clock::now();
  std::vector<Literal> operands;
  for (const Instruction* operand : inst.operands()) operands.push_back(TRY(run.binding.Read(*operand)).WithBools());
  const Literal result = TRY(run.binding.Caller().Call(inst, operands));
  CHECK(FitsInto(result.shape(), inst.shape()), inst.name(), ": ", result.shape(), " is not ", inst.shape());
  int leaf = 0;
  Status status;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    if (status && BytesInMemory(shape) > 0)
      status = run.binding.Upload(shape, result.At(index), run.binding.Pointers(work.results)[leaf]);
    ++leaf;
  });
  run.host_call_seconds += SecondsSince(start);
  return status;
}

Status RunWork(RunState& run, const Step& step) {
  if (run.noted != nullptr) NoteWork(run, step);
  for (const Work& work : step.work) {
    if (&step == run.left_out && &work == &step.work.back()) break;
    if (const auto* kernel = std::get_if<KernelWork>(&work)) {
      TRY(kernel->trips != 0 ? LaunchLoops(run, *kernel) : Launch(run, *kernel));
    } else if (const auto* call = std::get_if<LibraryWork>(&work)) {
      TRY(RunCall(run, *call));
    } else if (const auto* fill = std::get_if<FillWork>(&work)) {
      TRY(run.device.Fill(run.binding.Pointer(fill->to), fill->pattern, fill->width, fill->count));
    } else {
      TRY(RunHostCall(run, *step.instruction, std::get<HostWork>(work)));
    }
  }
  return {};
}

Status RunTimed(RunState& run, const Step& step) {
  const TimelineEvent event{.kind = TimelineEvent::Kind::kStep, .step = step.info};
  if (step.info < 0) return RunCopies(run, step.copies);
  if (step.work.empty()) return Timed(run, event, [&] { return Copy(run, step.copies); });
  TRY(RunCopies(run, step.copies, step.info));
  return Timed(run, event, [&] { return RunWork(run, step); }, NeedsHost(step));
}

Status RunWatched(RunState& run, const Step& step) {
  if (run.options.interrupted != nullptr && *run.options.interrupted)
    FAIL(Error(ExitCode::kInterrupted, "R022", "interrupted"));
  const Observer* observer = run.options.observer;
  const bool observed =
      observer != nullptr && step.info >= 0 && (!observer->wants || observer->wants(*step.instruction, run.loops));
  std::vector<Literal> inputs;
  if (observed && observer->reads_operands) {
    for (const Instruction* operand : step.instruction->operands()) inputs.push_back(TRY(run.binding.Read(*operand)));
  }
  if (run.timeline.is_on()) {
    TRY(RunTimed(run, step));
  } else {
    TRY(Copy(run, step.copies));
    TRY(RunWork(run, step));
  }
  if (run.options.wait_for_each) TRY(run.device.Synchronize());
  if (!observed) return {};
  Literal output = TRY(run.binding.Read(*step.instruction, Binding::Lent::kResultsToo));
  return observer->observe(*step.instruction, run.loops, inputs, std::move(output));
}

}  // namespace

Status RunStep(RunState& run, const Step& step) {
  if (IsWatched(run)) return RunWatched(run, step);
  if (run.timeline.is_on()) return RunTimed(run, step);
  TRY(Copy(run, step.copies));
  return RunWork(run, step);
}

Status RunCopies(RunState& run, const std::vector<CopyWork>& copies, int step) {
  if (!run.timeline.is_on() || copies.empty()) return Copy(run, copies);
  TimelineEvent event{.kind = TimelineEvent::Kind::kCopies, .step = step};
  for (const CopyWork& copy : copies) event.bytes += copy.bytes;
  return Timed(run, event, [&] { return Copy(run, copies); });
}

Status ReadBack(RunState& run, void* to, PlaceNumber from, int64_t bytes) {
  const auto read = [&] { return run.device.CopyOut(to, run.binding.Pointer(from), bytes); };
  return run.timeline.is_on() ? Timed(run, {.kind = TimelineEvent::Kind::kWait}, read, /*on_host=*/true) : read();
}

bool NeedsHost(const Step& step) {
  return std::ranges::any_of(step.work, [](const Work& work) { return NeedsHost(work); });
}

bool ReadsTripsAtOnce(const RunState& run) {
  return run.device.IsHost() || IsWatched(run) || run.options.trips != nullptr;
}

Status CheckTrips(const RunState& run, std::span<const int64_t> counted, std::span<const Instruction* const> loops) {
  if (counted[kEndless] == 0) return {};
  FAIL(Endless(run, *loops[counted[kEndless] - 1]));
}

Error Endless(const RunState& run, const Instruction& loop) {
  return ErrorAt(loop, "R021",
                 Str("while '", loop.name(), "' exceeded ", run.program.options.max_loop_iterations, " iterations"),
                 ExitCode::kLimit)
      .RaisedBy("max_loop_iterations");
}

}  // namespace hlo::gpu
