// Where a manual region of a partitioned program begins and ends (shard_map and its like): outside of it every
// partition holds whole values, as the text has them, inside its own part of each. Internal to interp/, but for the
// count of partitions.
//
// What XLA's partitioner makes of the rest changes where values lie and not what they are, so that whole values
// everywhere have the meaning of the program: outside of manual regions all partitions compute the same.
//
// Which part a partition has is told by the sharding of the whole value: that of the operand where a region begins and
// of the instruction itself where it ends, or Shardy's text in its frontend attributes. A dimension may be split
// further than its shards are small: those axes are not manual, the region sees them whole, and they are the minor ones
// (Shardy requires it; JAX writes no others). Where a dimension does not divide, the last parts are filled with zeros.
#ifndef HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
#define HLO_INTERP_DEVICES_MANUAL_REGIONS_H_

#include <span>
#include <vector>

#include "interp/devices/collectives.h"

namespace hlo {

// The value of Marker::kShard on one partition. Errors [U007]: one partition alone, or a sharding that does not split
// the whole into such parts among those there are.
Result<Literal> BeginManualRegion(Evaluation& e);

// The values of Marker::kWhole for all partitions of a replica, from their parts. What partitions hold in common is
// taken by each from its own kind: those that differ from it where the sharding splits, and nowhere else.
Result<std::vector<Literal>> EndManualRegion(Gathering& gathering);

// Ends a region whose parts have to be put together.
bool EndsManualRegion(const Instruction& inst);

// How many partitions the first manual region of the module is for, by its sharding; 0: there is none, or it does not
// say.
int64_t PartitionsOfManualRegions(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
