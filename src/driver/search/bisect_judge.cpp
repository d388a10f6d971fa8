#include "driver/search/bisect_judge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace hlo::bisect {
namespace {

constexpr double kSlower = 1.2;  // Default limit of the property `slower`.

// Culprit and place of a crash depend on the variant, so failures of a class count as the same.
std::string_view ClassOf(std::string_view way) {
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"MISMATCH", "wrong"}, {"INCONCLUSIVE", "wrong"}, {"crash", "crash"}, {"hang", "crash"}, {"script", "script"}};
  for (const auto& [prefix, name] : kClasses) {
    if (way.starts_with(prefix)) return name;
  }
  return way;
}

}  // namespace

Error NotHeld(std::string message) { return Error(ExitCode::kInconclusive, "N003", std::move(message)); }

Judge::Judge(std::string path, const BisectOptions& options) : path_(std::move(path)), options_(options) {
  trial_.property = options.property;
  trial_.threads = threads_;
  SetThreads(1);  // A child process has no pool of threads.
}

Result<Symptom> Judge::LookAtEnds(const Text& bad_text, const RunOptions& bad, const Text& good_text,
                                  const RunOptions& good) {
  constexpr double kFirst = 300, kTimes = 10, kMore = 10;
  trial_.seconds = options_.trial_seconds > 0 ? options_.trial_seconds : kFirst;
  const bool figures = options_.property.IsFigure();
  trial_.depth = figures ? Depth::kPasses : Depth::kRun;
  if (options_.measured) good_process_ = std::make_unique<VariantProcess>(path_, good, /*runs=*/true, threads_);
  if (figures) limit_ = TRY(LimitOf(Try(good_text, good)));
  way_ = Try(bad_text, bad);
  const double took = way_.seconds;
  if (options_.trial_seconds <= 0) trial_.seconds = kMore + kTimes * took;
  if (figures && !IsBeyond(way_.figure, bad))
    FAIL(NotHeld(
        Str("--property=", options_.property.text, " does not hold at the bad end: ", FigureText(way_.figure),
            ", but the limit is ",
            options_.measured ? Format("%.2f times", options_.property.limit.value_or(kSlower)) : FigureText(limit_))));
  if (figures) way_.way = way_.detail = Str(options_.property.text, ": ", FigureText(way_.figure));
  if (!way_.Shows(options_.property))
    FAIL(NotHeld(Str("--property=", options_.property.text, " does not hold at the bad end: ", way_.Text())));
  trial_.depth = DepthOf(way_, options_.property);
  trial_.asks_for_roundings = way_.way.starts_with("INCONCLUSIVE");
  if (trial_.depth == Depth::kMeaning) trial_.depth = Depth::kEnds;
  return way_;
}

Answer Judge::AnswerOf(const Text& text, const RunOptions& run) {
  const Symptom symptom = Try(text, run);
  last_ = symptom;
  if (options_.property.IsFigure() && symptom.way.empty())
    return IsBeyond(symptom.figure, run) ? Answer::kBad : Answer::kGood;
  if (symptom.untried) return Answer::kUntried;
  if (symptom.way.empty()) return Answer::kGood;
  const bool same = symptom.Shows(options_.property) && ClassOf(symptom.way) == ClassOf(way_.way);
  return same ? Answer::kBad : Answer::kUntried;
}

Symptom Judge::Look(const Text& text, const RunOptions& run) {
  TrialOptions trial = trial_;
  trial.depth = Depth::kPasses;
  trial.seconds = 0;
  return Trial(text, run, trial).symptom();
}

int Judge::Count(const Text& text, const RunOptions& run, Answer answer, int known) {
  int count = known;
  for (int i = known; i < options_.confirm; ++i) count += AnswerOf(text, run) == answer;
  return count;
}

Symptom Judge::Try(const Text& text, const RunOptions& run) { return Trial(text, run, trial_).symptom(); }

Result<double> Judge::LimitOf(const Symptom& good) const {
  if (!good.way.empty()) FAIL(NotHeld(Str("the good end cannot be measured: ", good.detail)));
  if (options_.property.kind == PropertyKind::kSlower) return good.figure * options_.property.limit.value_or(kSlower);
  return options_.property.limit.value_or(good.figure);
}

bool Judge::IsBeyond(double figure, const RunOptions& run) {
  if (!options_.measured) return figure > limit_;
  constexpr int kRounds = 7;
  VariantProcess process(path_, run, /*runs=*/true, threads_);
  std::vector<double> quotients;
  for (int i = 0; i < kRounds; ++i) {
    const auto good = good_process_->Run(), bad = process.Run();
    if (!good || !bad) return false;
    quotients.push_back(*bad / *good);
  }
  std::ranges::nth_element(quotients, quotients.begin() + kRounds / 2);
  times_ = quotients[kRounds / 2];
  return times_ > options_.property.limit.value_or(kSlower);
}

std::string Judge::FigureText(double figure) const {
  if (options_.measured) return Format("%.2f times the time of the good end", times_);
  switch (options_.property.kind) {
    case PropertyKind::kKernels: return Str(figure, " kernels");
    case PropertyKind::kBytes: return HumanBytes(figure);
    default: return HumanMilliseconds(1e3 * figure);
  }
}

}  // namespace hlo::bisect
