// Recorded runs: the module of a snapshot runs on the arguments in it and is compared with the result in it.
#ifndef HLO_DRIVER_RUN_RECORDING_H_
#define HLO_DRIVER_RUN_RECORDING_H_

#include <string>

#include "driver/run/run.h"

namespace hlo {

// Makes the module's file the source of the arguments and of the expected results, where it is a snapshot that has them
// and the options do not name others. The result is taken only with all of the arguments. Nothing changes for stdin,
// for pipes, and for files that cannot be read; loading the module reports the error.
void TakeRecording(const std::string& path, RunOptions* options);
// The same for the arguments alone.
void TakeRecordedArguments(const std::string& path, RunOptions* options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RECORDING_H_
