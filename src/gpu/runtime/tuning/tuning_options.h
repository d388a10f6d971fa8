// The options of autotuning (tuner.h).
#ifndef HLO_GPU_RUNTIME_TUNING_TUNING_OPTIONS_H_
#define HLO_GPU_RUNTIME_TUNING_TUNING_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

namespace hlo::gpu {

struct TuningOptions {
  // XLA's level. 0 only uses the lock. 1 measures with zeros as arguments, 2 and 3 with random ones. 4 also checks
  // results, and whether candidates write outside their memory. 5 is 4 without notes on wrong candidates.
  int level = 0;
  std::string read_from, write_to;  // Lock files, or empty.
  bool must_exist = false;          // If false, a missing `read_from` is empty.
  bool require_cached = false;      // Missing decisions are errors.
  bool stop_on_wrong = false;       // A candidate that fails its check is an error.
  bool strict = false;              // A convolution without a passing candidate is an error.
  std::string denylist;
  double budget_seconds = 20;  // Steps that could not start in this time keep their default plans.
  double least_share = 0.02;   // Steps with less share of the run time are not measured.
  bool plant_wrong = false;    // See RaceOptions.
  // Only decisions with these keys are used. nullopt allows all keys.
  std::optional<std::vector<std::string>> keys;
  bool names_defaults = false;  // Sets TunedStep::without.

  bool any() const { return level > 0 || !read_from.empty() || require_cached; }
  bool operator==(const TuningOptions&) const = default;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_TUNING_OPTIONS_H_
