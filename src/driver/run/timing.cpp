#include "driver/run/timing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace hlo {

void SetRunTimes(std::vector<double> runs, RunTimes* times) {
  std::sort(runs.begin(), runs.end());
  times->runs = std::ssize(runs);
  times->run = runs[runs.size() / 2];
  times->run_min = runs.front();
  times->run_max = runs.back();
}

Result<double> TimeRuns(gpu::Executable& executable, const RunOptions& options, Progress& progress, RunTimes* times) {
  constexpr double kWarmUpMs = 200;
  constexpr int64_t kBenchRuns = 10;
  progress.Stage("running");
  const Stopwatch warm_up;
  do {
    TRY(executable.Execute({.record = options.cuda_graphs}));
    if (times->first_run == 0) times->first_run = warm_up.ms();
  } while (options.bench && warm_up.ms() < kWarmUpMs);
  std::vector<double> runs, on_device;
  double interpreted = 0;
  const Stopwatch all;
  while (static_cast<int64_t>(runs.size()) < std::max<int64_t>(1, options.bench ? kBenchRuns : options.num_repeats) ||
         (options.bench && all.ms() < 1000 * options.bench_seconds)) {
    TRY(executable.MakeReady());
    std::optional<double> device_ms;
    const Stopwatch run;
    TRY(executable.Execute({.record = options.cuda_graphs, .device_ms = &device_ms}));
    runs.push_back(run.ms());
    if (device_ms) on_device.push_back(*device_ms);
    interpreted += 1000 * executable.HostCallSeconds();
    progress.Step(static_cast<int64_t>(runs.size()), 0, "run");
  }
  const double share = interpreted / std::max(1e-9, std::accumulate(runs.begin(), runs.end(), 0.0));
  SetRunTimes(std::move(runs), times);
  std::sort(on_device.begin(), on_device.end());
  if (!on_device.empty()) times->on_device = on_device[on_device.size() / 2];
  return share;
}

Result<std::string> Profile(gpu::Executable& executable) {
  constexpr int kRuns = 10;
  constexpr size_t kMostRows = 25;
  std::vector<double> seconds(executable.steps().size()), one(seconds.size());
  for (int run = 0; run < kRuns; ++run) {
    TRY(executable.Execute({.step_seconds = &one}));
    for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += one[i];
  }
  std::vector<size_t> order(seconds.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return seconds[a] > seconds[b]; });
  double total = 0;
  for (const double s : seconds) total += s;
  std::string out = Str("  profile (mean of ", kRuns, " runs, each step waited for)\n               ms      %  step\n");
  for (size_t i = 0; i < std::min(order.size(), kMostRows); ++i) {
    const gpu::StepInfo& step = executable.steps()[order[i]];
    out += Format("  %16.4f  %5.1f  %s (%s, %s)\n", 1000 * seconds[order[i]] / kRuns,
                  total > 0 ? 100 * seconds[order[i]] / total : 0.0, std::string(step.instruction->name()).c_str(),
                  std::string(ToString(step.kind)).c_str(), step.how.c_str());
  }
  if (order.size() > kMostRows) out += Format("  ... and %zu steps that take less\n", order.size() - kMostRows);
  return out;
}

}  // namespace hlo
