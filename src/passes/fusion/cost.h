// What a group of instructions would cost as one kernel, from what it reads, writes and computes.
#ifndef HLO_PASSES_FUSION_COST_H_
#define HLO_PASSES_FUSION_COST_H_

#include <algorithm>

#include "ir/device_description.h"

namespace hlo {

struct GroupCost {
  double bytes_read = 0, bytes_written = 0;  // From and to memory; what stays within the group is in neither.
  double work = 0;                           // In adds; what is computed again counts again.

  double bytes() const { return bytes_read + bytes_written; }
  // A roofline: memory and arithmetic overlap, the launch does not.
  double Seconds(const DeviceDescription& device) const {
    return device.launch_seconds + std::max(bytes() / device.memory_rate, work / device.instruction_rate);
  }
};

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_COST_H_
