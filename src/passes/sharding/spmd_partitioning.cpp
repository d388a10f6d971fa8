// spmd-partitioning: makes the program of one device.
#include "base/log.h"
#include "passes/pass.h"
#include "passes/sharding/partition_faults.h"
#include "passes/sharding/partitioner.h"
#include "passes/sharding/propagation.h"

namespace hlo {

Result<bool> PartitionProgram(Module& module, const PassContext& context) {
  if (module.header.num_partitions <= 1 || !IsUnpartitioned(module)) return false;
  Partitioner partitioner(module);
  TRY(partitioner.Run());
  for (const std::string& text : partitioner.gathered()) VLOG(1, "gathered whole: ", text);
  PlantPartitionFault(module, context.fault);
  return true;
}

}  // namespace hlo
