// Autotuning as a run asks for it: with arguments that are made up for each step, and judged by the bounds of what it
// computes.
#ifndef HLO_DRIVER_RUN_TUNING_H_
#define HLO_DRIVER_RUN_TUNING_H_

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "gpu/runtime/tuning/tuner.h"
#include "ir/module.h"

namespace hlo {

// Plans onto what of `module`, which is optimized, has none, as options.tuning says.
Result<gpu::TuningReport> TuneModule(Module& module, gpu::Device& device, const RunOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TUNING_H_
