#include "driver/profile/figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace hlo {
namespace {

using Event = gpu::TimelineEvent;
using Kind = gpu::TimelineEvent::Kind;

constexpr double kMs = 1e-6, kUs = 1e-3;  // From nanoseconds.

bool IsStep(const Event& event) { return event.kind == Kind::kStep && event.step >= 0; }
bool IsInterpreted(const Event& event, const Profile& profile) {
  return IsStep(event) && profile.steps[event.step].IsInterpreted();
}
bool Computes(const Event& event, const Profile& profile) {
  if (!IsStep(event)) return false;
  const gpu::StepKind sort = profile.steps[event.step].sort;
  return sort == gpu::StepKind::kKernel || gpu::CallsLibrary(sort);
}

// Calls f(event) for all events of counted runs. Returns the number of runs, at least 1.
template <class F>
double ForEachEvent(const Profile& profile, const F& f) {
  const auto runs = CountedRuns(profile);
  for (const gpu::Timeline* run : runs) {
    for (const Event& event : run->events) f(event);
  }
  return static_cast<double>(std::max<size_t>(1, runs.size()));
}

std::vector<double> RunsMs(const Profile& profile) {
  std::vector<double> ms;
  for (const gpu::Timeline* run : CountedRuns(profile)) ms.push_back(kMs * static_cast<double>(run->end - run->begin));
  return ms;
}

double Mean(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> Doubles(std::span<const int64_t> values) { return {values.begin(), values.end()}; }

template <class F>
double UnionMs(const Profile& profile, const F& is_chosen) {
  const auto runs = CountedRuns(profile);
  int64_t covered = 0;
  for (const gpu::Timeline* run : runs) {
    std::vector<std::pair<int64_t, int64_t>> chosen;
    for (const Event& event : run->events) {
      if (is_chosen(event)) chosen.emplace_back(event.begin, event.end);
    }
    std::ranges::sort(chosen);
    int64_t until = INT64_MIN;
    for (const auto& [begin, end] : chosen) {
      covered += std::max<int64_t>(0, end - std::max(begin, until));
      until = std::max(until, end);
    }
  }
  return kMs * static_cast<double>(covered) / static_cast<double>(std::max<size_t>(1, runs.size()));
}

}  // namespace

std::vector<const gpu::Timeline*> CountedRuns(const Profile& profile) {
  std::vector<const gpu::Timeline*> whole, all;
  for (const gpu::Timeline& run : profile.runs) {
    all.push_back(&run);
    if (run.dropped == 0) whole.push_back(&run);
  }
  return whole.empty() ? all : whole;
}

std::string TimingText(const Profile& profile) {
  if (profile.is_host) return "times of the host's clock";
  std::string log, no_log;
  int64_t least = 0, most = 0, memory = 0;
  for (const gpu::Timeline& run : profile.runs) {
    if (log.empty()) log = run.log;
    if (no_log.empty()) no_log = run.no_log;
    if (run.least_mhz > 0) least = least == 0 ? run.least_mhz : std::min(least, run.least_mhz);
    most = std::max(most, run.most_mhz);
    memory = std::max(memory, run.memory_mhz);
  }
  if (log.empty() || !no_log.empty())
    return Str("the run waited for each step and timed it by events (coarse)", no_log.empty() ? "" : ": ", no_log);
  std::string text = Str("times of ", log);
  if (most > 0)
    text +=
        Str(", multiprocessors at ", least, least == most ? "" : Str(" to ", most), " MHz, memory at ", memory, " MHz");
  return text;
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const double above = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (rank - static_cast<double>(below)) * (above - values[below]);
}

double MeanRunMs(const Profile& profile) { return Mean(RunsMs(profile)); }
double MedianRunMs(const Profile& profile) { return Percentile(RunsMs(profile), 0.5); }

double RunDeviationMs(const Profile& profile) {
  const std::vector<double> runs = RunsMs(profile);
  if (runs.size() < 2) return 0;
  const double mean = Mean(runs);
  double squares = 0;
  for (const double ms : runs) squares += (ms - mean) * (ms - mean);
  return std::sqrt(squares / static_cast<double>(runs.size() - 1));
}

double Overhead(const Profile& profile) {
  const double plain = Percentile(Doubles(profile.plain_ns), 0);
  return plain > 0 ? Percentile(Doubles(profile.profiled_ns), 0) / plain - 1 : 0;
}

double BusyMs(const Profile& profile) {
  return UnionMs(profile,
                 [&](const Event& event) { return event.kind != Kind::kWait && !IsInterpreted(event, profile); });
}

double InterpretedMs(const Profile& profile) {
  return UnionMs(profile, [&](const Event& event) { return IsInterpreted(event, profile); });
}

std::string_view ToString(GapCause cause) {
  constexpr std::string_view kWords[] = {"launch", "sync", "dependency"};
  return kWords[static_cast<int>(cause)];
}

// Events are in the order of queueing, in which steps also begin.
std::vector<Gap> GapsOf(const gpu::Timeline& run, const Profile& profile) {
  if (run.waits_for_each) return {};
  std::vector<Gap> gaps;
  int64_t until = run.begin;
  int after = -1;
  bool waited = false;
  for (const Event& event : run.events) {
    if (event.kind == Kind::kWait) {
      waited |= event.end > until;
      continue;
    }
    if (event.begin > until) {
      const GapCause cause = waited                    ? GapCause::kSync
                             : event.queue_end > until ? GapCause::kLaunch
                                                       : GapCause::kDependency;
      gaps.push_back({until, event.begin, cause, after, event.step});
    }
    if (event.end < until) continue;
    until = event.end;
    after = event.step;
    waited = false;
  }
  if (run.end > until) gaps.push_back({until, run.end, GapCause::kSync, after, -1});
  return gaps;
}

std::array<GapFigures, kGapCauses> FiguresOfGaps(const Profile& profile) {
  std::array<GapFigures, kGapCauses> figures;
  std::array<std::vector<double>, kGapCauses> lengths;
  const auto runs = CountedRuns(profile);
  for (const gpu::Timeline* run : runs) {
    for (const Gap& gap : GapsOf(*run, profile))
      lengths[static_cast<int>(gap.cause)].push_back(static_cast<double>(gap.length()));
  }
  for (int cause = 0; cause < kGapCauses; ++cause) {
    const auto count = static_cast<double>(std::max<size_t>(1, runs.size()));
    figures[cause] = {.count = static_cast<double>(lengths[cause].size()) / count,
                      .ms = kMs * std::accumulate(lengths[cause].begin(), lengths[cause].end(), 0.0) / count,
                      .median_us = kUs * Percentile(lengths[cause], 0.5)};
  }
  return figures;
}

std::vector<StepFigures> FiguresOfSteps(const Profile& profile) {
  std::vector<StepFigures> figures(profile.steps.size());
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    if (!IsStep(event)) return;
    StepFigures& step = figures[event.step];
    const double us = kUs * static_cast<double>(event.end - event.begin);
    step.least_us = step.executions == 0 ? us : std::min(step.least_us, us);
    step.most_us = std::max(step.most_us, us);
    step.ms += us / 1000;
    ++step.executions;
  });
  for (StepFigures& step : figures) {
    step.mean_us = step.executions > 0 ? 1000 * step.ms / step.executions : 0;
    step.ms /= runs;
    step.executions /= runs;
  }
  return figures;
}

