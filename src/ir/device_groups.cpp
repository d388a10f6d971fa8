#include "ir/device_groups.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Devices of a group differ only along `value.axes`. Positions along the first axis vary slowest.
std::vector<std::vector<int64_t>> GroupsAlong(const MeshGroups& value) {
  const Mesh& mesh = value.mesh;
  const std::vector<int64_t> devices = Listed(mesh.devices);
  std::vector<int64_t> steps(mesh.axes.size(), 1);
  for (size_t axis = mesh.axes.size(); axis-- > 1;) steps[axis - 1] = steps[axis] * mesh.axes[axis].size;
  std::map<int64_t, std::map<int64_t, int64_t>> groups;
  for (size_t i = 0; i < devices.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), along = 0;
    for (const AxisRef& ref : value.axes) {
      const int64_t size = mesh.SizeOf(ref), whole = mesh.axes[ref.axis].size;
      const int64_t step = steps[ref.axis] * (whole / (ref.size == 0 ? whole : ref.before * size));
      const int64_t digit = static_cast<int64_t>(i) / step % size;
      along = along * size + digit;
      rest -= digit * step;
    }
    groups[rest][along] = devices[i];
  }
  std::vector<std::vector<int64_t>> listed;
  for (const auto& [rest, members] : groups) {
    std::vector<int64_t>& group = listed.emplace_back();
    for (const auto& [along, device] : members) group.push_back(device);
  }
  return listed;
}

}  // namespace

GroupMode GroupModeOf(const Instruction& inst) {
  const CollectiveAttrs& a = inst.attrs<CollectiveAttrs>();
  if (!a.channel_id) return GroupMode::kCrossReplica;
  if (inst.Is(Opcode::kAllToAll) || inst.Is(Opcode::kCollectiveBroadcast) || inst.Is(Opcode::kRaggedAllToAll))
    return GroupMode::kCrossPartition;
  return a.use_global_device_ids ? GroupMode::kFlattenedId : GroupMode::kCrossReplicaAndPartition;
}

int64_t IdsOf(int64_t replicas, int64_t partitions, GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossPartition: return partitions;
    case GroupMode::kFlattenedId: return CountDevices(std::vector{replicas, partitions});
    default: return replicas;
  }
}

std::vector<std::vector<int64_t>> ListGroups(const ReplicaGroups& value) {
  if (const auto* listed = std::get_if<0>(&value.groups)) return *listed;
  if (const auto* along = std::get_if<MeshGroups>(&value.groups)) return GroupsAlong(*along);
  const IotaGroups& rows = std::get<IotaGroups>(value.groups);
  const std::vector<int64_t> devices = Listed(rows.devices);
  std::vector<std::vector<int64_t>> groups;
  for (int64_t i = 0; i < rows.count; ++i)
    groups.emplace_back(devices.begin() + i * rows.size, devices.begin() + (i + 1) * rows.size);
  return groups;
}

namespace {

// The number of ids in each group, 0 for {} (all ids), or nullopt if it differs.
std::optional<int64_t> IdsOfEachGroup(const ReplicaGroups& value) {
  if (const auto* iota = std::get_if<IotaGroups>(&value.groups)) return iota->size;
  if (const auto* along = std::get_if<MeshGroups>(&value.groups)) {
    std::vector<int64_t> sizes;
    for (const AxisRef& axis : along->axes) sizes.push_back(along->mesh.SizeOf(axis));
    return CountDevices(sizes);
  }
  const auto& listed = std::get<0>(value.groups);
  for (const std::vector<int64_t>& group : listed) {
    if (group.size() != listed[0].size()) return std::nullopt;
  }
  return listed.empty() ? 0 : std::ssize(listed[0]);
}

}  // namespace

std::optional<int64_t> GroupSizeOf(const Instruction& inst) {
  auto ids = IdsOfEachGroup(inst.attrs<CollectiveAttrs>().replica_groups);
  if (!ids) return std::nullopt;
  const ModuleHeader& header = inst.module().header;
  const bool is_all = *ids == 0;
  switch (GroupModeOf(inst)) {
    case GroupMode::kCrossReplica: return is_all ? header.replica_count : *ids;
    case GroupMode::kCrossPartition: return is_all ? header.num_partitions : *ids;
    case GroupMode::kCrossReplicaAndPartition: return (is_all ? header.replica_count : *ids) * header.num_partitions;
    case GroupMode::kFlattenedId: return is_all ? header.replica_count * header.num_partitions : *ids;
  }
  return std::nullopt;
}

int64_t DevicesNamed(const Instruction& inst) {
  const auto most = [](std::span<const std::vector<int64_t>> lists) {
    int64_t named = 0;
    for (const auto& list : lists) {
      for (const int64_t id : list) named = std::max(named, std::min(id, INT64_MAX - 1) + 1);
    }
    return named;
  };
  if (const auto* permute = inst.attributes().GetIf<PermuteAttrs>()) return most(permute->source_target_pairs);
  const auto* collective = inst.attributes().GetIf<CollectiveAttrs>();
  if (collective == nullptr) return 0;
  const auto& groups = collective->replica_groups.groups;
  if (const auto* iota = std::get_if<IotaGroups>(&groups)) return CountDevices(std::vector{iota->count, iota->size});
  if (const auto* along = std::get_if<MeshGroups>(&groups)) return along->mesh.DeviceCount();
  return most(std::get<0>(groups));
}

DevicePairs ReadDevicePairs(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    const size_t end = std::min(text.find_first_not_of("0123456789", i), text.size());
    int64_t number = 0;
    if (ParseInt(text.substr(i, end - i), &number)) numbers.push_back(number);
    i = end;
  }
  DevicePairs pairs;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) pairs.emplace_back(numbers[i], numbers[i + 1]);
  return pairs;
}

}  // namespace hlo
