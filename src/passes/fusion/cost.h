// The cost of a group of instructions as one kernel.
#ifndef HLO_PASSES_FUSION_COST_H_
#define HLO_PASSES_FUSION_COST_H_

#include "ir/analysis/cost.h"

namespace hlo {

struct GroupCost {
  double bytes_read = 0, bytes_written = 0;  // Excludes values passed within the group.
  double work = 0;                           // Number of additions, with repetitions.

  double bytes() const { return bytes_read + bytes_written; }
  // Memory traffic and arithmetic overlap with each other but not with the launch.
  double Seconds(const DeviceDescription& device) const {
    const Cost cost{.scalar_work = work, .bytes_read = bytes_read, .bytes_written = bytes_written};
    return device.launch_seconds + RooflineOf(cost, device).Seconds();
  }
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_COST_H_
