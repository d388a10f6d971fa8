// Runs the pipeline for the tools, with verification after each changed pass, dumps and logs.
#ifndef HLO_DRIVER_OPTIMIZE_H_
#define HLO_DRIVER_OPTIMIZE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// Whether another compiler has optimized the module. Passes are then skipped with a note, unless requested.
bool IsOptimized(const Module& module, const std::string& path);

// The treatment of inconsistent layouts (V290, V291).
enum class MisfitLayouts : uint8_t {
  kAssign,  // Runs layout assignment before the pipeline.
  kKeep,    // The same, except for a list of passes that cannot change the bytes of a bitcast's operand.
};

// Runs the pipeline on `module`, with the verifier after each changed pass. `dumper` may be null.
Result<PipelineReport> Optimize(Module& module, PipelineOptions options, Dumper* dumper,
                                MisfitLayouts misfits = MisfitLayouts::kAssign);

// Changes a preset for a module that a host runs, whatever its target. There an additional launch costs nothing, and
// small kernels are judged separately, by the passes that made them. A custom pipeline is unchanged.
PipelineOptions ForHost(PipelineOptions options);

// Converts XLA's library calls in a module that IsOptimized to ours, so that they are compiled. Changes nothing else,
// and ignores the limits, faults and disabled passes of the pipeline. Returns a note, or "" if there were none.
Result<std::string> TakeLibraryCalls(Module& module, const DeviceDescription& device);

// Harmless internal faults, once each: "[I011] the fixed point of 'fusion' does not end: ...".
std::vector<std::string> FindingsOf(const PipelineReport& report);

// "pass algsimp#2 (instance 31 of the pipeline)".
std::string Describe(const PassRun& run);

// The applied rules, the most frequent first: "A.add.1 3x, A.resh.1b".
std::string RulesText(const PassRun& run);

// A note about passes of the pipeline that hlokit does not implement, or "".
std::string TodoText(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_OPTIMIZE_H_
