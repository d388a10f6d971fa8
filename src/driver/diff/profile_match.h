// Pairs the steps of two profiles of 'hlo-run --profile_json' and compares their times.
//
// Steps are paired
//   1. if they compute the same (ProfiledStep::work): first steps with equal ProfiledStep::results of one input module,
//      then with equal names, with equal op_name and source, and in program order;
//   2. if they share results of one input module. One step may become several.
//
// Equal names alone do not pair steps, because fusion.3 of another module is unrelated.
#ifndef HLO_DRIVER_DIFF_PROFILE_MATCH_H_
#define HLO_DRIVER_DIFF_PROFILE_MATCH_H_

#include <string>
#include <vector>

#include "driver/diff/structure.h"
#include "driver/profile/summary.h"

namespace hlo {

// Times of both sides in milliseconds per run.
struct TimePair {
  std::vector<double> left, right;
  double left_ms = 0, right_ms = 0;
  double p = 1;
  double difference() const { return right_ms - left_ms; }
};

struct StepPair {
  KernelDiff::What what = KernelDiff::What::kChanged;
  bool same_work = false;
  std::vector<const StepRow*> left, right;
  TimePair time;
  double p = 1;  // Adjusted by Holm: bounds the probability that any pair differs as much by chance.
  bool is_significant = false;
};

struct ProfileDiff {
  const ProfileSummary *left = nullptr, *right = nullptr;
  bool same_input = false, same_code = false;
  bool by_profile = false;  // A sample is the median of a profile instead of the time of a run.
  size_t left_samples = 0, right_samples = 0;
  double least_p = 1;
  TimePair run;
  std::vector<StepPair> steps;  // The largest time difference comes first.
  size_t tested = 0;

  bool can_tell(double significance) const { return least_p < significance; }
};

// Each side has at least one profile, all of the same code. Both must outlive the result.
ProfileDiff DiffProfileSummaries(const std::vector<ProfileSummary>& left, const std::vector<ProfileSummary>& right,
                                 double significance);

// Holm's step-down adjustment limits the probability that chance puts any adjusted p below a level, even for dependent
// tests.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_PROFILE_MATCH_H_
