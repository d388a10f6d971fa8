// Recorded runs: the module of a snapshot runs on the recorded arguments and is compared with the recorded result.
#ifndef HLO_DRIVER_RUN_RECORDING_H_
#define HLO_DRIVER_RUN_RECORDING_H_

#include <string>

#include "driver/run/run.h"

namespace hlo {

// If the file at `path` is a snapshot, takes its arguments and its result as expected result, unless the options name
// others. If a flag gives other arguments, the result is not used. Ignores stdin, pipes and unreadable files.
void TakeRecording(const std::string& path, RunOptions* options);
// Like TakeRecording, but takes only the arguments.
void TakeRecordedArguments(const std::string& path, RunOptions* options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RECORDING_H_
