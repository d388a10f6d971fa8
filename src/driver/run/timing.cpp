#include "driver/run/timing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "gpu/runtime/recorded_graph.h"

namespace hlo {

void SetRunTimes(std::vector<double> runs, RunTimes* times) {
  std::sort(runs.begin(), runs.end());
  times->runs = std::ssize(runs);
  times->run = runs[runs.size() / 2];
  times->run_min = runs.front();
  times->run_max = runs.back();
}

Result<double> TimeRuns(gpu::Executable& executable, const RunOptions& options, Progress& progress, RunTimes* times,
                        std::vector<std::string>* notes, std::vector<gpu::RecordedGraph>* graphs) {
  const gpu::RunOptions plain = {.record = options.cuda_graphs,
                                 .concurrency = options.concurrency,
                                 .early_launches = options.early_launches,
                                 .wait_for_each = options.sync_check,
                                 .notes = notes,
                                 .graphs = graphs};
  constexpr double kWarmUpMs = 200;
  constexpr int64_t kBenchRuns = 10;
  progress.Stage("running");
  const Stopwatch warm_up;
  do {
    TRY(executable.Execute(plain));
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
    gpu::RunOptions timed = plain;
    timed.device_ms = &device_ms;
    TRY(executable.Execute(timed));
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

}  // namespace hlo
