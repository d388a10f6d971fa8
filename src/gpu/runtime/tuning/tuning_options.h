// What a run asks of autotuning (tuner.h).
#ifndef HLO_GPU_RUNTIME_TUNING_TUNING_OPTIONS_H_
#define HLO_GPU_RUNTIME_TUNING_TUNING_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

namespace hlo::gpu {

struct TuningOptions {
  // XLA's: 0 nothing is measured, what is in the lock is taken all the same; 1 on zeros; 2 on random arguments; 4 what
  // comes out is checked, and what was written outside; 5 as 4, without a word.
  int level = 0;
  std::string read_from, write_to;  // Lock files; empty: none.
  bool must_exist = false;          // `read_from` does; else one that is not there is empty.
  bool require_cached = false;      // What is not in the lock is an error.
  bool stop_on_wrong = false;       // So is a candidate that fails its check...
  bool strict = false;              // ...and a convolution of which none passes.
  std::string denylist;             // A file; empty: none.
  double budget_seconds = 20;       // What has not begun by then stays as it is.
  double least_share = 0.02;        // Of a run, as it is modelled, of what is worth measuring.
  bool plant_wrong = false;         // RaceOptions::plant_wrong. Tests of the checks.
  // Keys of those decisions of the lock that count; else all of them do. What a search leaves out.
  std::optional<std::vector<std::string>> keys;
  bool names_defaults = false;  // TunedStep::without.

  bool any() const { return level > 0 || !read_from.empty() || require_cached; }
  bool operator==(const TuningOptions&) const = default;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_TUNING_OPTIONS_H_
