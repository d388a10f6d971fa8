// Two profiles of 'hlo-run --profile_json' against each other: which steps belong together, and which of them take
// another time. A pure function of the summaries; profiles.cpp reads and tells it.
//
// Steps belong together
//   1. that compute the same (ProfiledStep::work): first those that stand for the same instructions of one module, then
//      those of one name, of one op_name and source, and in the order of the program;
//   2. of one module that other passes went over: as what they compute shares results. One may have become several.
// What is left is of one side alone. Names alone say nothing: another module's fusion.3 is another thing.
#ifndef HLO_DRIVER_DIFF_PROFILE_MATCH_H_
#define HLO_DRIVER_DIFF_PROFILE_MATCH_H_

#include <string>
#include <vector>

#include "driver/diff/structure.h"
#include "driver/profile/summary.h"

namespace hlo {

// Times of both sides, in milliseconds of a run, and how likely ranks as far apart are by chance.
struct TimePair {
  std::vector<double> left, right;   // Samples: runs, or profiles.
  double left_ms = 0, right_ms = 0;  // Their medians.
  double p = 1;                      // RankTest.
  double difference() const { return right_ms - left_ms; }
};

struct StepPair {
  KernelDiff::What what = KernelDiff::What::kChanged;
  bool same_work = false;                   // One of each, which compute the same.
  std::vector<const StepRow*> left, right;  // Of the first profile of each side.
  TimePair time;
  double p = 1;  // Of Holm, for all pairs: how likely it is that any is as far apart by chance.
  bool is_significant = false;
};

struct ProfileDiff {
  const ProfileSummary *left = nullptr, *right = nullptr;  // The first of each side.
  bool same_input = false, same_code = false;
  bool by_profile = false;  // A sample is the median of a profile, not a run of it.
  size_t left_samples = 0, right_samples = 0;
  double least_p = 1;  // That so many samples can have.
  TimePair run;
  std::vector<StepPair> steps;  // What differs most in time comes first.
  size_t tested = 0;            // Of them, those that have a p.

  bool can_tell(double significance) const { return least_p < significance; }
};

// Of each side profiles of one code, at least one. Both outlive the result.
ProfileDiff DiffProfileSummaries(const std::vector<ProfileSummary>& left, const std::vector<ProfileSummary>& right,
                                 double significance);

// Holm's step-down adjustment: with p as it gives them, the chance that any of the tests below a level is there by
// chance alone is at most that level, however they depend on each other.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_PROFILE_MATCH_H_
