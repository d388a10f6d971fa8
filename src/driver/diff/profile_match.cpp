#include "driver/diff/profile_match.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/text.h"
#include "driver/diff/rank_test.h"

namespace hlo {
namespace {

using Rows = std::vector<const StepRow*>;

Rows RowsOf(const ProfileSummary& profile) {
  Rows rows;
  for (const StepRow& row : profile.steps) {
    if (row.figures.executions > 0) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, &StepRow::place);
  return rows;
}

class Matcher {
 public:
  Matcher(const ProfileSummary& left, const ProfileSummary& right, bool same_input)
      : left_(RowsOf(left)), right_(RowsOf(right)), same_input_(same_input) {}

  std::vector<StepPair> Take() {
    const auto stands_for = [](const ProfiledStep& step) { return Join(step.results, ","); };
    if (same_input_) {
      PairSameWork([&](const ProfiledStep& step) { return Str(step.name, "\n", stands_for(step)); });
      PairSameWork(stands_for);
    }
    PairSameWork([](const ProfiledStep& step) { return step.name; });
    PairSameWork([](const ProfiledStep& step) {
      return step.op_name.empty() && step.source.empty() ? "" : Str(step.op_name, "\n", step.source);
    });
    PairSameWork([](const ProfiledStep&) { return std::string("any"); });
    if (same_input_) PairByResults();
    for (const StepRow* row : left_)
      pairs_.push_back({.what = KernelDiff::What::kOnlyLeft, .left = {row}, .right = {}});
    for (const StepRow* row : right_)
      pairs_.push_back({.what = KernelDiff::What::kOnlyRight, .left = {}, .right = {row}});
    return std::move(pairs_);
  }

 private:
  // Skips steps with the key "".
  void PairSameWork(const std::function<std::string(const ProfiledStep&)>& key) {
    std::map<std::pair<uint64_t, std::string>, Rows> waiting;
    for (const StepRow* row : right_) waiting[{row->step.work, key(row->step)}].push_back(row);
    for (auto& [of, rows] : waiting) std::ranges::reverse(rows);
    Rows left, right;
    std::vector<const StepRow*> taken;
    for (const StepRow* row : left_) {
      const std::string own = key(row->step);
      const auto found = waiting.find({row->step.work, own});
      if (row->step.work == 0 || own.empty() || found == waiting.end() || found->second.empty()) {
        left.push_back(row);
        continue;
      }
      pairs_.push_back({.same_work = true, .left = {row}, .right = {found->second.back()}});
      taken.push_back(found->second.back());
      found->second.pop_back();
    }
    std::ranges::sort(taken);
    for (const StepRow* row : right_) {
      if (!std::ranges::binary_search(taken, row)) right.push_back(row);
    }
    left_ = std::move(left);
    right_ = std::move(right);
  }

  // Pairs each step with all steps of the other side that have one of its results, or else compute one as an
  // intermediate value.
  void PairByResults() {
    const size_t count = left_.size() + right_.size();
    std::vector<size_t> parent(count);
    std::iota(parent.begin(), parent.end(), size_t{0});
    const std::function<size_t(size_t)> find = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    const auto join = [&](const Rows& from, size_t from_base, const Rows& to, size_t to_base) {
      std::unordered_map<std::string, std::vector<size_t>> gives, holds;
      for (size_t i = 0; i < to.size(); ++i) {
        for (const std::string& name : to[i]->step.results) gives[name].push_back(i);
        for (const std::string& name : to[i]->step.made_of) holds[name].push_back(i);
      }
      for (size_t i = 0; i < from.size(); ++i) {
        const std::vector<std::string>& results = from[i]->step.results;
        const bool is_given = std::ranges::any_of(results, [&](const auto& name) { return gives.contains(name); });
        for (const std::string& name : results) {
          const auto& table = is_given ? gives : holds;
          const auto found = table.find(name);
          if (found == table.end()) continue;
          for (const size_t other : found->second) parent[find(from_base + i)] = find(to_base + other);
        }
      }
    };
    join(left_, 0, right_, left_.size());
    join(right_, left_.size(), left_, 0);
    std::map<size_t, StepPair> groups;
    for (size_t i = 0; i < left_.size(); ++i) groups[find(i)].left.push_back(left_[i]);
    for (size_t i = 0; i < right_.size(); ++i) groups[find(left_.size() + i)].right.push_back(right_[i]);
    left_.clear();
    right_.clear();
    for (auto& [root, group] : groups) {
      using What = KernelDiff::What;
      const size_t was = group.left.size(), is = group.right.size();
      group.what = was == 0              ? What::kOnlyRight
                   : is == 0             ? What::kOnlyLeft
                   : was == 1 && is == 1 ? What::kChanged
                   : was == 1            ? What::kSplit
                   : is == 1             ? What::kMerged
                                         : What::kRegrouped;
      pairs_.push_back(std::move(group));
    }
  }

