// The semantics of collectives: the groups of devices, and the value of each member, as pure functions of all operands.
// rendezvous.h handles waiting. See docs/ops.md#collectives. Internal to interp/, except for GroupsAt, which passes
// use.
//
// Devices are numbered replica * partitions + partition. Sums are computed in the order of the group, so they have the
// same bits everywhere.
#ifndef HLO_INTERP_DEVICES_COLLECTIVES_H_
#define HLO_INTERP_DEVICES_COLLECTIVES_H_

#include <span>
#include <string>
#include <vector>

#include "interp/evaluation.h"

namespace hlo {

struct DeviceGrid {
  int64_t replicas = 1, partitions = 1;

  int64_t count() const { return replicas * partitions; }
  // The word for a device: "replica" or "partition" if that identifies it, else "device".
  std::string_view noun() const { return partitions == 1 ? "replica" : replicas == 1 ? "partition" : "device"; }
  // Such as "replica 2" or "replicas 0, 2, 3".
  std::string Name(std::span<const int> devices) const;
};

// The grid of a module. Errors: R004 for more than kMostDevices, R040 for counts below 1.
Result<DeviceGrid> GridOf(const Module& module);

struct DeviceGroups {
  std::vector<std::vector<int>> groups;  // Devices in order of participation.
  // Indexed by device; -1 if it is in no group and gets the value of AloneAt.
  std::vector<int> group_of;
};
// The groups of a collective; for collective-permute, the devices connected by pairs. Errors (R040): unknown devices,
// duplicates, or a missing device where all must participate.
Result<DeviceGroups> GroupsAt(const Instruction& inst, const DeviceGrid& grid);

// A complete group.
struct Gathering {
  const Instruction& inst;
  const DeviceGrid& grid;
  std::span<const int> devices;
  std::span<std::vector<Literal>> operands;  // Indexed by position in the group.
  Session& session;
};
// The value of each member. Errors: R040 if the group does not fit the written shapes or has no such root; R041 if rows
// of a ragged-all-to-all are out of range or inconsistent.
Result<std::vector<Literal>> Exchange(Gathering& gathering);

// Copies a box of `from` to a position in `to`, which has the same rank and type.
void CopyBox(const Literal& from, std::span<const int64_t> from_start, Literal& to, std::span<const int64_t> to_start,
             std::span<const int64_t> sizes);

// The value of a device in no group: zeros, or the unchanged output for in-place ops.
Literal AloneAt(const Instruction& inst, std::span<const Literal> operands);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_COLLECTIVES_H_