std::vector<const gpu::Timeline*> SampledRuns(const Profile& profile) {
  constexpr size_t kMost = 64;
  std::vector<const gpu::Timeline*> runs = CountedRuns(profile);
  if (runs.size() <= kMost) return runs;
  std::vector<const gpu::Timeline*> sampled;
  for (size_t i = 0; i < kMost; ++i) sampled.push_back(runs[i * (runs.size() - 1) / (kMost - 1)]);
  return sampled;
}

std::vector<int64_t> SampledRunsNs(const Profile& profile) {
  std::vector<int64_t> ns;
  for (const gpu::Timeline* run : SampledRuns(profile)) ns.push_back(run->end - run->begin);
  return ns;
}

std::vector<std::vector<int64_t>> SampledStepsNs(const Profile& profile) {
  const std::vector<const gpu::Timeline*> runs = SampledRuns(profile);
  std::vector<std::vector<int64_t>> ns(profile.steps.size(), std::vector<int64_t>(runs.size()));
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const Event& event : runs[i]->events) {
      if (IsStep(event)) ns[event.step][i] += event.end - event.begin;
    }
  }
  return ns;
}

std::array<TimeShare, kTimeClasses> SharesOfClasses(const Profile& profile) {
  std::array<TimeShare, kTimeClasses> shares;
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    if (event.kind == Kind::kWait) return;
    const TimeClass of = IsStep(event) ? profile.steps[event.step].Class() : TimeClass::kCopy;
    TimeShare& share = shares[static_cast<int>(of)];
    share.ms += kMs * static_cast<double>(event.end - event.begin);
    ++share.count;
  });
  for (TimeShare& share : shares) share = {share.count / runs, share.ms / runs};
  return shares;
}

