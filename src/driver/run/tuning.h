// Autotuning as a run asks for it: with arguments that are made up for each step, and judged by the bounds of what it
// computes.
#ifndef HLO_DRIVER_RUN_TUNING_H_
#define HLO_DRIVER_RUN_TUNING_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "gpu/runtime/tuning/tuner.h"
#include "ir/module.h"

namespace hlo {

// Of --inject, "autotune:NAME:FAULT": a fault of a kernel or a library call, in the step NAME where its plan is out of
// a lock, so that the lock is what is wrong. Error F004: neither has such a fault.
inline constexpr std::string_view kFaultOfDecision = "autotune:";
Status CheckFaultOfDecision(std::string_view inject);
// gpu::CompileOptions::inject for what of `module` was tuned; `tuned` may be null. "": no lock has decided about NAME.
// Error F004: there is no such step.
Result<std::string> FaultToPlant(const Module& module, std::string_view inject, const gpu::TuningReport* tuned);

// Regions of an optimized module that stay none when it is compiled, as TakeUnplannedRegionsApart has it. `device`:
// what it will run on, whose libraries are asked about attentions and about convolutions with sums; only where there
// are such. May give null: none is asked. Gives notes.
std::vector<std::string> DissolveRegions(Module& module, const std::function<gpu::Device*()>& device,
                                         const RunOptions& options);

// Plans onto what of `module`, whose regions are settled, has none, as options.tuning says.
Result<gpu::TuningReport> TuneModule(Module& module, gpu::Device& device, const RunOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TUNING_H_
