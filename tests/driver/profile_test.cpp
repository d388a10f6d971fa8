// Tests of profiles. Numbers of the summary are compared with figures worked out by hand from an invented profile, the
// trace and the JSON are read back, and recordings of real runs are checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/json_reader.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/optimize.h"
#include "driver/profile/advice.h"
#include "driver/profile/figures.h"
#include "driver/profile/profile_page.h"
#include "driver/profile/summary.h"
#include "driver/profile/trace.h"
#include "gpu/runtime/executable.h"
#include "interp/arguments/arguments.h"
#include "parser/parser.h"
#include "tests/gpu/far_device.h"

namespace hlo {
namespace {

using Event = gpu::TimelineEvent;
using Kind = gpu::TimelineEvent::Kind;

// An event that ran on the device from `begin` to `end`, in microseconds. The call that queued it took from `queued` to
// `queue_end`.
Event Make(Kind kind, int step, int64_t begin, int64_t end, int64_t queued, int64_t queue_end, int trip = -1) {
  return {.kind = kind,
          .step = step,
          .trip = trip,
          .queued = 1000 * queued,
          .queue_end = 1000 * queue_end,
          .begin = 1000 * begin,
          .end = 1000 * end};
}
Event OnHost(Kind kind, int step, int64_t begin, int64_t end) { return Make(kind, step, begin, end, begin, end); }

ProfiledStep Step(const std::string& name, gpu::StepKind sort, int bits, bool eligible, bool used) {
  ProfiledStep step{.name = name, .sort = sort, .kind = "loop", .bits = bits};
  step.tensor_cores = {.eligible = eligible, .used = used};
  step.launches = sort == gpu::StepKind::kHostCall ? 0 : 1;
  return step;
}

// Two runs on a host, of 100 and 200 us:
//
//   0        10         30   35        55  57 60       80 81 82        90        100
//   | launch | a (f16)  | launch | b    | w  | copies  |  |c (fill)| host call |  end
Profile OnHostProfile() {
  Profile profile{.module_name = "made_up", .is_host = true, .target = "h200"};
  profile.roof = *FindDevice("host");
  profile.steps = {Step("a", gpu::StepKind::kKernel, 16, true, true), Step("b", gpu::StepKind::kGemm, 32, true, false),
                   Step("c", gpu::StepKind::kFill, 32, false, false),
                   Step("d", gpu::StepKind::kHostCall, 32, false, false),
                   Step("never", gpu::StepKind::kKernel, 8, false, false)};
  profile.steps[0].launches = 2;
  profile.steps[0].cost = {.flops = 400, .bytes_read = 600, .bytes_written = 200};
  profile.steps[0].least_seconds = 5e-6;
  profile.steps[0].op_name = "f/g/add";
  profile.steps[1].op_name = "f/g/dot";
  profile.steps[2].op_name = "f/zeros";
  profile.steps[0].source = profile.steps[2].source = "m.py:7";
  gpu::Timeline run;
  run.begin = 0;
  run.end = 100'000;
  run.events = {OnHost(Kind::kStep, 0, 10, 30),   OnHost(Kind::kStep, 1, 35, 55), OnHost(Kind::kWait, -1, 56, 57),
                OnHost(Kind::kCopies, 2, 60, 80), OnHost(Kind::kStep, 2, 81, 82), OnHost(Kind::kStep, 3, 82, 90)};
  run.events[3].bytes = 4096;
  profile.runs.push_back(run);
  run.end = 200'000;  // The second run takes 100 us more at its end.
  profile.runs.push_back(run);
  profile.profiled_ns = {310, 210, 900};
  profile.plain_ns = {500, 200, 300};
  return profile;
}

TEST(ProfileFigures, TimesAreCorrect) {
  const Profile profile = OnHostProfile();
  EXPECT_DOUBLE_EQ(MeanRunMs(profile), 0.150);
  EXPECT_DOUBLE_EQ(MedianRunMs(profile), 0.150);
  EXPECT_NEAR(RunDeviationMs(profile), 0.0707107, 1e-6);  // sqrt((50^2 + 50^2) / 1) us.
  EXPECT_NEAR(Overhead(profile), 0.05, 1e-12);            // 210 / 200 - 1.
  EXPECT_DOUBLE_EQ(BusyMs(profile), 0.061);               // 20 + 20 + 20 + 1.
  EXPECT_DOUBLE_EQ(InterpretedMs(profile), 0.008);
}

TEST(ProfileFigures, PartsAddUp) {
  const Profile profile = OnHostProfile();
  double parts = BusyMs(profile) + InterpretedMs(profile);
  for (const GapFigures& gap : FiguresOfGaps(profile)) parts += gap.ms;
  EXPECT_NEAR(parts, MeanRunMs(profile), 1e-12);
}

TEST(ProfileFigures, GapsAreCorrect) {
  const Profile profile = OnHostProfile();
  const std::vector<Gap> gaps = GapsOf(profile.runs[0], profile);
  ASSERT_EQ(gaps.size(), 5u);
  const auto expect = [&](size_t i, int64_t begin, int64_t end, GapCause cause, int after, int before) {
    EXPECT_EQ(gaps[i].begin, 1000 * begin) << i;
    EXPECT_EQ(gaps[i].end, 1000 * end) << i;
    EXPECT_EQ(gaps[i].cause, cause) << i;
    EXPECT_EQ(gaps[i].after, after) << i;
    EXPECT_EQ(gaps[i].before, before) << i;
  };
  expect(0, 0, 10, GapCause::kLaunch, -1, 0);
  expect(1, 30, 35, GapCause::kLaunch, 0, 1);
  expect(2, 55, 60, GapCause::kSync, 1, 2);  // The host read a condition.
  expect(3, 80, 81, GapCause::kLaunch, 2, 2);
  expect(4, 90, 100, GapCause::kSync, 3, -1);
  const auto figures = FiguresOfGaps(profile);
  const GapFigures& launch = figures[static_cast<int>(GapCause::kLaunch)];
  EXPECT_DOUBLE_EQ(launch.count, 3);
  EXPECT_DOUBLE_EQ(launch.ms, 0.016);     // 10 + 5 + 1.
  EXPECT_DOUBLE_EQ(launch.median_us, 5);  // The median of 1, 1, 5, 5, 10 and 10.
  const GapFigures& sync = figures[static_cast<int>(GapCause::kSync)];
  EXPECT_DOUBLE_EQ(sync.count, 2);
  EXPECT_DOUBLE_EQ(sync.ms, 0.065);       // The mean of 5 + 10 and 5 + 110.
  EXPECT_DOUBLE_EQ(sync.median_us, 7.5);  // The median of 5, 5, 10 and 110.
}

// A late return of the call makes the launch the cause of a gap. Otherwise the cause is a dependency.
TEST(ProfileFigures, GapsOfQueuedStepsHaveACause) {
  Profile profile = OnHostProfile();
  profile.is_host = false;
  gpu::Timeline run;
  run.end = 100'000;
  run.events = {Make(Kind::kStep, 0, 10, 30, 0, 2), Make(Kind::kStep, 1, 31, 50, 2, 4),
                Make(Kind::kStep, 2, 60, 100, 4, 58)};
  profile.runs = {run};
  const std::vector<Gap> gaps = GapsOf(run, profile);
  ASSERT_EQ(gaps.size(), 3u);
  EXPECT_EQ(gaps[0].cause, GapCause::kLaunch);
  EXPECT_EQ(gaps[1].cause, GapCause::kDependency);
  EXPECT_EQ(gaps[2].cause, GapCause::kLaunch);
}

TEST(ProfileFigures, OverlappingTimesCountOnce) {
  Profile profile = OnHostProfile();
  gpu::Timeline run;
  run.end = 100'000;
  run.events = {OnHost(Kind::kStep, 0, 10, 50), OnHost(Kind::kStep, 1, 20, 30), OnHost(Kind::kStep, 1, 40, 70)};
  profile.runs = {run};
  EXPECT_DOUBLE_EQ(BusyMs(profile), 0.060);
}

TEST(ProfileFigures, StepsAreCorrect) {
  Profile profile = OnHostProfile();
  profile.runs[1].events.push_back(OnHost(Kind::kStep, 0, 100, 140));  // The second run has `a` once more.
  const std::vector<StepFigures> steps = FiguresOfSteps(profile);
  EXPECT_DOUBLE_EQ(steps[0].executions, 1.5);
  EXPECT_DOUBLE_EQ(steps[0].ms, 0.040);  // (20 + 20 + 40) / 2.
  EXPECT_DOUBLE_EQ(steps[0].least_us, 20);
  EXPECT_DOUBLE_EQ(steps[0].most_us, 40);
  EXPECT_NEAR(steps[0].mean_us, 80.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(steps[4].executions, 0);
  const StepRow row{profile.steps[0], {.executions = 1, .ms = 0.02, .mean_us = 20}};
  EXPECT_DOUBLE_EQ(row.GigabytesPerSecond(), 0.040);  // 800 bytes in 20 us.
  EXPECT_DOUBLE_EQ(row.GigaflopsPerSecond(), 0.020);
  EXPECT_DOUBLE_EQ(row.OfRoof(), 0.25);
}

TEST(ProfileFigures, ClassesAreCorrect) {
  Profile profile = OnHostProfile();
  const auto expect = [&](const Profile& of, TimeClass time_class, double count, double ms) {
    const TimeShare share = SharesOfClasses(of)[static_cast<int>(time_class)];
    EXPECT_DOUBLE_EQ(share.count, count) << ToString(time_class);
    EXPECT_DOUBLE_EQ(share.ms, ms) << ToString(time_class);
  };
  expect(profile, TimeClass::kKernel, 1, 0.020);
  expect(profile, TimeClass::kLibrary, 1, 0.020);
  expect(profile, TimeClass::kCopy, 1, 0.020);  // The plan makes these copies.
  expect(profile, TimeClass::kFill, 1, 0.001);
  expect(profile, TimeClass::kInterpreter, 1, 0.008);
  expect(profile, TimeClass::kCollective, 0, 0);
  double all = 0;
  for (const TimeShare& share : SharesOfClasses(profile)) all += share.ms;
  EXPECT_DOUBLE_EQ(all, BusyMs(profile) + InterpretedMs(profile));  // No events overlap.
  profile.steps[0].sort = gpu::StepKind::kCopy;
  profile.steps[3].is_collective = true;
  expect(profile, TimeClass::kCopy, 2, 0.040);
  expect(profile, TimeClass::kCollective, 1, 0.008);
  expect(profile, TimeClass::kInterpreter, 0, 0);
}

TEST(ProfileFigures, SingleRunsAreSampled) {
  Profile profile = OnHostProfile();
  EXPECT_EQ(SampledRunsNs(profile), (std::vector<int64_t>{100'000, 200'000}));
  const std::vector<std::vector<int64_t>> steps = SampledStepsNs(profile);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0], (std::vector<int64_t>{20'000, 20'000}));
  EXPECT_EQ(steps[2], (std::vector<int64_t>{1'000, 1'000}));  // The copies before the fill do not count.
  EXPECT_EQ(steps[4], (std::vector<int64_t>{0, 0}));
  // If there are many runs, the sample has the first, the last, and evenly spaced runs between them, up to its largest
  // size.
  profile.runs.assign(200, profile.runs[0]);
  for (int64_t i = 0; i < 200; ++i) profile.runs[i].end = 100 + i;
  const std::vector<int64_t> runs = SampledRunsNs(profile);
  ASSERT_EQ(runs.size(), 64u);
  EXPECT_EQ(runs.front(), 100);
  EXPECT_EQ(runs.back(), 299);
  for (size_t i = 1; i < runs.size(); ++i) EXPECT_NEAR(static_cast<double>(runs[i] - runs[i - 1]), 199.0 / 63, 1);
}

TEST(ProfileFigures, PrecisionTensorCoresLaunchesAndCopiesAreCorrect) {
  const Profile profile = OnHostProfile();
  const auto bits = SharesOfBits(profile);
  EXPECT_DOUBLE_EQ(bits.at(16).ms, 0.020);
  EXPECT_DOUBLE_EQ(bits.at(32).ms, 0.020);  // The fill computes nothing, and the host call is not a kernel.
  EXPECT_DOUBLE_EQ(bits.at(32).count, 1);
  EXPECT_DOUBLE_EQ(bits.at(8).count, 0);
  const TensorCoreFigures cores = FiguresOfTensorCores(profile);
  EXPECT_DOUBLE_EQ(cores.eligible.count, 2);
  EXPECT_DOUBLE_EQ(cores.eligible.ms, 0.040);
  EXPECT_DOUBLE_EQ(cores.used.count, 1);
  EXPECT_DOUBLE_EQ(cores.used.ms, 0.020);
  EXPECT_DOUBLE_EQ(Launches(profile), 3);  // Step a has two kernels.
  EXPECT_DOUBLE_EQ(ShortExecutions(profile), 0);
  const CopyFigures copies = CopiesOfThePlan(profile);
  EXPECT_DOUBLE_EQ(copies.count, 1);
  EXPECT_DOUBLE_EQ(copies.bytes, 4096);
  EXPECT_DOUBLE_EQ(copies.ms, 0.020);
}

TEST(ProfileFigures, LoopsAreCorrect) {
  Profile profile = OnHostProfile();
  // Two trips of an outer loop (7), each with two trips of an inner loop (8). Each loop evaluates its condition once
  // more.
  for (gpu::Timeline& run : profile.runs) {
    run.trips = {{7, 0, -1, true, 0, 30'000},     {8, 0, 0, true, 1'000, 5'000},    {8, 1, 0, true, 5'000, 9'000},
                 {8, 2, 0, false, 9'000, 9'500},  {7, 1, -1, true, 30'000, 50'000}, {8, 0, 4, true, 31'000, 35'000},
                 {8, 1, 4, true, 35'000, 39'000}, {8, 2, 4, false, 39'000, 39'500}, {7, 2, -1, false, 50'000, 51'000}};
  }
  const auto loops = FiguresOfLoops(profile);
  EXPECT_DOUBLE_EQ(loops.at(7).trips, 2);
  EXPECT_DOUBLE_EQ(loops.at(7).ms, 0.051);
  EXPECT_DOUBLE_EQ(loops.at(8).trips, 4);
  EXPECT_DOUBLE_EQ(loops.at(8).ms, 0.017);
}

TEST(ProfileFigures, PercentilesAreInterpolated) {
  EXPECT_DOUBLE_EQ(Percentile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(Percentile({3}, 0.9), 3);
  EXPECT_DOUBLE_EQ(Percentile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Percentile({10, 20, 30, 40, 50}, 0.9), 46);  // The rank is 3.6.
  EXPECT_DOUBLE_EQ(Percentile({10, 20}, 1), 20);
}

// Runs that lost events count only if all runs did.
TEST(ProfileFigures, IncompleteRunsAreIgnored) {
  Profile profile = OnHostProfile();
  profile.runs[1].dropped = 5;
  EXPECT_DOUBLE_EQ(MeanRunMs(profile), 0.100);
  profile.runs[0].dropped = 5;
  EXPECT_DOUBLE_EQ(MeanRunMs(profile), 0.150);
  EXPECT_NE(ProfileText(SummaryOf(profile), false).find("incomplete: 10 events"), std::string::npos);
}

TEST(ProfileSummary, GroupsByScopeAndSource) {
  const ProfileSummary summary = SummaryOf(OnHostProfile());
  ASSERT_EQ(summary.scopes.size(), 2u);
  EXPECT_EQ(summary.scopes[0].name, "f/g");
  EXPECT_DOUBLE_EQ(summary.scopes[0].ms, 0.040);
  EXPECT_EQ(summary.scopes[1].name, "f");
  ASSERT_EQ(summary.sources.size(), 1u);
  EXPECT_DOUBLE_EQ(summary.sources[0].ms, 0.021);
  EXPECT_DOUBLE_EQ(summary.sources[0].executions, 2);
}

TEST(ProfileSummary, ReadsBackFromItsJson) {
  ProfileSummary summary = SummaryOf(OnHostProfile());
  summary.input = 0xFEDCBA9876543210;
  summary.memory.at_peak.push_back(
      {.name = "a", .shape = "f32[2]", .bytes = 256, .is_output = true, .from = "a", .to = "b"});
  const std::string json = ProfileJson(summary), path = testing::TempDir() + "/profile_test.json";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  std::fwrite(json.data(), 1, json.size(), file);
  std::fclose(file);
  const auto read = ReadProfileSummary(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(ProfileJson(*read), json);
  EXPECT_EQ(ProfileText(*read, true), ProfileText(summary, true));
  std::filesystem::remove(path);
}

TEST(ProfileAdvice, QuotesItsFigures) {
  ProfileSummary summary = SummaryOf(OnHostProfile());
  const std::string text = Join(AdviceOn(summary), "\n");
  EXPECT_NE(text.find("runs differ by 47.1 %"), std::string::npos) << text;
  EXPECT_NE(text.find("5.0 % longer because they are profiled"), std::string::npos) << text;
  EXPECT_NE(text.find("planned for h200"), std::string::npos) << text;
  EXPECT_NE(text.find("steps without a kernel take 5.3 %"), std::string::npos) << text;
  EXPECT_NE(text.find("copies take 13.3 %"), std::string::npos) << text;
  summary = SummaryOf({});
  EXPECT_TRUE(AdviceOn(summary).empty());
  EXPECT_FALSE(ProfileText(summary, true).empty());  // The profile is empty.
}

// Each element is closed, nothing is loaded, and special characters of names are shown as text.
TEST(ProfilePage, IsSelfContained) {
  Profile profile = OnHostProfile();
  profile.steps[0].name = "<script>a&b\"";
  profile.memory.peak_bytes = 1 << 20;
  profile.memory.at_peak.push_back({.name = "a", .shape = "f32[2]", .bytes = 1 << 20});
  profile.steps[0].live_bytes = 1 << 20;
  const std::string page = ProfileHtml(SummaryOf(profile));
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::string tag = page.substr(at + 1, page.find_first_of(" >", at) - at - 1);
    const bool alone = page[page.find('>', at) - 1] == '/' || tag == "meta" || tag.starts_with('!');
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else if (!alone) {
      open.push_back(tag);
    }
  }
  EXPECT_TRUE(open.empty()) << open.back();
  for (const char* part : {"A run</h2>", "Memory</h2>", "Roofline</h2>", "Steps</h2>", "Values in memory at the peak",
                           "<polyline", "<circle"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  for (const char* part : {"<script", "http", "src=", "nan", "inf"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_FALSE(ProfileHtml(SummaryOf({})).empty());
}

TEST(ProfilePage, ShowsLoopsScopesAndNames) {
  Profile profile = OnHostProfile();
  // The typical run has an outer loop (7) with one trip, and in it an inner loop (8) with two trips.
  profile.runs[0].trips = {{7, 0, -1, true, 10'000, 58'000},
                           {8, 0, 0, true, 10'000, 30'000},
                           {8, 1, 0, true, 30'000, 55'000},
                           {8, 2, 0, false, 55'000, 56'000},
                           {7, 1, -1, false, 58'000, 59'000}};
  profile.loops = {{7, {"outer", "f/g/while", "m.py:3"}}, {8, {"inner", "", ""}}};
  const ProfileSummary summary = SummaryOf(profile);
  ASSERT_EQ(summary.sample_loops.size(), 2u);
  EXPECT_EQ(summary.loops[summary.sample_loops[0].loop].loop.name, "outer");
  EXPECT_EQ(summary.sample_loops[0].depth, 0);
  EXPECT_EQ(summary.sample_loops[1].depth, 1);
  EXPECT_EQ(summary.sample_loops[1].trips, 2);
  EXPECT_DOUBLE_EQ(summary.sample_loops[1].begin_us, 10);
  EXPECT_DOUBLE_EQ(summary.sample_loops[1].us, 46);
  const std::string page = ProfileHtml(summary);
  for (const char* part :
       {">loops</text>", ">outer, 1 trip</text>", ">inner, 2 trips</text>", "outer\nf/g/while  m.py:3\n",
        ">scopes</text>", ">g</text>",  // The name is from "f/g/add", without the common prefix "f/".
        "<td class=\"x\">a<span class=\"s\">f/g/add  m.py:7",  // The scope and source of a step are below its name.
        "<td class=\"x\">d</td>",                              // This step has neither.
        "a (loop)\nf/g/add  m.py:7\n", ">a</text>"})  // The first is in the time line, the second on the roofline.
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

// ---- The trace ------------------------------------------------------------------------------------------------------

JsonValue TraceOf(const Profile& profile, const TraceOptions& options, TraceReport* report = nullptr) {
  std::string text;
  const auto written = WriteTrace(profile, options, [&](std::string_view bytes) -> Status {
    text += bytes;
    return {};
  });
  EXPECT_TRUE(written);
  if (report != nullptr) *report = *written;
  auto json = ReadJson(text);
  EXPECT_TRUE(json) << json.error().message();
  return *json;
}

struct Span {
  double begin, end;
  std::string name;
};
using Lane = std::pair<int64_t, int64_t>;  // Process and thread.

std::map<Lane, std::vector<Span>> LanesOf(const JsonValue& trace) {
  std::map<Lane, std::vector<Span>> lanes;
  for (const JsonValue& event : *trace["traceEvents"].Items()) {
    if (*event["ph"].String() != "X") continue;
    const double begin = event["ts"].Number().value();
    lanes[{event["pid"].Int().value(), event["tid"].Int().value()}].push_back(
        {begin, begin + event["dur"].Number().value(), *event["name"].String()});
  }
  return lanes;
}

// Complete events of a lane must be disjoint or nested, because viewers drop others.
void ExpectNested(const JsonValue& trace) {
  for (auto& [lane, spans] : LanesOf(trace)) {
    std::ranges::stable_sort(
        spans, [](const Span& a, const Span& b) { return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end); });
    std::vector<Span> open;
    for (const Span& span : spans) {
      while (!open.empty() && open.back().end <= span.begin + 1e-6) open.pop_back();
      EXPECT_TRUE(open.empty() || span.end <= open.back().end + 1e-6)
          << lane.first << "/" << lane.second << ": '" << span.name << "' overlaps '" << open.back().name << "'";
      open.push_back(span);
    }
  }
}

void ExpectFlowsMatch(const JsonValue& trace, size_t count) {
  std::map<std::string, std::map<int64_t, double>> ends;  // Times by phase and id.
  for (const JsonValue& event : *trace["traceEvents"].Items()) {
    const std::string& phase = *event["ph"].String();
    if (phase != "s" && phase != "f") continue;
    EXPECT_TRUE(ends[phase].emplace(event["id"].Int().value(), event["ts"].Number().value()).second);
  }
  EXPECT_EQ(ends["s"].size(), count);
  EXPECT_EQ(ends["f"].size(), count);
  for (const auto& [id, at] : ends["s"]) {
    ASSERT_TRUE(ends["f"].contains(id));
    EXPECT_LE(at, ends["f"].at(id));
  }
}

TEST(ProfileTrace, HasTheLanesOfAHost) {
  Profile profile = OnHostProfile();
  profile.runs[0].trips = {{7, 0, -1, true, 0, 30'000},
                           {8, 0, 0, true, 1'000, 5'000},
                           {8, 1, 0, false, 5'000, 6'000},
                           {7, 1, -1, false, 30'000, 31'000}};
  profile.runs[1].begin += 300'000;
  profile.runs[1].end += 300'000;
  for (Event& event : profile.runs[1].events) {
    for (int64_t* at : {&event.queued, &event.queue_end, &event.begin, &event.end}) *at += 300'000;
  }
  TraceReport report;
  const JsonValue trace = TraceOf(
      profile,
      {.before = {{"read", 0.1}, {"passes", 0.3}, {"cse", 0.1, 1}, {"dce", 0.2, 1}}, .after = {{"compare", 0.5}}},
      &report);
  EXPECT_EQ(report.kept, 10);
  EXPECT_EQ(report.all, 10);
  ExpectNested(trace);
  ExpectFlowsMatch(trace, 0);  // On a host, a launch is the work itself, so there are no arrows.
  auto lanes = LanesOf(trace);
  std::vector<std::string> names;
  for (const Span& span : lanes[{100, 1}]) names.push_back(span.name);
  EXPECT_EQ(Join(names, " "), "a b c d a b c d");
  // The host's work before takes 400 us, and the step begins 10 us into the run.
  EXPECT_DOUBLE_EQ((lanes[{100, 1}][0].begin), 410);
  EXPECT_DOUBLE_EQ((lanes[{100, 1}][0].end), 430);
  names.clear();
  for (const Span& span : lanes[{100, 60}]) names.push_back(Str(span.name, " ", span.begin, "-", span.end));
  std::ranges::sort(names);
  EXPECT_EQ(Join(names, "; "), "while 7 400-431; while 7 trip 0 400-430; while 8 401-406; while 8 trip 0 401-405");
  names.clear();
  for (const Span& span : lanes[{100, 70}]) names.push_back(Str(span.name, " ", span.begin, "-", span.end));
  std::ranges::sort(names);
  EXPECT_EQ(names.size(), 10u) << Join(names, "; ");  // In each of two runs there are f, g, add, dot and zeros.
  names.clear();
  for (const Span& span : lanes[{100, 90}]) names.push_back(span.name);
  EXPECT_EQ(Join(names, "; ").substr(0, 70), "gap: launch; gap: launch; gap: sync; gap: launch; gap: sync; gap: laun");
  double last_main = 0;
  for (const Span& span : lanes[{1, 1}]) last_main = std::max(last_main, span.end);
  EXPECT_DOUBLE_EQ(last_main, 400 + 500 + 500);
}

TEST(ProfileTrace, HasArrowsFromLaunches) {
  Profile profile = OnHostProfile();
  profile.is_host = false;
  gpu::Timeline run;
  run.end = 100'000;
  // The third event overlaps the second.
  run.events = {Make(Kind::kStep, 0, 10, 30, 0, 2), Make(Kind::kStep, 1, 31, 50, 2, 4),
                Make(Kind::kStep, 2, 40, 60, 4, 6), Make(Kind::kWait, -1, 62, 63, 61, 64)};
  profile.runs = {run};
  const JsonValue trace = TraceOf(profile, {});
  ExpectNested(trace);
  ExpectFlowsMatch(trace, 3);
  auto lanes = LanesOf(trace);
  EXPECT_EQ((lanes[{100, 1}].size()), 2u);
  EXPECT_EQ((lanes[{100, 2}].size()), 1u);  // The lane is named "compute (2)".
  EXPECT_EQ((lanes[{1, 3}].size()), 4u);
}

TEST(ProfileTrace, BeginsWithANoteIfItIsTruncated) {
  Profile profile = OnHostProfile();
  profile.runs[1].dropped = 7;
  TraceReport report;
  const JsonValue trace = TraceOf(profile, {.most_events = 3}, &report);
  EXPECT_EQ(report.kept, 3);
  EXPECT_EQ(report.all, 17);
  EXPECT_EQ(*(*trace["traceEvents"].Items())[0]["name"].String(), "TRACE TRUNCATED: kept 3 of 17");
  EXPECT_EQ(trace["otherData"]["dropped"].Int(), 14);
  ExpectNested(trace);
  auto lanes = LanesOf(trace);
  EXPECT_EQ((lanes[{100, 1}].size() + lanes[{100, 40}].size()), 3u);
  const JsonValue whole = TraceOf(OnHostProfile(), {});
  EXPECT_EQ((*whole["traceEvents"].Items())[0]["name"].String()->find("TRUNCATED"), std::string::npos);
}

// ---- What is recorded -----------------------------------------------------------------------------------------------

constexpr char kLoops[] = R"(
HloModule loops

condition {
  state = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  trips = s32[] constant(5)
  ROOT go_on = pred[] compare(i, trips), direction=LT
}

body {
  state = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[64] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[64] cosine(x)
  ROOT both = (s32[], f32[64]) tuple(next, y)
}

ENTRY main {
  n = s32[] parameter(0)
  x = f32[64] parameter(1)
  start = (s32[], f32[64]) tuple(n, x)
  loop = (s32[], f32[64]) while(start), condition=condition, body=body
  y = f32[64] get-tuple-element(loop), index=1
  ROOT z = f32[64] exponential(y)
})";

std::unique_ptr<Module> Optimized(const std::string& text) {
  auto module = Parse(std::make_shared<const SourceText>("test", text));
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  PipelineOptions pipeline;
  // Without these passes, kernels run one by one, and the run time executes the loops.
  for (const char* pass : {"block-fusion", "segment-fusion", "while-loop-fusion"}) pipeline.disabled.emplace_back(pass);
  const auto passes = Optimize(**module, pipeline, nullptr);
  EXPECT_TRUE(passes) << (passes ? "" : passes.error().message());
  return std::move(*module);
}

// The loop makes four trips, so each step of the body runs four times, of the condition five times, and outside of the
// loop once.
void ExpectRecorded(gpu::Device& device) {
  const auto module = Optimized(kLoops);
  const auto executable = gpu::Compile(*module, device, {.libraries = false});
  ASSERT_TRUE(executable) << executable.error().message();
  std::vector<Literal> arguments = {Literal(Shape::Scalar(PrimitiveType::kS32)),
                                    Literal(Shape(PrimitiveType::kF32, {64}))};
  arguments[0].SetInt(0, 1);
  ASSERT_TRUE((*executable)->Bind(arguments));
  gpu::Timeline timeline;
  ASSERT_TRUE((*executable)->Execute({.timeline = &timeline}));
  std::map<std::string, int> times;
  int64_t until = timeline.begin;
  for (const Event& event : timeline.events) {
    EXPECT_LE(event.begin, event.end);
    EXPECT_LE(until, event.queued);
    until = event.end;
    if (event.kind == Kind::kStep) ++times[std::string((*executable)->steps()[event.step].instruction->name())];
    if (event.kind == Kind::kWait) {
      ++times["wait"];
      ASSERT_GE(event.trip, 0);
    }
  }
  EXPECT_LE(until, timeline.end);
  EXPECT_EQ(times["wait"], 5);
  ASSERT_EQ(timeline.trips.size(), 5u);
  EXPECT_FALSE(timeline.trips.back().ran);
  int of_body = 0, once = 0;
  for (const auto& [name, count] : times) {
    of_body += count == 4;
    once += count == 1;
  }
  EXPECT_GE(of_body, 1);
  EXPECT_GE(once, 1);
  Progress progress(/*quiet=*/true);
  Profile profile = DescribeProgram(**executable, DefaultDevice(), false);
  ASSERT_TRUE(AddRuns(**executable, progress, &profile));
  EXPECT_GE(profile.runs.size(), 10u);
  EXPECT_EQ(profile.runs.size(), profile.plain_ns.size());
  EXPECT_DOUBLE_EQ(FiguresOfLoops(profile).begin()->second.trips, 4);
  EXPECT_EQ(SummaryOf(profile).waits_for_each, !device.IsHost());
  ExpectNested(TraceOf(profile, {}));
}

TEST(ProfileRecorded, RunsOfTheHost) { ExpectRecorded(*gpu::OpenHostDevice()); }

TEST(ProfileRecorded, RunsOfADevice) {
  gpu::FarDevice far;
  ExpectRecorded(far);
}

// The trace has the grid and block of each kernel. The description of a step has them as text, such as "3 blocks of
// 256".
TEST(ProfileRecorded, HasLaunchSizes) {
  const auto device = gpu::OpenHostDevice();
  const auto module = Optimized(kLoops);
  const auto executable = gpu::Compile(*module, *device, {.libraries = false, .keep_kernels = true});
  ASSERT_TRUE(executable);
  std::vector<Literal> arguments = {Literal(Shape::Scalar(PrimitiveType::kS32)),
                                    Literal(Shape(PrimitiveType::kF32, {64}))};
  ASSERT_TRUE((*executable)->Bind(arguments));
  Progress progress(/*quiet=*/true);
  Profile profile = DescribeProgram(**executable, DefaultDevice(), false);
  ASSERT_TRUE(AddRuns(**executable, progress, &profile));
  const JsonValue trace = TraceOf(profile, {});
  int64_t kernels = 0;
  for (const JsonValue& event : *trace["traceEvents"].Items()) {
    const JsonValue& args = event["args"];
    if (args["grid"].Items() == nullptr) continue;
    ++kernels;
    const int64_t blocks = *(*args["grid"].Items())[0].Int(), threads = *(*args["block"].Items())[0].Int();
    EXPECT_EQ(event["cat"].ToString(), "\"kernel\"");
    EXPECT_TRUE(args["how"].String()->contains(Str(blocks, blocks == 1 ? " block of " : " blocks of ", threads)))
        << *args["how"].String();
  }
  EXPECT_GT(kernels, 0);
}

TEST(ProfileRecorded, CountsDroppedEvents) {
  const auto device = gpu::OpenHostDevice();
  const auto module = Optimized(kLoops);
  const auto executable = gpu::Compile(*module, *device, {.libraries = false});
  ASSERT_TRUE(executable);
  std::vector<Literal> arguments = {Literal(Shape::Scalar(PrimitiveType::kS32)),
                                    Literal(Shape(PrimitiveType::kF32, {64}))};
  ASSERT_TRUE((*executable)->Bind(arguments));
  gpu::Timeline whole, cut{.most_events = 3};
  ASSERT_TRUE((*executable)->Execute({.timeline = &whole}));
  ASSERT_TRUE((*executable)->Execute({.timeline = &cut}));
  EXPECT_EQ(cut.events.size(), 3u);
  EXPECT_EQ(cut.dropped + 3, std::ssize(whole.events));
  EXPECT_EQ(cut.trips.size(), 3u);
}

// tests/gpu/runtime_buffers_test.cpp compares the curve with the plan.
TEST(ProfileMemory, PeakIsTheSumOfHeldValues) {
  const auto device = gpu::OpenHostDevice();
  for (const char* path : {"testdata/models/mlp_train_f32.hlo", "testdata/models/lstm_infer.hlo"}) {
    const auto source = ReadSource(path);
    ASSERT_TRUE(source);
    const auto module = Optimized(std::string((*source)->text()));
    const auto executable = gpu::Compile(*module, *device, {.libraries = false});
    ASSERT_TRUE(executable) << executable.error().message();
    const Profile profile = DescribeProgram(**executable, DefaultDevice(), false);
    int64_t held = 0;
    for (const HeldValue& value : profile.memory.at_peak) held += value.bytes;
    EXPECT_EQ(held, profile.memory.peak_bytes) << path;
    EXPECT_GE(profile.memory.peak_bytes, (*executable)->memory().scratch_bytes) << path;
    for (const ProfiledStep& step : profile.steps) EXPECT_LE(step.live_bytes, profile.memory.peak_bytes) << path;
  }
}

}  // namespace
}  // namespace hlo
