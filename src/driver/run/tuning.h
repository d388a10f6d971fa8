// Autotuning for a run: makes arguments for each step and judges the results by error bounds.
#ifndef HLO_DRIVER_RUN_TUNING_H_
#define HLO_DRIVER_RUN_TUNING_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "gpu/runtime/tuning/tuner.h"
#include "ir/module.h"

namespace hlo {

// --inject=autotune:NAME:FAULT plants a fault in a step whose plan comes from a lock file. Error F004: unknown fault.
inline constexpr std::string_view kFaultOfDecision = "autotune:";
Status CheckFaultOfDecision(std::string_view inject);
// The fault for gpu::CompileOptions::inject, or "" if NAME has no plan from a lock. Other faults are unchanged. Errors:
// F004 if the module has no such step.
Result<std::string> FaultToPlant(const Module& module, std::string_view inject, const gpu::TuningReport* tuned);

// Adds missing plans, as options.tuning says. gpu::ResolveRegions must run before.
Result<gpu::TuningReport> TuneModule(Module& module, gpu::Device& device, const RunOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TUNING_H_
