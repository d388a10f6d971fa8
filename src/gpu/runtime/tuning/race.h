// Candidates for one step, run against each other on a device: compiled, checked, timed.
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

// What races need of those who know what values mean.
struct TuningHooks {
  // Arguments for a step alone: seeded, random, of a range that suits it.
  std::function<Result<std::vector<Literal>>(const Module& alone, uint64_t seed)> arguments;
  // Whether what a candidate gave can be right. `step` is the fusion in the candidate's own program, `inputs` one for
  // each operand, `first` the result of the first candidate that passed, null for that one itself.
  struct Answer {
    std::string check;  // "ok": within derived bounds; "rough": no more than near the first; "none".
    std::string wrong;  // Why it is wrong; empty: it is not.
  };
  std::function<Result<Answer>(const StepInfo& step, std::span<const Literal> inputs, const Literal& actual,
                               const Literal* first)>
      judge;
};

// One way to run a step, and how it did.
struct Candidate {
  FusionPlan plan;
  std::string words;                    // choice.h
  double microseconds = 0, spread = 0;  // Median; half of the range of the middle half of samples.
  int64_t samples = 0;                  // 0: it was not timed.
  std::string check = "none";
  int64_t spilled_bytes = 0;  // Of registers, in the memory of each thread.
  std::string failure;        // Why it is out of the race; empty: it is not.
  bool is_wrong = false;      // It wrote outside its memory, or gave wrong results.
};

struct RaceOptions {
  int level = 4;         // docs/runtime.md#autotuning
  bool is_cold = false;  // The step finds little of its operands in the cache (reuse.h): before each run it is emptied.
  bool plant_wrong = false;  // The last candidate gives wrong results and takes no time.
  std::chrono::steady_clock::time_point deadline;
  std::function<bool(const Candidate&)> is_denied;  // Null: none is.
};

struct RaceResult {
  std::vector<Candidate> candidates;  // The first is what is taken where nothing is measured.
  int winner = -1;                    // Into them; -1: none is fit to run, or time was up.
  bool out_of_time = false;
  bool planted = false;
  std::string why_warm;  // Caches could not be emptied, and should have been; else empty.
};

// `alone` is a step alone (step.h). Errors are those of the device, of the arguments and of the hooks; a candidate that
// cannot be compiled or run is out, and says why.
Result<RaceResult> RunRace(const Module& alone, Device& device, const CompileOptions& compile,
                           const RaceOptions& options, const TuningHooks& hooks);

// What is taken without measuring, in words (choice.h). Errors: there is no kernel for it.
Result<std::string> WordsWithoutMeasuring(const Module& alone, Device& device, const CompileOptions& compile);

// The candidates before any is run, but for those of `denied`.
Result<std::vector<Candidate>> CandidatesFor(const Module& alone, Device& device, const CompileOptions& compile);

// Which of the times wins: the first that no other beats by more than 2 %, where the first of all stands for what is
// taken without measuring. Times of 0 or less are out of the race. -1: none is in it.
int WinnerOf(std::span<const double> microseconds);

// Differences below this share are none.
inline constexpr double kTie = 0.02;

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_RACE_H_
