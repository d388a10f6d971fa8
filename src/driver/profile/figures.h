// The numbers of a profile (tools/words.def). Times are means over complete runs, so times of parts add up. If all runs
// lack events (Timeline::dropped), all are used.
#ifndef HLO_DRIVER_PROFILE_FIGURES_H_
#define HLO_DRIVER_PROFILE_FIGURES_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/profile/profile.h"

namespace hlo {

std::vector<const gpu::Timeline*> CountedRuns(const Profile& profile);

std::string TimingText(const Profile& profile);

// Interpolates between the two nearest ranks. `share` is in [0, 1]. 0 for an empty list.
double Percentile(std::vector<double> values, double share);

double MeanRunMs(const Profile& profile);
double MedianRunMs(const Profile& profile);
double RunDeviationMs(const Profile& profile);
// Slowdown by profiling: the fastest profiled run's time over the fastest other run's, minus 1. Other load affects the
// fastest runs least.
double Overhead(const Profile& profile);

// Milliseconds of a run in which a step or copy is running, without host calls.
double BusyMs(const Profile& profile);
double InterpretedMs(const Profile& profile);

// Why nothing runs in a gap.
enum class GapCause : uint8_t {
  kLaunch,      // The launch of the next work had not returned when the previous work ended.
  kSync,        // The host waited for a condition, a branch, or the end.
  kDependency,  // The next work was queued in time.
};
inline constexpr int kGapCauses = 3;
std::string_view ToString(GapCause cause);

struct Gap {
  int64_t begin, end;  // On the clock of the timeline.
  GapCause cause;
  int after, before;  // Steps. -1 for the start, the end, or a copy.
  int64_t length() const { return end - begin; }
};
// Gaps in order of time. Empty if the host waited for each step, which makes gaps meaningless.
std::vector<Gap> GapsOf(const gpu::Timeline& run, const Profile& profile);

struct GapFigures {
  double count = 0, ms = 0;  // Per run.
  double median_us = 0;
};
std::array<GapFigures, kGapCauses> FiguresOfGaps(const Profile& profile);

struct StepFigures {
  double executions = 0, ms = 0;  // Per run, without copies that the buffer plan adds to the step.
  double mean_us = 0, least_us = 0, most_us = 0;
};
std::vector<StepFigures> FiguresOfSteps(const Profile& profile);

// At most 64 runs, evenly spaced, for comparing profiles. A rank test gains nothing from more.
std::vector<const gpu::Timeline*> SampledRuns(const Profile& profile);
// Nanoseconds of each sampled run, and of each step in it.
std::vector<int64_t> SampledRunsNs(const Profile& profile);
std::vector<std::vector<int64_t>> SampledStepsNs(const Profile& profile);

struct TimeShare {
  double count = 0, ms = 0;  // Per run.
};
// Copies that the buffer plan adds count as kCopy.
std::array<TimeShare, kTimeClasses> SharesOfClasses(const Profile& profile);
std::map<int, TimeShare> SharesOfBits(const Profile& profile);
struct TensorCoreFigures {
  TimeShare eligible, used;
};
TensorCoreFigures FiguresOfTensorCores(const Profile& profile);

// Launches in a run, and executions of steps shorter than kShortUs.
double Launches(const Profile& profile);
inline constexpr double kShortUs = 10;
double ShortExecutions(const Profile& profile);

struct CopyFigures {
  double count = 0, bytes = 0, ms = 0;  // Per run.
};
CopyFigures CopiesOfThePlan(const Profile& profile);

struct LoopFigures {
  double trips = 0, ms = 0;  // Per run, including inner loops.
};
std::map<int, LoopFigures> FiguresOfLoops(const Profile& profile);

// One execution of a loop, with the final evaluation of its condition.
struct LoopExecution {
  int loop;                    // As in TimelineTrip.
  int depth;                   // Number of enclosing loops.
  int64_t begin = 0, end = 0;  // Nanoseconds on the clock of the timeline.
  int64_t trips = 0;           // Trips in which the body ran.
};
std::vector<LoopExecution> LoopExecutionsOf(const gpu::Timeline& run, int64_t until);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_FIGURES_H_
