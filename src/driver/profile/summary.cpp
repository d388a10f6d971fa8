#include "driver/profile/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"

namespace hlo {
namespace {

constexpr size_t kMostSpans = 4000;  // Limit for pictures.

std::string ScopeOf(const std::string& op_name) {
  const size_t slash = op_name.rfind('/');
  return slash == std::string::npos ? "" : op_name.substr(0, slash);
}

std::vector<GroupRow> GroupBy(const std::vector<StepRow>& steps,
                              const std::function<std::string(const ProfiledStep&)>& key) {
  std::map<std::string, GroupRow> groups;
  for (const StepRow& row : steps) {
    const std::string name = key(row.step);
    if (name.empty()) continue;
    GroupRow& group = groups[name];
    group.name = name;
    group.executions += row.figures.executions;
    group.ms += row.figures.ms;
  }
  std::vector<GroupRow> rows;
  for (auto& [name, group] : groups) rows.push_back(std::move(group));
  std::ranges::stable_sort(rows, std::greater<>(), &GroupRow::ms);
  return rows;
}

const gpu::Timeline* TypicalRun(const Profile& profile) {
  const double median = MedianRunMs(profile) * 1e6;
  const gpu::Timeline* typical = nullptr;
  double least = 0;
  for (const gpu::Timeline* run : CountedRuns(profile)) {
    const double distance = std::abs(static_cast<double>(run->end - run->begin) - median);
    if (typical == nullptr || distance < least) typical = run, least = distance;
  }
  return typical;
}

void AddSample(const Profile& profile, const std::vector<int>& row_of, const std::map<int, int>& loop_row_of,
               ProfileSummary* summary) {
  const gpu::Timeline* const run = TypicalRun(profile);
  if (run == nullptr) return;
  summary->sample_ms = static_cast<double>(run->end - run->begin) * 1e-6;
  std::vector<const gpu::TimelineEvent*> events;
  for (const gpu::TimelineEvent& event : run->events) {
    if (event.kind != gpu::TimelineEvent::Kind::kWait) events.push_back(&event);
  }
  if (events.size() > kMostSpans) {
    summary->sample_left_out = std::ssize(events) - static_cast<int64_t>(kMostSpans);
    const auto length = [](const gpu::TimelineEvent* event) { return event->end - event->begin; };
    std::ranges::nth_element(events, events.begin() + kMostSpans, std::greater<>(), length);
    events.resize(kMostSpans);
    std::ranges::sort(events, {}, [](const gpu::TimelineEvent* event) { return event->begin; });
  }
  for (const gpu::TimelineEvent* event : events) {
    const bool is_step = event->kind == gpu::TimelineEvent::Kind::kStep && event->step >= 0;
    summary->sample.push_back({is_step ? row_of[event->step] : -1,
                               static_cast<double>(event->begin - run->begin) * 1e-3,
                               static_cast<double>(event->end - event->begin) * 1e-3});
  }
  std::vector<LoopExecution> loops = LoopExecutionsOf(*run, run->end);
  std::ranges::stable_sort(loops, {}, &LoopExecution::depth);
  if (loops.size() > kMostSpans) loops.resize(kMostSpans);
  for (const LoopExecution& one : loops)
    summary->sample_loops.push_back({loop_row_of.at(one.loop), one.depth,
                                     static_cast<double>(one.begin - run->begin) * 1e-3,
                                     static_cast<double>(one.end - one.begin) * 1e-3, one.trips});
}

}  // namespace

ProfileSummary SummaryOf(const Profile& profile) {
  ProfileSummary summary{.path = profile.path,
                         .module_name = profile.module_name,
                         .input = profile.input,
                         .code = profile.code,
                         .platform = profile.platform,
                         .device = profile.device,
                         .target = profile.target,
                         .is_host = profile.is_host,
                         .roof_name = std::string(profile.roof.name),
                         .memory_rate = profile.roof.memory_rate,
                         .instruction_rate = profile.roof.instruction_rate,
                         .dot_rates = profile.roof.dot_rates,
                         .runs = std::ssize(profile.runs),
                         .timing = TimingText(profile),
                         .runs_ns = SampledRunsNs(profile),
                         .run_ms = MeanRunMs(profile),
                         .median_ms = MedianRunMs(profile),
                         .deviation_ms = RunDeviationMs(profile),
                         .overhead = Overhead(profile),
                         .examples_per_run = profile.examples_per_run,
                         .busy_ms = BusyMs(profile),
                         .interpreted_ms = InterpretedMs(profile),
                         .gaps = FiguresOfGaps(profile),
                         .classes = SharesOfClasses(profile),
                         .bits = SharesOfBits(profile),
                         .tensor_cores = FiguresOfTensorCores(profile),
                         .launches = Launches(profile),
                         .short_executions = ShortExecutions(profile),
                         .plan_copies = CopiesOfThePlan(profile),
                         .memory = profile.memory};
  for (const gpu::Timeline& run : profile.runs) {
    summary.whole_runs += run.dropped == 0;
    summary.dropped += run.dropped;
    summary.waits_for_each |= run.waits_for_each;
  }
  const std::vector<StepFigures> figures = FiguresOfSteps(profile);
  const std::vector<std::vector<int64_t>> runs_ns = SampledStepsNs(profile);
  std::vector<int> order(figures.size()), row_of(figures.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::ranges::stable_sort(order, std::greater<>(), [&](int step) { return figures[step].ms; });
  for (const int step : order) {
    row_of[step] = static_cast<int>(summary.steps.size());
    summary.steps.push_back({profile.steps[step], figures[step], runs_ns[step], step});
  }
  const std::map<int, LoopFigures> loop_figures = FiguresOfLoops(profile);
  std::vector<int> loop_ids;
  for (const auto& [loop, figure] : loop_figures) loop_ids.push_back(loop);
  std::ranges::stable_sort(loop_ids, std::greater<>(), [&](int loop) { return loop_figures.at(loop).ms; });
  std::map<int, int> loop_row_of;
  for (const int loop : loop_ids) {
    const auto known = profile.loops.find(loop);
    loop_row_of[loop] = static_cast<int>(summary.loops.size());
    summary.loops.push_back({known == profile.loops.end() ? ProfiledLoop() : known->second, loop_figures.at(loop)});
  }
  summary.scopes = GroupBy(summary.steps, [](const ProfiledStep& step) { return ScopeOf(step.op_name); });
  summary.sources = GroupBy(summary.steps, [](const ProfiledStep& step) { return step.source; });
  AddSample(profile, row_of, loop_row_of, &summary);
  return summary;
}

}  // namespace hlo
