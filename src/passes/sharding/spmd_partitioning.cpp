// spmd-partitioning: makes the program of one device.
#include <algorithm>

#include "base/counted.h"
#include "base/log.h"
#include "base/text.h"
#include "passes/pass.h"
#include "passes/sharding/partition_faults.h"
#include "passes/sharding/partitioner.h"
#include "passes/sharding/propagation.h"

namespace hlo {

Result<bool> PartitionProgram(Module& module, const PassContext& context) {
  if (module.header.num_partitions <= 1 || !IsUnpartitioned(module)) return false;
  const uint64_t before = Fingerprint(module);
  Partitioner partitioner(module, context.Get<PartitioningOptions>());
  TRY(partitioner.Run());
  const std::vector<Partitioner::Gather>& gathered = partitioner.gathered();
  for (const Partitioner::Gather& gather : gathered) VLOG(1, "gathered whole: ", gather.text);
  if (!gathered.empty()) {
    context.Note(Str("each device gathers ", Counted(std::ssize(gathered), "whole array"),
                     " that no sharding states; the largest is ",
                     std::ranges::max_element(gathered, {}, &Partitioner::Gather::bytes)->text));
  }
  PlantPartitionFault(module, context.fault);
  return Fingerprint(module) != before;
}

}  // namespace hlo
