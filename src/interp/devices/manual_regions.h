// Manual regions of partitioned programs, such as shard_map. Partitions have whole values outside a region, and parts
// inside it.
//
// Shardy's text in the frontend attributes determines the parts. Without it, the sharding of the operand at the start
// of a region does, and the sharding of the instruction at its end. A dimension may be split into more parts than the
// region's shapes show: the additional minor axes are not manual, and the region sees them whole. Last parts are padded
// with zeros.
#ifndef HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
#define HLO_INTERP_DEVICES_MANUAL_REGIONS_H_

#include <span>
#include <vector>

#include "interp/devices/collectives.h"

namespace hlo {

// The value of Marker::kShard on one partition. Errors (U007): there is only one partition, or the sharding does not
// split the whole into such parts.
Result<Literal> BeginManualRegion(Evaluation& e);

// The values of Marker::kWhole for all partitions of a replica. A partition joins the parts of partitions that differ
// from it only along split axes.
Result<std::vector<Literal>> EndManualRegion(Gathering& gathering);

// The number of partitions of the module's first manual region according to its sharding. 0 without a region, or if the
// sharding is unknown.
int64_t PartitionsOfManualRegions(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_MANUAL_REGIONS_H_
