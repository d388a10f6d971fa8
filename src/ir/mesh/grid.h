// The devices of a module, and the groups of devices that communicate in a collective. See docs/ops.md#collectives.
//
// Devices are numbered replica * partitions + partition.
#ifndef HLO_IR_MESH_GRID_H_
#define HLO_IR_MESH_GRID_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

class Instruction;
class Module;

struct DeviceGrid {
  int64_t replicas = 1, partitions = 1;

  int64_t count() const { return replicas * partitions; }
  // For messages.
  std::string_view noun() const { return partitions == 1 ? "replica" : replicas == 1 ? "partition" : "device"; }
  // "replica 2", "replicas 0, 2, 3"
  std::string Name(std::span<const int> devices) const;
};

// Errors: R004 for more than kMostDevices, R040 for counts below 1.
Result<DeviceGrid> GridOf(const Module& module);

struct DeviceGroups {
  std::vector<std::vector<int>> groups;  // Devices in order of participation.
  // Indexed by device; -1 for a device that is in no group and gets the value of AloneAt.
  std::vector<int> group_of;
};
// The groups of a collective; for collective-permute, the devices connected by pairs. Errors (R040): unknown devices,
// duplicates, or a missing device where all must participate.
Result<DeviceGroups> GroupsAt(const Instruction& inst, const DeviceGrid& grid);

}  // namespace hlo

#endif  // HLO_IR_MESH_GRID_H_
