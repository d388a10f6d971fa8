// Compiles, checks and times the candidates for one step on a device.
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

// Functions for generating and judging values.
struct TuningHooks {
  // Random arguments for a single step, with a suitable range and this seed.
  std::function<Result<std::vector<Literal>>(const Module& alone, uint64_t seed)> arguments;
  // Judges the result of a candidate. `step` is the fusion in the candidate's program, and `inputs` has a value for
  // each operand. `first` is the result of the first candidate that passed, or null for that candidate.
  struct Answer {
    std::string check;  // "ok": within derived bounds; "rough": only close to the first; "none".
    std::string wrong;  // The reason why it is wrong, or empty.
  };
  std::function<Result<Answer>(const StepInfo& step, std::span<const Literal> inputs, const Literal& actual,
                               const Literal* first)>
      judge;
};

// A plan for the step and its results.
struct Candidate {
  FusionPlan plan;
  std::string words;                    // choice.h
  double microseconds = 0, spread = 0;  // The median, and half of the interquartile range.
  int64_t samples = 0;                  // 0 if it was not timed.
  std::string check = "none";
  int64_t spilled_bytes = 0;  // Bytes of spilled registers of each thread.
  std::string failure;        // The reason why it was excluded, or empty.
  bool is_wrong = false;      // It wrote outside its memory or gave wrong results.
};

struct RaceOptions {
  int level = 4;  // See docs/runtime.md#autotuning.
  // The step finds few of its operands in the cache (reuse.h), so the cache is emptied before each run.
  bool is_cold = false;
  bool plant_wrong = false;  // The last candidate gives wrong results in no time.
  std::chrono::steady_clock::time_point deadline;
  std::function<bool(const Candidate&)> is_denied;  // May be null.
};

struct RaceResult {
  std::vector<Candidate> candidates;  // The first is the default without measuring.
  int winner = -1;                    // Index in `candidates`; -1 if none can run or the time was up.
  bool out_of_time = false;
  bool planted = false;
  std::string why_warm;  // The reason why the caches could not be emptied as requested, or empty.
};

// `alone` is a single step (step.h). Errors come from the device, the arguments and the hooks. A candidate that cannot
// be compiled or run is excluded with the reason.
Result<RaceResult> RunRace(const Module& alone, Device& device, const CompileOptions& compile,
                           const RaceOptions& options, const TuningHooks& hooks);

// The default plan without measuring, as text (choice.h). Errors: there is no kernel for it.
Result<std::string> WordsWithoutMeasuring(const Module& alone, Device& device, const CompileOptions& compile);

// All candidates except denied ones, without running them.
Result<std::vector<Candidate>> CandidatesFor(const Module& alone, Device& device, const CompileOptions& compile);

// The index of the fastest time. The first time that is within 2 % of the fastest wins, so that the default plan wins
// ties. Times of 0 or less are excluded. -1 if all are.
int WinnerOf(std::span<const double> microseconds);

// Times that differ by less than this share are equal.
inline constexpr double kTie = 0.02;

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_RACE_H_
