// A snapshot's module runs on its arguments and is compared with its result.
#ifndef HLO_DRIVER_RUN_RECORDING_H_
#define HLO_DRIVER_RUN_RECORDING_H_

#include <string>

#include "driver/run/run.h"

namespace hlo {

// If the file is a snapshot, takes its arguments and its result, unless the options name others. With other arguments,
// the result is not used. Ignores stdin, pipes and unreadable files.
void TakeRecording(const std::string& path, RunOptions* options);
// Like TakeRecording, but takes only the arguments.
void TakeRecordedArguments(const std::string& path, RunOptions* options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RECORDING_H_
