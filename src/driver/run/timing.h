// How long a run takes, and its parts.
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
  // Since it was made.
  double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

// The median of at least one run, in milliseconds, and the range.
void SetRunTimes(std::vector<double> runs, RunTimes* times);

// Warms up, then runs until the figures are steady: at least 10 times and bench_seconds with --bench, else num_repeats
// times. The share of the time that was spent in host calls. `notes` gets what runs did in a slower way than was meant,
// `graphs` what was recorded; null: it is not noted.
Result<double> TimeRuns(gpu::Executable& executable, const RunOptions& options, Progress& progress, RunTimes* times,
                        std::vector<std::string>* notes, std::vector<gpu::RecordedGraph>* graphs);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TIMING_H_
