// Runs the pipeline for the tools, with verification, dumps and logs.
#ifndef HLO_DRIVER_OPTIMIZE_H_
#define HLO_DRIVER_OPTIMIZE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// Whether schedule, plans or file name show that the module is optimized. Passes are then skipped unless requested.
bool IsOptimized(const Module& module, const std::string& path);

enum class MisfitLayouts : uint8_t {
  kAssign,  // If layouts do not fit each other, assigns new ones before the pipeline.
  kKeep,    // Like kAssign, but layouts stay if passes cannot change the bytes of a bitcast's operand.
};

// Verifies after each pass that changed the module. `dumper` may be null.
Result<PipelineReport> Optimize(Module& module, PipelineOptions options, Dumper* dumper,
                                MisfitLayouts misfits = MisfitLayouts::kAssign);

// Changes a preset for a run on the host. Disables passes that merge kernels, because a launch costs nothing there, and
// separate kernels can be judged separately. A custom pipeline is unchanged.
PipelineOptions ForHost(PipelineOptions options);

// Converts XLA's library calls in an optimized module to ours. Ignores limits, faults and disabled passes. Returns a
// note, or "" without such calls.
Result<std::string> TakeLibraryCalls(Module& module, const DeviceDescription& device);

// Internal faults that did no harm, each once: "[I011] the fixed point of 'fusion' does not end: ...".
std::vector<std::string> FindingsOf(const PipelineReport& report);

// "pass algsimp#2 (instance 31 of the pipeline, in simplify)".
std::string Describe(const PassRun& run);

// Rules by frequency: "A.add.1 3x, A.resh.1b".
std::string RulesText(const PassRun& run);

// A note about passes of the pipeline that hlokit does not implement, or "".
std::string TodoText(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_OPTIMIZE_H_
