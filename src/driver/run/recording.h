// Recorded runs: the module of a snapshot runs on the arguments in it and is compared with the result in it.
#ifndef HLO_DRIVER_RUN_RECORDING_H_
#define HLO_DRIVER_RUN_RECORDING_H_

#include <string>

#include "driver/run/run.h"

namespace hlo {

// Makes the module's file the source of the arguments and of the expected results, if it is a snapshot that has them
// and the options name no others. The result is used only together with all recorded arguments. Does nothing for stdin,
// pipes and unreadable files. Loading the module reports such errors.
void TakeRecording(const std::string& path, RunOptions* options);
// The same for the arguments only.
void TakeRecordedArguments(const std::string& path, RunOptions* options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RECORDING_H_