std::map<int, TimeShare> SharesOfBits(const Profile& profile) {
  std::map<int, TimeShare> shares;
  for (const int bits : {8, 16, 32, 64}) shares[bits] = {};
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    if (!Computes(event, profile)) return;
    TimeShare& share = shares[profile.steps[event.step].bits];
    share.ms += kMs * static_cast<double>(event.end - event.begin);
    ++share.count;
  });
  for (auto& [bits, share] : shares) share = {share.count / runs, share.ms / runs};
  return shares;
}

TensorCoreFigures FiguresOfTensorCores(const Profile& profile) {
  TensorCoreFigures figures;
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    if (!Computes(event, profile)) return;
    const TensorCoreUse& use = profile.steps[event.step].tensor_cores;
    const double ms = kMs * static_cast<double>(event.end - event.begin);
    if (use.eligible) ++figures.eligible.count, figures.eligible.ms += ms;
    if (use.used) ++figures.used.count, figures.used.ms += ms;
  });
  for (TimeShare* share : {&figures.eligible, &figures.used}) *share = {share->count / runs, share->ms / runs};
  return figures;
}

double Launches(const Profile& profile) {
  double launches = 0;
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    if (Computes(event, profile)) launches += static_cast<double>(profile.steps[event.step].launches);
  });
  return launches / runs;
}

double ShortExecutions(const Profile& profile) {
  double count = 0;
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    count += Computes(event, profile) && kUs * static_cast<double>(event.end - event.begin) < kShortUs;
  });
  return count / runs;
}

CopyFigures CopiesOfThePlan(const Profile& profile) {
  CopyFigures copies;
  const double runs = ForEachEvent(profile, [&](const Event& event) {
    if (event.kind != Kind::kCopies) return;
    ++copies.count;
    copies.bytes += static_cast<double>(event.bytes);
    copies.ms += kMs * static_cast<double>(event.end - event.begin);
  });
  return {copies.count / runs, copies.bytes / runs, copies.ms / runs};
}

std::map<int, LoopFigures> FiguresOfLoops(const Profile& profile) {
  std::map<int, LoopFigures> figures;
  const auto runs = CountedRuns(profile);
  for (const gpu::Timeline* run : runs) {
    for (const gpu::TimelineTrip& trip : run->trips) {
      LoopFigures& loop = figures[trip.loop];
      loop.trips += trip.ran;
      loop.ms += kMs * static_cast<double>(trip.end - trip.begin);
    }
  }
  for (auto& [loop, figure] : figures) {
    figure.trips /= static_cast<double>(runs.size());
    figure.ms /= static_cast<double>(runs.size());
  }
  return figures;
}

std::vector<LoopExecution> LoopExecutionsOf(const gpu::Timeline& run, int64_t until) {
  std::vector<LoopExecution> executions;
  std::map<std::pair<int, int>, size_t> open;  // Keys are the enclosing trip and the loop.
  for (const gpu::TimelineTrip& trip : run.trips) {
    if (trip.end > until || trip.end == 0) continue;
    const auto [at, is_first] = open.try_emplace({trip.parent, trip.loop}, executions.size());
    if (is_first || trip.number == 0) {
      int depth = 0;
      for (int parent = trip.parent; parent >= 0; parent = run.trips[parent].parent) ++depth;
      at->second = executions.size();
      executions.push_back({.loop = trip.loop, .depth = depth, .begin = trip.begin});
    }
    LoopExecution& execution = executions[at->second];
    execution.end = trip.end;
    execution.trips += trip.ran;
  }
  std::ranges::stable_sort(executions, {}, [](const LoopExecution& one) { return std::pair(one.begin, one.depth); });
  return executions;
}

}  // namespace hlo
