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
#include "gpu/runtime/tuning/tuning_options.h"
#include "ir/module.h"

namespace hlo::gpu {

// What became of steps with one key.
struct TunedStep {
  std::string name;      // Of the first.
  int steps = 1;         // With that key.
  double share = 0;      // Of the run, all of them.
  bool is_cold = false;  // RaceOptions::is_cold
  Decision decision;
  bool was_cached = false;
  std::string without;  // What is taken without the lock, with TuningOptions::names_defaults; "": no kernel.
  RaceResult race;      // Where it was measured.
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
