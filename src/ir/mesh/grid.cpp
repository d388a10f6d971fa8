#include "ir/mesh/grid.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "ir/device_groups.h"
#include "ir/markers.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kMostDevices = 1 << 16;

Error GroupError(const Instruction& inst, std::string message) {
  return ErrorAt(inst, "R040", std::move(message), ExitCode::kNo);
}

GroupMode ModeOf(const Instruction& inst) {
  if (EndsManualRegion(inst)) return GroupMode::kCrossPartition;
  const auto* permute = inst.attributes().GetIf<PermuteAttrs>();
  if (permute == nullptr) return GroupModeOf(inst);
  return permute->channel_id ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
}

std::string_view NounOf(GroupMode mode) {
  return mode == GroupMode::kCrossPartition ? "partition" : mode == GroupMode::kFlattenedId ? "device" : "replica";
}

// The devices of each list of ids, as one group, or as one group for each partition or replica.
std::vector<std::vector<int>> OnDevices(std::span<const std::vector<int64_t>> lists, GroupMode mode,
                                        const DeviceGrid& grid) {
  std::vector<std::vector<int>> groups;
  const auto add = [&](const std::vector<int64_t>& ids, auto&& device_of) {
    std::vector<int>& group = groups.emplace_back();
    for (const int64_t id : ids) group.push_back(static_cast<int>(device_of(id)));
  };
  for (const std::vector<int64_t>& ids : lists) {
    switch (mode) {
      case GroupMode::kCrossReplica:
        for (int64_t p = 0; p < grid.partitions; ++p) add(ids, [&](int64_t r) { return r * grid.partitions + p; });
        break;
      case GroupMode::kCrossPartition:
        for (int64_t r = 0; r < grid.replicas; ++r) add(ids, [&](int64_t p) { return r * grid.partitions + p; });
        break;
      case GroupMode::kCrossReplicaAndPartition: {
        std::vector<int64_t> all;
        for (const int64_t r : ids) {
          for (int64_t p = 0; p < grid.partitions; ++p) all.push_back(r * grid.partitions + p);
        }
        add(all, [](int64_t device) { return device; });
        break;
      }
      case GroupMode::kFlattenedId: add(ids, [](int64_t device) { return device; }); break;
    }
  }
  return groups;
}

// Groups of ids that pairs connect, directly or indirectly, in ascending order.
std::vector<std::vector<int64_t>> Connected(const ListOfLists& pairs, int64_t ids) {
  std::vector<int64_t> leader(ids);
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](int64_t id) {
    while (leader[id] != id) id = leader[id] = leader[leader[id]];
    return id;
  };
  std::vector<bool> named(ids, false);
  for (const std::vector<int64_t>& pair : pairs) {
    named[pair[0]] = named[pair[1]] = true;
    leader[find(pair[1])] = find(pair[0]);
  }
  std::vector<std::vector<int64_t>> by_leader(ids), connected;
  for (int64_t id = 0; id < ids; ++id) {
    if (named[id]) by_leader[find(id)].push_back(id);
  }
  for (std::vector<int64_t>& list : by_leader) {
    if (!list.empty()) connected.push_back(std::move(list));
  }
  return connected;
}

bool MayStayAway(Opcode opcode) {
  return opcode == Opcode::kCollectiveBroadcast || opcode == Opcode::kCollectivePermute ||
         opcode == Opcode::kCollectivePermuteStart;
}

}  // namespace

std::string DeviceGrid::Name(std::span<const int> devices) const {
  constexpr size_t kMostNames = 12;
  std::string out = Str(noun(), devices.size() == 1 ? " " : "s ");
  if (devices.size() <= kMostNames) return out + Join(devices, ", ");
  return Str(out, Join(devices.first(kMostNames - 1), ", "), " and ", devices.size() - kMostNames + 1, " more");
}

Result<DeviceGrid> GridOf(const Module& module) {
  const DeviceGrid grid = {module.header.replica_count, module.header.num_partitions};
  if (grid.replicas < 1 || grid.partitions < 1) {
    FAIL(Rejected("R040", Str("replica_count=", grid.replicas, " and num_partitions=", grid.partitions,
                              ": both must be at least 1 (--num_replicas, --num_partitions)")));
  }
  if (grid.replicas > kMostDevices || grid.partitions > kMostDevices || grid.count() > kMostDevices) {
    FAIL(LimitError("R004", Str(grid.replicas, " replicas of ", grid.partitions, " partitions are more than ",
                                kMostDevices, " devices (--num_replicas, --num_partitions)")));
  }
  return grid;
}

Result<DeviceGroups> GroupsAt(const Instruction& inst, const DeviceGrid& grid) {
  const GroupMode mode = ModeOf(inst);
  const int64_t ids = IdsOf(grid.replicas, grid.partitions, mode);
  const std::string_view noun = NounOf(mode);
  if (const int64_t named = DevicesNamed(inst); named > ids) {
    Error error = GroupError(inst, Str("'", inst.name(), "' names ", noun, " ", named - 1, ", but there ",
                                       ids == 1 ? "is " : "are ", ids, " ", noun, ids == 1 ? "" : "s"));
    const std::string_view flag = noun == "partition" ? "num_partitions=" : "num_replicas=";
    return std::unexpected(std::move(error).Advise(Str(flag, named), "runs the module on that many"));
  }
  std::vector<std::vector<int64_t>> lists;
  if (const auto* permute = inst.attributes().GetIf<PermuteAttrs>()) {
    for (const std::vector<int64_t>& pair : permute->source_target_pairs) {
      if (pair.size() != 2 || pair[0] < 0 || pair[1] < 0)
        FAIL(GroupError(inst, Str("'", inst.name(), "' has a source-target pair that is not two ids of 0 or more")));
    }
    lists = Connected(permute->source_target_pairs, ids);
  } else {
    if (const auto* collective = inst.attributes().GetIf<CollectiveAttrs>())
      lists = ListGroups(collective->replica_groups);
    if (lists.empty()) {
      lists.emplace_back(ids);
      std::iota(lists[0].begin(), lists[0].end(), 0);
    }
  }
  DeviceGroups result;
  result.group_of.assign(grid.count(), -1);
  for (const std::vector<int64_t>& list : lists) {
    if (std::ranges::any_of(list, [](int64_t id) { return id < 0; }))
      FAIL(GroupError(
          inst, Str("'", inst.name(), "' names ", noun, " ", *std::ranges::min_element(list), ", expected 0 or more")));
  }
  result.groups = OnDevices(lists, mode, grid);
  for (size_t i = 0; i < result.groups.size(); ++i) {
    for (const int device : result.groups[i]) {
      if (result.group_of[device] >= 0)
        FAIL(GroupError(inst, Str("'", inst.name(), "' names ", grid.Name({&device, 1}), " twice")));
      result.group_of[device] = static_cast<int>(i);
    }
  }
  if (MayStayAway(inst.opcode())) return result;
  for (int device = 0; device < grid.count(); ++device) {
    if (result.group_of[device] >= 0) continue;
    FAIL(GroupError(inst, Str(grid.Name({&device, 1}), " is in no group of '", inst.name(), "'")));
  }
  return result;
}

}  // namespace hlo
