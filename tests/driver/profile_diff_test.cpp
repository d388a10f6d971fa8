// Tests of profile diffs. Steps are matched in invented profiles and in profiles of a module after two pipelines. Times
// are compared with sums by hand, and Holm's adjustment with the closed test.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "base/text.h"
#include "driver/diff/profile_match.h"
#include "driver/diff/rank_test.h"
#include "driver/run/experiment.h"

namespace hlo {
namespace {

StepRow Row(const std::string& name, uint64_t work, std::vector<std::string> made_of, std::vector<std::string> results,
            std::vector<int64_t> runs_ns, int64_t place) {
  StepRow row;
  row.step.name = name;
  row.step.work = work;
  row.step.made_of = std::move(made_of);
  row.step.results = std::move(results);
  row.figures.executions = 1;
  for (const int64_t ns : runs_ns)
    row.figures.ms += static_cast<double>(ns) * 1e-6 / static_cast<double>(runs_ns.size());
  row.runs_ns = std::move(runs_ns);
  row.place = place;
  return row;
}

ProfileSummary Summary(uint64_t input, uint64_t code, std::vector<StepRow> steps) {
  ProfileSummary summary{.input = input, .code = code};
  for (const StepRow& row : steps) {
    summary.runs_ns.resize(row.runs_ns.size());
    for (size_t i = 0; i < row.runs_ns.size(); ++i) summary.runs_ns[i] += row.runs_ns[i];
  }
  summary.steps = std::move(steps);
  return summary;
}

// The diff as a sorted list such as "a=b", "split c=d,e" and "only-left f".
std::string Told(const ProfileDiff& diff) {
  const auto names = [](const std::vector<const StepRow*>& rows) {
    std::vector<std::string_view> all;
    for (const StepRow* row : rows) all.push_back(row->step.name);
    return Join(all, ",");
  };
  std::vector<std::string> lines;
  for (const StepPair& pair : diff.steps)
    lines.push_back(Str(pair.same_work ? "" : Str(ToString(pair.what), " "), names(pair.left), "=", names(pair.right)));
  std::ranges::sort(lines);
  return Join(lines, "; ");
}

// The result refers to static copies, valid until the next call.
ProfileDiff DiffOf(const ProfileSummary& left, const ProfileSummary& right) {
  static std::vector<ProfileSummary> was, is;
  was = {left};
  is = {right};
  return DiffProfileSummaries(was, is, 0.05);
}

TEST(ProfileDiff, EqualStepsAreMatchedByTheirInstructions) {
  const ProfileSummary left = Summary(1, 1, {Row("f", 7, {"a"}, {"a"}, {1}, 0), Row("f.1", 7, {"b"}, {"b"}, {1}, 1)});
  const ProfileSummary right = Summary(1, 2, {Row("f", 7, {"b"}, {"b"}, {1}, 0), Row("f.1", 7, {"a"}, {"a"}, {1}, 1)});
  EXPECT_EQ(Told(DiffOf(left, right)), "f.1=f; f=f.1");
}

// For profiles of different modules, names of instructions mean nothing, and names of steps only distinguish equal
// steps.
TEST(ProfileDiff, StepsOfAnotherModuleAreMatchedByTheirWork) {
  const ProfileSummary left = Summary(
      1, 1, {Row("f", 7, {"a"}, {"a"}, {1}, 0), Row("g", 8, {"b"}, {"b"}, {1}, 1), Row("h", 9, {"c"}, {"c"}, {1}, 2)});
  const ProfileSummary right = Summary(
      2, 2, {Row("f", 8, {"a"}, {"a"}, {1}, 0), Row("g", 7, {"b"}, {"b"}, {1}, 1), Row("h", 10, {"c"}, {"c"}, {1}, 2)});
  const ProfileDiff diff = DiffOf(left, right);
  EXPECT_FALSE(diff.same_input);
  EXPECT_EQ(Told(diff), "f=g; g=f; only-left h=; only-right =h");
}

TEST(ProfileDiff, StepsMayBeSplitMergedOrRegrouped) {
  const ProfileSummary left = Summary(
      1, 1,
      {Row("s", 1, {"a", "b"}, {"b"}, {30}, 0), Row("m", 2, {"c"}, {"c"}, {5}, 1), Row("n", 3, {"d"}, {"d"}, {6}, 2),
       Row("r", 4, {"e", "f"}, {"e"}, {7}, 3), Row("q", 5, {"g"}, {"g"}, {8}, 4), Row("gone", 6, {}, {}, {9}, 5)});
  const ProfileSummary right =
      Summary(1, 2,
              {Row("s.1", 11, {"a"}, {"a"}, {10}, 0), Row("s.2", 12, {"b"}, {"b"}, {15}, 1),
               Row("mn", 13, {"c", "d"}, {"d"}, {12}, 2), Row("x", 14, {"e"}, {"e"}, {1}, 3),
               Row("y", 15, {"f", "g"}, {"f", "g"}, {2}, 4), Row("new", 16, {"z"}, {"z"}, {4}, 5)});
  const ProfileDiff diff = DiffOf(left, right);
  EXPECT_EQ(Told(diff), "changed q=y; changed r=x; merged m,n=mn; only-left gone=; only-right =new; split s=s.1,s.2");
  double sum = 0;
  for (const StepPair& pair : diff.steps) sum += pair.time.difference();
  EXPECT_NEAR(sum, (10 + 15 + 12 + 1 + 2 + 4 - 30 - 5 - 6 - 7 - 8 - 9) * 1e-6, 1e-15);
  EXPECT_NEAR(diff.run.difference(), sum, 1e-15);
}

TEST(ProfileDiff, TimesAreMediansOfSums) {
  const ProfileSummary left = Summary(1, 1, {Row("s", 1, {"a", "b"}, {"b"}, {10, 40, 20, 30, 25}, 0)});
  const ProfileSummary right = Summary(
      1, 2, {Row("s.1", 2, {"a"}, {"a"}, {50, 60, 70, 80, 90}, 0), Row("s.2", 3, {"b"}, {"b"}, {9, 8, 7, 6, 5}, 1)});
  const ProfileDiff diff = DiffOf(left, right);
  ASSERT_EQ(diff.steps.size(), 1u);
  const TimePair& time = diff.steps[0].time;
  EXPECT_NEAR(time.left_ms, 25e-6, 1e-15);
  EXPECT_NEAR(time.right_ms, 77e-6, 1e-15);  // The median of 59, 68, 77, 86 and 95.
  EXPECT_NEAR(time.p, 2.0 / 252, 1e-12);     // Of the 252 ways to choose 5 of 10 samples, two separate the samples.
  EXPECT_TRUE(diff.steps[0].is_significant);
}

// Each of several profiles is one sample, so a process that is slower as a whole counts once and not for each of its
// runs.
TEST(ProfileDiff, SeveralProfilesAreSamples) {
  const auto profile = [](int64_t ns) { return Summary(1, 1, {Row("f", 1, {"a"}, {"a"}, {ns, ns + 1, ns + 2}, 0)}); };
  const std::vector<ProfileSummary> left = {profile(10), profile(30), profile(20)}, right = {profile(15), profile(25)};
  const ProfileDiff diff = DiffProfileSummaries(left, right, 0.05);
  EXPECT_TRUE(diff.by_profile);
  EXPECT_EQ(diff.left_samples, 3u);
  EXPECT_EQ(diff.right_samples, 2u);
  EXPECT_NEAR(diff.run.left_ms, 21e-6, 1e-15);
  EXPECT_NEAR(diff.run.right_ms, 21e-6, 1e-15);
  EXPECT_DOUBLE_EQ(diff.least_p, 0.2);  // Two of ten orders separate the samples.
  EXPECT_FALSE(diff.can_tell(0.05));
}

TEST(ProfileDiff, WithoutRunsNothingIsSignificant) {
  ProfileSummary left = Summary(1, 1, {Row("f", 1, {"a"}, {"a"}, {}, 0)}), right = left;
  left.steps[0].figures.ms = 1;
  right.steps[0].figures.ms = 2;
  const ProfileDiff diff = DiffOf(left, right);
  EXPECT_EQ(diff.least_p, 1);
  EXPECT_EQ(diff.steps[0].time.difference(), 1);
  EXPECT_FALSE(diff.steps[0].is_significant);
}

// The closed test takes the largest p value of Bonferroni's test over all sets that contain the hypothesis.
TEST(ProfileDiff, HolmsAdjustmentEqualsTheClosedTest) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> p(1 + random() % 7);
    for (double& one : p) one = std::pow(10.0, -static_cast<double>(random() % 40) / 10);
    const std::vector<double> adjusted = HolmAdjusted(p);
    for (size_t i = 0; i < p.size(); ++i) {
      double most = 0;
      for (uint32_t set = 0; set < 1U << p.size(); ++set) {
        if ((set >> i & 1) == 0) continue;
        double least = 1;
        for (size_t k = 0; k < p.size(); ++k) {
          if ((set >> k & 1) == 1) least = std::min(least, p[k]);
        }
        most = std::max(most, std::min(1.0, std::popcount(set) * least));
      }
      EXPECT_NEAR(adjusted[i], most, 1e-12);
    }
  }
}

