#ifndef HLO_DRIVER_RUN_TIMING_H_
#define HLO_DRIVER_RUN_TIMING_H_

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"

namespace hlo {

class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

void SetRunTimes(std::vector<double> runs, RunTimes* times);

// Times num_repeats runs, or with --bench at least 10 and as many as take bench_seconds. Returns the share of time in
// host calls. `notes` receives reasons for slower execution modes. `notes` and `graphs` may be null.
Result<double> TimeRuns(gpu::Executable& executable, const RunOptions& options, Progress& progress, RunTimes* times,
                        std::vector<std::string>* notes, std::vector<gpu::RecordedGraph>* graphs);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TIMING_H_
