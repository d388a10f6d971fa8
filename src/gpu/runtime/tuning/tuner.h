// Autotuning: plans that were measured on a device, onto the fusions of an optimized module, and into and out of a lock
// file. Who compiles obeys them as any plan: docs/runtime.md#autotuning.
#ifndef HLO_GPU_RUNTIME_TUNING_TUNER_H_
#define HLO_GPU_RUNTIME_TUNING_TUNER_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/tuning/lock.h"
#include "gpu/runtime/tuning/race.h"
#include "ir/module.h"

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

  bool any() const { return level > 0 || !read_from.empty() || require_cached; }
  bool operator==(const TuningOptions&) const = default;
};

// What became of steps with one key.
struct TunedStep {
  std::string name;  // Of the first.
  int steps = 1;     // With that key.
  double share = 0;  // Of the run, all of them.
  Decision decision;
  bool was_cached = false;
  RaceResult race;  // Where it was measured.
};

struct TuningReport {
  double seconds = 0;
  int wanted = 0,
      cached = 0;      // Keys of steps with a choice: those that matter, or are in the lock; of them in the lock.
  int unfinished = 0;  // Time was up.
  std::vector<TunedStep> steps;  // In the order in which they were measured; those out of the lock first.
  std::vector<std::string> notes;
  int planted = 0;
  Lock used;           // What decided, and nothing else.
  bool wrote = false;  // write_to has something new.
};

// Plans onto the fusions of `module` that have none. Errors: A026 and A010 of the files; C030 with require_cached; C031
// with stop_on_wrong; C032 with strict.
Result<TuningReport> Tune(Module& module, Device& device, const CompileOptions& compile, const TuningOptions& options,
                          const TuningHooks& hooks);

// Candidates, times, checks: --autotune_report.
std::string ToString(const TuningReport& report);
// "2.10 s (41/63 cached)".
std::string Summary(const TuningReport& report);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_TUNER_H_