  Rows left_, right_;
  const bool same_input_;
  std::vector<StepPair> pairs_;
};

double Median(std::vector<double> values) { return Percentile(std::move(values), 0.5); }

std::vector<double> Milliseconds(const std::vector<int64_t>& ns) {
  std::vector<double> ms;
  for (const int64_t one : ns) ms.push_back(static_cast<double>(one) * 1e-6);
  return ms;
}

// For each run: the total time of the steps in `rows`.
std::vector<double> SumsOf(const Rows& rows, const std::map<std::string_view, const StepRow*>& steps) {
  std::vector<double> sums;
  for (const StepRow* row : rows) {
    const auto found = steps.find(row->step.name);
    if (found == steps.end()) continue;
    const std::vector<double> ms = Milliseconds(found->second->runs_ns);
    sums.resize(std::max(sums.size(), ms.size()));
    for (size_t i = 0; i < ms.size(); ++i) sums[i] += ms[i];
  }
  return sums;
}

// Times of runs, or with `by_profile` the median of each profile.
class Sampler {
 public:
  Sampler(const std::vector<ProfileSummary>& profiles, bool by_profile) : profiles_(profiles), by_profile_(by_profile) {
    for (const ProfileSummary& profile : profiles) {
      auto& steps = steps_.emplace_back();
      for (const StepRow& row : profile.steps) steps[row.step.name] = &row;
    }
  }

  std::vector<double> OfRuns() const {
    return Gather([&](size_t i) { return Milliseconds(profiles_[i].runs_ns); });
  }
  std::vector<double> OfSteps(const Rows& rows) const {
    return Gather([&](size_t i) { return SumsOf(rows, steps_[i]); });
  }

 private:
  template <class F>
  std::vector<double> Gather(const F& runs_of) const {
    std::vector<double> samples;
    for (size_t i = 0; i < profiles_.size(); ++i) {
      const std::vector<double> runs = runs_of(i);
      if (by_profile_ && !runs.empty()) samples.push_back(Median(runs));
      if (!by_profile_) samples.insert(samples.end(), runs.begin(), runs.end());
    }
    return samples;
  }

  const std::vector<ProfileSummary>& profiles_;
  const bool by_profile_;
  std::vector<std::map<std::string_view, const StepRow*>> steps_;
};

// If a side has no samples, its mean is its time.
TimePair PairOf(std::vector<double> left, std::vector<double> right, double mean_left, double mean_right) {
  TimePair time{.left = std::move(left), .right = std::move(right)};
  time.left_ms = time.left.empty() ? mean_left : Median(time.left);
  time.right_ms = time.right.empty() ? mean_right : Median(time.right);
  time.p = RankTest(time.left, time.right);
  return time;
}

double MeanMs(const Rows& rows) {
  double ms = 0;
  for (const StepRow* row : rows) ms += row->figures.ms;
  return ms;
}

}  // namespace

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double least = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(order.size() - i) * p[order[i]]));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

ProfileDiff DiffProfileSummaries(const std::vector<ProfileSummary>& left, const std::vector<ProfileSummary>& right,
                                 double significance) {
  const ProfileSummary &was = left.front(), &is = right.front();
  ProfileDiff diff{.left = &was,
                   .right = &is,
                   .same_input = was.input == is.input,
                   .same_code = was.code == is.code,
                   .by_profile = left.size() > 1 && right.size() > 1};
  const Sampler of_left(left, diff.by_profile), of_right(right, diff.by_profile);
  diff.run = PairOf(of_left.OfRuns(), of_right.OfRuns(), was.run_ms, is.run_ms);
  diff.left_samples = diff.run.left.size();
  diff.right_samples = diff.run.right.size();
  diff.least_p = LeastOfRankTest(diff.left_samples, diff.right_samples);
  diff.steps = Matcher(was, is, diff.same_input).Take();
  std::vector<double> p;
  for (StepPair& pair : diff.steps) {
    pair.time = PairOf(of_left.OfSteps(pair.left), of_right.OfSteps(pair.right), MeanMs(pair.left), MeanMs(pair.right));
    if (!pair.left.empty() && !pair.right.empty()) p.push_back(pair.time.p);
  }
  diff.tested = p.size();
  const std::vector<double> adjusted = HolmAdjusted(p);
  size_t next = 0;
  for (StepPair& pair : diff.steps) {
    if (pair.left.empty() || pair.right.empty()) continue;
    pair.p = adjusted[next++];
    pair.is_significant = pair.p < significance;
  }
  std::ranges::stable_sort(diff.steps, std::greater<>(),
                           [](const StepPair& pair) { return std::abs(pair.time.difference()); });
  return diff;
}

}  // namespace hlo
