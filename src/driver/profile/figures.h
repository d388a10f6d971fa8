// The numbers of a profile, each a function of it. Times are means over the runs that were profiled whole, so that
// parts add up to what they are parts of; where no run is whole (Timeline::dropped), those that there are count as far
// as they go. What the words mean: tools/words.def.
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

// The runs that figures are of.
std::vector<const gpu::Timeline*> CountedRuns(const Profile& profile);

// What told the times, and what there is to say of that: "times of CUPTI 13.0.1, multiprocessors at 1755 to 1980 MHz".
std::string TimingText(const Profile& profile);

// By linear interpolation between the two nearest ranks; 0 of nothing. `share` in [0, 1].
double Percentile(std::vector<double> values, double share);

double MeanRunMs(const Profile& profile);
double MedianRunMs(const Profile& profile);
double RunDeviationMs(const Profile& profile);  // Standard deviation, of a sample.
// How much longer a run takes when it is profiled: the fastest of those over the fastest of the others, less 1. What
// else goes on on the machine makes some of both slower, and the fastest hardly.
double Overhead(const Profile& profile);

// In which at least one step or copy runs on the device, host calls left out.
double BusyMs(const Profile& profile);
// In which the interpreter computes a step.
double InterpretedMs(const Profile& profile);

// Why nothing runs.
enum class GapCause : uint8_t {
  kLaunch,      // The call that launches what comes next had not returned when what was before ended.
  kSync,        // The host waited: for the condition of a loop, the branch of a conditional, or the end.
  kDependency,  // What comes next was queued in time.
};
inline constexpr int kGapCauses = 3;
std::string_view ToString(GapCause cause);

struct Gap {
  int64_t begin, end;  // Of the clock of the timeline.
  GapCause cause;
  int after, before;  // Steps; -1: the beginning or the end of the run, or a copy.
  int64_t length() const { return end - begin; }
};
// Between what runs, from the beginning of the run to its end, in order. None where each step is waited for.
std::vector<Gap> GapsOf(const gpu::Timeline& run, const Profile& profile);

struct GapFigures {
  double count = 0, ms = 0;  // In a run.
  double median_us = 0;      // Of one.
};
std::array<GapFigures, kGapCauses> FiguresOfGaps(const Profile& profile);

// Of a step, by index into Profile::steps.
struct StepFigures {
  double executions = 0, ms = 0;  // In a run. Copies that the plan makes before it are none of it.
  double mean_us = 0, least_us = 0, most_us = 0;
};
std::vector<StepFigures> FiguresOfSteps(const Profile& profile);

// The single runs that a comparison of two profiles goes by: at most 64 of those that figures are of, from the first to
// the last at even distances, in order. A rank test of as many on both sides tells what it can tell.
std::vector<const gpu::Timeline*> SampledRuns(const Profile& profile);
// Nanoseconds that each of them took; and of each step, by index, all its executions in each of them.
std::vector<int64_t> SampledRunsNs(const Profile& profile);
std::vector<std::vector<int64_t>> SampledStepsNs(const Profile& profile);

struct TimeShare {
  double count = 0, ms = 0;  // Executions of steps in a run, and their time.
};
// All that runs, by what it is; copies of the plan are copies, too. Parts of the time in steps and copies.
std::array<TimeShare, kTimeClasses> SharesOfClasses(const Profile& profile);
// Kernels and library calls by the bits that they compute with.
std::map<int, TimeShare> SharesOfBits(const Profile& profile);
struct TensorCoreFigures {
  TimeShare eligible, used;
};
TensorCoreFigures FiguresOfTensorCores(const Profile& profile);

// Kernels and calls that a run launches, and executions of steps that took less than 10 us.
double Launches(const Profile& profile);
inline constexpr double kShortUs = 10;
double ShortExecutions(const Profile& profile);

struct CopyFigures {
  double count = 0, bytes = 0, ms = 0;  // In a run.
};
CopyFigures CopiesOfThePlan(const Profile& profile);

struct LoopFigures {
  double trips = 0, ms = 0;  // In a run; loops in it are part of it.
};
std::map<int, LoopFigures> FiguresOfLoops(const Profile& profile);

// One execution of a loop: all its trips, from the first to the one that ended it.
struct LoopExecution {
  int loop;                    // As of TimelineTrip.
  int depth;                   // How many loops it runs in.
  int64_t begin = 0, end = 0;  // Nanoseconds of the clock of the timeline.
  int64_t trips = 0;           // Those in which the body ran.
};
// In the order of their beginnings, an outer loop before the loops in it. Trips that end after `until` are left out.
std::vector<LoopExecution> LoopExecutionsOf(const gpu::Timeline& run, int64_t until);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_FIGURES_H_
