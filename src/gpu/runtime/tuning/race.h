// Compiles, checks and times candidates for a step.
#ifndef HLO_GPU_RUNTIME_TUNING_RACE_H_
#define HLO_GPU_RUNTIME_TUNING_RACE_H_

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

struct TuningHooks {
  // Random arguments in a suitable range.
  std::function<Result<std::vector<Literal>>(const Module& alone, uint64_t seed)> arguments;
  struct Answer {
    std::string check;  // "ok": within derived bounds. "rough": close to the first candidate. "none": not checked.
    std::string wrong;  // Why the result is wrong, or empty.
  };
  // Judges a result. `step` is the fusion in the candidate's program. `first` is the first result that passed, or null.
  std::function<Result<Answer>(const StepInfo& step, std::span<const Literal> inputs, const Literal& actual,
                               const Literal* first)>
      judge;
};

struct Candidate {
  FusionPlan plan;
  std::string words;                    // See choice.h.
  double microseconds = 0, spread = 0;  // See Decision in lock.h.
  int64_t samples = 0;                  // 0 if the candidate was not timed.
  std::string check = "none";
  int64_t spilled_bytes = 0;  // For each thread.
  std::string failure;        // Why it is excluded, or empty.
  bool is_wrong = false;      // The candidate wrote outside its memory or gave wrong results.
};

struct RaceOptions {
  int level = 4;  // See docs/runtime.md#autotuning.
  // Empties the cache before each run (reuse.h).
  bool is_cold = false;
  bool plant_wrong = false;  // The last candidate gives wrong results and seems to take no time.
  std::chrono::steady_clock::time_point deadline;
  std::function<bool(const Candidate&)> is_denied;  // May be null.
};

struct RaceResult {
  std::vector<Candidate> candidates;  // The first has the plan chosen without measurements.
  int winner = -1;                    // Index in `candidates`. -1 if none can run or the time was up.
  bool out_of_time = false;
  bool planted = false;
  std::string why_warm;  // Why the caches could not be emptied, or empty.
};

// `alone` is a single step (step.h). Candidates that cannot be compiled or run are excluded with the reason.
Result<RaceResult> RunRace(const Module& alone, Device& device, const CompileOptions& compile,
                           const RaceOptions& options, const TuningHooks& hooks);

// The plan chosen without measurements, as text (choice.h). Errors: the step has no kernel.
Result<std::string> WordsWithoutMeasuring(const Module& alone, Device& device, const CompileOptions& compile);

// All candidates, including denied ones.
Result<std::vector<Candidate>> CandidatesFor(const Module& alone, Device& device, const CompileOptions& compile);

// The first positive time within kTie of the fastest one, so that the default plan wins ties. -1 for none.
int WinnerOf(std::span<const double> microseconds);

// Times that differ by less than this share are equal.
inline constexpr double kTie = 0.02;

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_RACE_H_
