#ifndef HLO_DRIVER_RUN_VERDICT_H_
#define HLO_DRIVER_RUN_VERDICT_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Adds "(with stubs)" to a match if the module has stubs or filled constants.
void SetVerdict(RunReport* report, Verdict verdict, std::string_view reason);

// Whether all implementations of the module give the same bits.
bool NothingRounds(const Module& module);

// ". The first output that differs, {1}, is 'sum'", or "" without a bad element. `module` computes the outputs.
std::string FirstBadOutput(const Module& module, const Comparison& outputs);

// Runs the oracles of --compare_mode whose needs are met.
Status JudgeRun(Experiment& experiment, RunReport* report);

// Judges only kernels and passes.
Status JudgeByParts(Experiment& experiment, RunReport* report);

// Judges a run that ended with `error`. Returns the error, unless wrong values may have caused it and the part that
// computed them is found.
Status JudgeUnfinished(Experiment& experiment, Error error, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_VERDICT_H_
