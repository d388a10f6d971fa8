// Recorded runs: the module of a snapshot runs on the recorded arguments and is compared with the recorded result.
#ifndef HLO_DRIVER_RUN_RECORDING_H_
#define HLO_DRIVER_RUN_RECORDING_H_

#include <string>

#include "driver/run/run.h"

namespace hlo {

// Makes a snapshot the source of the arguments and of the expected results, unless the options name others. The result
// is not used if a flag gives other arguments. Ignores stdin, pipes and unreadable files.
void TakeRecording(const std::string& path, RunOptions* options);
// Takes only the arguments.
void TakeRecordedArguments(const std::string& path, RunOptions* options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RECORDING_H_
