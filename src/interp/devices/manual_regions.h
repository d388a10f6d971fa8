// Manual regions of partitioned programs, such as shard_map. Partitions have whole values outside a region, and parts
// inside it.
//
// The parts follow from Shardy's text in the frontend attributes, or from the sharding of the operand at the start of a
// region and of the instruction at its end. A dimension may have more parts than the region's shapes show: further
// minor axes are not manual, and the region sees them whole. Last parts are padded with zeros.
#ifndef HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
#define HLO_INTERP_DEVICES_MANUAL_REGIONS_H_

#include <span>
#include <vector>

#include "interp/devices/collectives.h"

namespace hlo {

// The value of Marker::kShard on one partition. Errors (U007): the partition runs alone, or the sharding does not give
// parts of the result's shape.
Result<Literal> BeginManualRegion(Evaluation& e);

// The values of Marker::kWhole for all partitions of a replica. Each joins the parts of the partitions that differ from
// its own only along split axes.
Result<std::vector<Literal>> EndManualRegion(Gathering& gathering);

// Number of partitions in the sharding of the module's first manual region. 0 without a region or a known sharding.
int64_t PartitionsOfManualRegions(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
