#include "gpu/runtime/run/runner.h"

#include <limits>
#include <utility>

#include "gpu/runtime/run/state.h"

namespace hlo::gpu {
namespace {

Status SetLoopLimits(RunState& run) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const int64_t most = run.program.options.max_loop_iterations, stop = run.options.stop_loops_after;
  return run.binding.SetLoopLimits(stop > 0 ? stop : kNoLimit, most > 0 ? most : kNoLimit);
}

// Fails if a loop that the device counts exceeded max_loop_iterations.
Status CheckLoops(RunState& run) {
  const auto loops = run.binding.loops();
  if (ReadsTripsAtOnce(run) || loops.empty() || run.program.options.max_loop_iterations <= 0) return {};
  const std::vector<int64_t> counted = TRY(run.binding.ReadLoops());
  for (size_t i = 0; i < loops.size(); ++i)
    TRY(CheckTrips(run, std::span(counted).subspan(i * kTripFields, kTripFields), loops[i].loops));
  return {};
}

}  // namespace

Status RunSerially(Binding& binding, const RunOptions& options, double* host_call_seconds) {
  Timeline* const timeline = options.timeline;
  if (binding.program().options.host != nullptr) binding.Caller().Begin();
  RunState run(binding, options);
  run.timeline.Begin();
  const auto all = [&]() -> Status {
    Device& device = binding.device();
    TRY(SetLoopLimits(run));
    if (options.device_ms != nullptr) TRY(device.StartClock());
    TRY(RunBlock(run, binding.program().block));
    if (options.device_ms != nullptr) *options.device_ms = TRY(device.StopClock());
    TRY(device.Synchronize());
    return CheckLoops(run);
  };
  Status done = all();
  // Any later call can report an error of queued work.
  const bool waits =
      options.wait_for_each || (timeline != nullptr && timeline->waits_for_each) || options.observer != nullptr;
  if (!done && done.error().exit == ExitCode::kDevice && !waits && done.error().diagnostics.back().hint.empty()) {
    Error error = std::move(done).error();
    done = std::unexpected(
        std::move(error).Advise("sync_check", "waits for each step, so that the step with the error is known"));
  }
  if (timeline != nullptr) timeline->end = Timeline::Now();
  run.timeline.End();
  *host_call_seconds = run.host_call_seconds;
  if (!done) {
    // The device's first error says more than a failed reset.
    Status reset = binding.ResetCounters();
    if (!reset && done.error().exit != ExitCode::kDevice) return reset;
  }
  return done;
}

}  // namespace hlo::gpu
