// Autotuning: adds measured plans to the fusions of an optimized module, and reads and writes lock files
// (docs/runtime.md#autotuning).
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

// A tuned step, together with all steps that have the same key.
struct TunedStep {
  std::string name;
  int steps = 1;         // Number of steps with this key.
  double share = 0;      // Sum of their shares in the run time.
  bool is_cold = false;  // See RaceOptions.
  Decision decision;
  bool was_cached = false;
  std::string without;  // The default plan, if TuningOptions::names_defaults is set. "" without a kernel.
  RaceResult race;      // Set if the steps were measured.
};

struct TuningReport {
  double seconds = 0;
  // `wanted`: number of keys that could get a measured plan. `cached`: how many of them the lock has.
  int wanted = 0, cached = 0;
  int unfinished = 0;            // Keys without a result when the time was up.
  std::vector<TunedStep> steps;  // Steps from the lock, then measured steps in the order of measurement.
  std::vector<std::string> notes;
  int planted = 0;
  Lock used;
  bool wrote = false;  // Whether TuningOptions::write_to was written.
};

// Adds plans to fusions of `module` that may be tuned (step.h). Errors: A026 and A010 of the files, C030 with
// require_cached, C031 with stop_on_wrong, C032 with strict.
Result<TuningReport> Tune(Module& module, Device& device, const CompileOptions& compile, const TuningOptions& options,
                          const TuningHooks& hooks);

std::string ToString(const TuningReport& report);
// "2.10 s (41/63 cached)".
std::string Summary(const TuningReport& report);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_TUNER_H_
