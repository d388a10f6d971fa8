// The verdict on a run, and who is wrong.
#ifndef HLO_DRIVER_RUN_VERDICT_H_
#define HLO_DRIVER_RUN_VERDICT_H_

#include <string_view>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// A match is one "(with stubs)" where there are stubs.
void SetVerdict(RunReport* report, Verdict verdict, std::string_view reason);

// The oracles that --compare_mode asks for and that have what they need, and the verdict.
Status JudgeRun(Experiment& experiment, RunReport* report);

// The same without results of the whole, so that nothing is run for them: by the oracles of kernels, of what goes on
// between them and of the passes.
Status JudgeByParts(Experiment& experiment, RunReport* report);

// The run ended with `error`, which is returned unless somebody here makes a loop go on for ever: the run time, by
// values that do not come through, a kernel or a pass.
Status JudgeUnfinished(Experiment& experiment, Error error, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_VERDICT_H_
