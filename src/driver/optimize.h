// The pipeline as the tools run it: verified after each changed pass, dumped, logged.
#ifndef HLO_DRIVER_OPTIMIZE_H_
#define HLO_DRIVER_OPTIMIZE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// A module that somebody's compiler has been through: passes are skipped for it, with a note, unless asked for.
bool IsOptimized(const Module& module, const std::string& path);

// Treatment of layouts that do not fit each other (V290, V291).
enum class MisfitLayouts : uint8_t {
  kAssign,  // Layout assignment runs before the pipeline.
  kKeep,    // The same, unless the pipeline is a list of passes that cannot change the bytes of a bitcast's operand.
};

// Runs the pipeline over `module` with the verifier after each changed pass; `dumper` may be null.
Result<PipelineReport> Optimize(Module& module, PipelineOptions options, Dumper* dumper,
                                MisfitLayouts misfits = MisfitLayouts::kAssign);

// As it is where what comes out is to run on a host, for whichever device it is planned: a launch more costs nothing
// there, and small kernels side by side are judged one by one, by who made them. A pipeline that somebody wrote stays
// as it is.
PipelineOptions ForHost(PipelineOptions options);

// Of a module that IsOptimized: calls of XLA's libraries become ours, so that it runs compiled; nothing else is
// touched, and what is asked of the pipeline (limits, faults, passes left out) is not asked of these passes. A note
// that says so; "" where there are none.
Result<std::string> TakeLibraryCalls(Module& module, const DeviceDescription& device);

// Faults of ours that harm nobody, once each: "[I011] the fixed point of 'fusion' does not end: ...".
std::vector<std::string> FindingsOf(const PipelineReport& report);

// "pass algsimp#2 (instance 31 of the pipeline)".
std::string Describe(const PassRun& run);

// Rules that it applied, most often first: "A.add.1 3x, A.resh.1b".
std::string RulesText(const PassRun& run);

// A note on what the pipeline names and hlokit does not have yet; "" when it has all.
std::string TodoText(const PipelineReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_OPTIMIZE_H_
