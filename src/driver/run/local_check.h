// The state of the comparator `local` (run_check.h), and its steps.
#ifndef HLO_DRIVER_RUN_LOCAL_CHECK_H_
#define HLO_DRIVER_RUN_LOCAL_CHECK_H_

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run/dataflow_check.h"
#include "driver/run/divergence.h"
#include "driver/run/run.h"
#include "driver/run/trip_check.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "ir/module.h"
#include "judge/bounds/shadow.h"
#include "judge/compare/compare.h"

namespace hlo {

inline constexpr int64_t kSeededIterations = 8;

// The judged iterations. A condition has only one element, so it is also judged when it ends the loop, and in all
// iterations of a short loop.
class ChosenIterations {
 public:
  ChosenIterations(const std::map<int, int64_t>& last_by_loop, uint64_t seed);
  bool Has(const Instruction& inst, std::span<const gpu::LoopStep> loops) const;

 private:
  struct OfLoop {
    std::set<int64_t> chosen;
    int64_t trips = 0;
  };
  std::map<int, OfLoop> of_;
};

struct StepAlone {
  std::unique_ptr<Module> module;
  std::unique_ptr<gpu::Executable> executable;
  std::string name;
};

// Counts of one output, over all executions.
struct OfOutput {
  int64_t checked = 0, undetermined = 0, vacuous = 0;
  int64_t silent = 0;  // Floats whose expected value is zero, infinite or NaN.

  void Add(const TensorComparison& output);
  // "" if the output as a whole is decided.
  std::string WhyOpen() const;
  bool IsUndetermined() const {
    return static_cast<double>(undetermined) > kMostUndetermined * static_cast<double>(checked);
  }
  // Whether most wrong kernels would return the same values.
  bool SaysNothing() const { return checked > 1 && silent == checked; }
};

struct LocalCheck {
  // `expected`: the interpreter's results of the whole program, or null.
  LocalCheck(gpu::Executable& runs, gpu::Device& on, const FollowedRun& followed, const Literal* expected,
             const RunOptions& judging, Progress& shows, Divergence* inside, RunReport* report);

  gpu::Executable& executable;
  gpu::Device& device;
  const std::span<const gpu::StepInfo> steps;
  const Literal* interpreted;
  const RunOptions& options;
  Progress& progress;
  Divergence* divergence;
  ChosenIterations iterations;
  bool on_further = false;
  std::map<int, size_t> step_by_id;
  WorkMeter meter;
  LocalOptions local;
  LocalSummary& summary;
  Culprit& culprit;
  std::map<uint64_t, StepAlone> alone;  // Keyed by fingerprint.
  std::set<size_t> seen, doubtful, sampled;
  std::map<size_t, std::unique_ptr<TripCheck>> trips;  // Null if the step is not a single loop.
  // Keyed by step and same_plan. Null if the step cannot be split.
  std::map<std::pair<size_t, bool>, std::unique_ptr<gpu::Executable>> parts;
  std::map<size_t, std::map<ShapeIndex, OfOutput>> outputs;
  std::set<std::string> unchecked;
};

Status LookAtSteps(LocalCheck& s);
// Judges a run on further arguments, which must be bound. They are extreme, so only faults count. If the results have
// the bits of `interpreted`, no step is judged.
Status RunOnFurther(LocalCheck& s, std::span<const Literal> arguments, const Literal& interpreted);
// Null unless the step is a loop that is one kernel.
Result<TripCheck*> TripsOf(LocalCheck& s, size_t i);
void IsWrong(LocalCheck& s, const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison,
             std::string_view where);
// A module with only this instruction.
std::unique_ptr<Module> Alone(const Instruction& inst);

// Runs kernels on small integers if their errors are improbably large, or if their bits differ from the interpreter's
// and bounds of long sums could hide a missing term.
Status DecideDoubtful(LocalCheck& s);
// Runs kernels on made-up arguments if an output is open or its expected values say nothing (OfOutput).
Status DecideOpen(LocalCheck& s);
// Runs kernels alone on numbers that the program may never give them: large numbers, NaN and infinities, indices out
// of range, any initial values. Only faults count. Only hosts have this check, because they reuse compiled kernels.
Status CheckAtEdges(LocalCheck& s);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_LOCAL_CHECK_H_
