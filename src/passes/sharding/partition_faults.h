// Faults of spmd-partitioning, with which --inject tests the judges.
#ifndef HLO_PASSES_SHARDING_PARTITION_FAULTS_H_
#define HLO_PASSES_SHARDING_PARTITION_FAULTS_H_

#include <string_view>

#include "ir/module.h"

namespace hlo {

// Plants the fault in the first instruction that it fits. Ignores other names.
void PlantPartitionFault(Module& module, std::string_view fault);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PARTITION_FAULTS_H_
