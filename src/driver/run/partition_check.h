// The oracle `partition`: interprets the program of one device on all devices, and compares the joined results with
// those of the unpartitioned module.
#ifndef HLO_DRIVER_RUN_PARTITION_CHECK_H_
#define HLO_DRIVER_RUN_PARTITION_CHECK_H_

#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Sets report->partition if the module states a split of an array over its partitions. A note tells why such a module
// was not judged. A wrong program makes its pass the culprit, unless another part is wrong.
Status JudgePartition(Experiment& experiment, RunReport* report);
std::string ToString(const PartitionSummary& partition);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PARTITION_CHECK_H_
