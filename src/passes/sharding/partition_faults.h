// Faults of spmd-partitioning, which --inject plants to test whether the judges find them.
#ifndef HLO_PASSES_SHARDING_PARTITION_FAULTS_H_
#define HLO_PASSES_SHARDING_PARTITION_FAULTS_H_

#include <string_view>

#include "ir/module.h"

namespace hlo {

// Plants the fault in the first instruction that it fits. Does nothing for other names.
void PlantPartitionFault(Module& module, std::string_view fault);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PARTITION_FAULTS_H_
