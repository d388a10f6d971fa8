// Manual regions of partitioned programs (shard_map and similar). Outside a region every partition has whole values, as
// in the text, and inside it has its part. Internal to interp/, except for the count of partitions.
//
// XLA's partitioner changes only the placement of values, so the program has the same meaning if all partitions compute
// whole values outside manual regions.
//
// The sharding of the whole value determines the part of each partition. It is the sharding of the operand at the start
// of a region, and of the instruction itself at its end, or Shardy's text in the frontend attributes. A dimension may
// be split into more parts than the region's shapes show. The additional axes are not manual: the region sees them
// whole. They are the minor axes, as Shardy requires. If a dimension is not divisible, the last parts are padded with
// zeros.
#ifndef HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
#define HLO_INTERP_DEVICES_MANUAL_REGIONS_H_

#include <span>
#include <vector>

#include "interp/devices/collectives.h"

namespace hlo {

// The value of Marker::kShard on one partition. Errors (U007): there is only one partition, or the sharding does not
// split the whole into such parts among the partitions.
Result<Literal> BeginManualRegion(Evaluation& e);

// The values of Marker::kWhole for all partitions of a replica, from their parts. A partition joins the parts of the
// partitions that differ from it only along the axes that the sharding splits.
Result<std::vector<Literal>> EndManualRegion(Gathering& gathering);

// The number of partitions of the module's first manual region according to its sharding; 0 if there is none or it is
// unknown.
int64_t PartitionsOfManualRegions(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
