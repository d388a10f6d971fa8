// What collectives mean: which devices exchange values, and what each of them gets. Plain functions of the operands of
// all; who waits for whom is the business of meetings.h. docs/ops.md#collectives. Internal to
// interp/, but for who takes part, which passes ask too.
//
// Devices are numbered replica * partitions + partition. Sums fold in the order of the group, so that they have the
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
  // What a device is called: "replica" when that tells them apart, or "partition", or "device".
  std::string_view noun() const { return partitions == 1 ? "replica" : replicas == 1 ? "partition" : "device"; }
  // "replica 2"; "replicas 0, 2, 3".
  std::string Name(std::span<const int> devices) const;
};

// Of a module of at most kMostDevices. Errors: [R004] more; [R040] counts below 1.
Result<DeviceGrid> GridOf(const Module& module);

struct DeviceGroups {
  std::vector<std::vector<int>> groups;  // Devices in the order in which they take part.
  std::vector<int> group_of;             // By device; -1: it takes no part, and gets what AloneAt says.
};
// Who takes part together in a collective. For collective-permute: who is connected by pairs. Errors [R040]: devices
// that are not there, twice in the groups, or in none where all must be.
Result<DeviceGroups> GroupsAt(const Instruction& inst, const DeviceGrid& grid);

// One group that has come together.
struct Gathering {
  const Instruction& inst;
  const DeviceGrid& grid;
  std::span<const int> devices;
  std::span<std::vector<Literal>> operands;  // By place in the group.
  Session& session;
};
// The value of each member. Errors: [R040] the group does not fit the shapes as written, or has no such root; [R041]
// rows of a ragged-all-to-all that are not there or not agreed on.
Result<std::vector<Literal>> Exchange(Gathering& gathering);

// A box of `from` into a place of `to`, of the same rank and type.
void CopyBox(const Literal& from, std::span<const int64_t> from_start, Literal& to, std::span<const int64_t> to_start,
             std::span<const int64_t> sizes);

// The value of a device that takes no part: zeros; in place, the output as it was.
Literal AloneAt(const Instruction& inst, std::span<const Literal> operands);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_COLLECTIVES_H_