TEST(ProfileDiff, TheLeastPIsThatOfSeparateSamples) {
  for (size_t a = 0; a < 8; ++a) {
    for (size_t b = 0; b < 8; ++b) {
      std::vector<double> low(a), high(b);
      for (size_t i = 0; i < a; ++i) low[i] = static_cast<double>(i);
      for (size_t i = 0; i < b; ++i) high[i] = 100 + static_cast<double>(i);
      EXPECT_NEAR(LeastOfRankTest(a, b), RankTest(low, high), 1e-12) << a << " " << b;
    }
  }
}

// ---- Programs -------------------------------------------------------------------------------------------------------

ProfileSummary Profiled(const std::string& path, const std::vector<std::string>& disabled) {
  RunOptions options;
  options.platform = "cpu";
  options.reference_platform = ReferencePlatform::kNone;
  options.profile.json = "kept here";
  options.pipeline.disabled = disabled;
  Progress progress(/*quiet=*/true);
  Experiment experiment(path, options, progress);
  const auto results = experiment.Results();
  EXPECT_TRUE(results) << results.error().message();
  return SummaryOf(*(*results)->profiled);
}

// Steps are matched by the instructions of the input module from which they come.
TEST(ProfileDiff, StepsHavePartnersAfterOtherPasses) {
  const std::string path = "testdata/models/gpt2_infer.hlo";
  const ProfileSummary fused = Profiled(path, {}),
                       other = Profiled(path, {"fusion_merger", "row-fusion", "attention-fusion"});
  const ProfileDiff same = DiffOf(fused, fused);
  EXPECT_TRUE(std::ranges::all_of(same.steps, [](const StepPair& pair) {
    return pair.same_work && pair.left[0]->step.name == pair.right[0]->step.name;
  }));
  const ProfileDiff diff = DiffOf(fused, other);
  EXPECT_TRUE(diff.same_input);
  EXPECT_FALSE(diff.same_code);
  int64_t split = 0;
  for (const StepPair& pair : diff.steps) {
    EXPECT_FALSE(pair.left.empty() || pair.right.empty()) << (pair.left.empty() ? pair.right : pair.left)[0]->step.name;
    split += pair.what == KernelDiff::What::kSplit;
  }
  EXPECT_GE(split, 1);
  // A step that a pass created from no instruction, such as a transpose, has no results in the input module.
  int64_t known = 0;
  for (const StepRow& row : fused.steps) {
    known += !row.step.results.empty();
    EXPECT_TRUE(std::ranges::includes(row.step.made_of, row.step.results)) << row.step.name;
  }
  EXPECT_GE(2 * known, std::ssize(fused.steps));
}

}  // namespace
}  // namespace hlo
