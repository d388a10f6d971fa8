// The cost of a group of instructions as one kernel.
#ifndef HLO_PASSES_FUSION_COST_H_
#define HLO_PASSES_FUSION_COST_H_

#include <algorithm>

#include "ir/device_description.h"

namespace hlo {

struct GroupCost {
  double bytes_read = 0, bytes_written = 0;  // Excludes values passed within the group.
  double work = 0;                           // Number of additions, with repetitions.

  double bytes() const { return bytes_read + bytes_written; }
  // Memory traffic and arithmetic overlap with each other but not with the launch.
  double Seconds(const DeviceDescription& device) const {
    return device.launch_seconds + std::max(bytes() / device.memory_rate, work / device.instruction_rate);
  }
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_COST_H_
