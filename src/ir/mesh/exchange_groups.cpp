#include "ir/mesh/exchange_groups.h"

#include <algorithm>

#include "ir/device_groups.h"
#include "ir/module.h"

namespace hlo {
namespace {

int64_t RoundedUp(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

// nullopt if the groups are irregular.
std::optional<std::vector<Digit>> DigitsOf(const ReplicaGroups& value, int64_t ids) {
  if (const auto* along = std::get_if<MeshGroups>(&value.groups)) {
    const auto axes = DigitsOf(along->mesh, along->mesh.devices);
    if (!axes) return std::nullopt;
    std::vector<Digit> digits;
    for (const AxisRef& ref : along->axes) {
      const auto own = DigitsOf(ref, along->mesh, *axes);
      if (!own) return std::nullopt;
      digits.insert(digits.end(), own->begin(), own->end());
    }
    return digits;
  }
  IotaGroups rows = {1, ids, CountingOrder(ids)};
  if (const auto* iota = std::get_if<IotaGroups>(&value.groups)) rows = *iota;
  if (const auto* listed = std::get_if<0>(&value.groups); listed != nullptr && !listed->empty()) {
    rows = {std::ssize(*listed), std::ssize(listed->front()), {}};
    for (const std::vector<int64_t>& group : *listed) {
      if (std::ssize(group) != rows.size) return std::nullopt;
      rows.devices.listed.insert(rows.devices.listed.end(), group.begin(), group.end());
    }
  }
  auto digits = DigitsAlong(rows.devices, std::vector{rows.count, rows.size});
  if (!digits) return std::nullopt;
  return std::move((*digits)[1]);
}

// The number of units of `unit` devices over which the members of one digit are spread.
int64_t UnitsOf(int64_t members, int64_t stride, int64_t unit) {
  if (stride >= unit) return members;
  const int64_t span = stride * members;
  if (span <= unit) return unit % span == 0 ? 1 : std::min<int64_t>(members, 2);
  return std::min(members, RoundedUp(span, unit));
}

}  // namespace

int64_t ExchangeGroups::Members() const {
  int64_t members = 1;
  for (const Digit& digit : digits) members *= digit.size;
  for (const std::vector<int64_t>& group : listed) members = std::max(members, std::ssize(group));
  return members;
}

std::vector<int64_t> ExchangeGroups::MembersAtLevels(const Topology& topology) const {
  std::vector<int64_t> members(topology.levels.size(), 1);
  for (const Digit& digit : digits) {
    int64_t left = digit.size, stride = digit.stride, unit = 1;
    for (size_t i = 0; i < members.size() && left > 1; ++i) {
      unit *= topology.levels[i].size;
      const int64_t units = i + 1 == members.size() ? 1 : UnitsOf(left, stride, unit);
      members[i] *= RoundedUp(left, units);
      left = units;
      stride = std::max(stride, unit);
    }
  }
  for (std::vector<int64_t> units : listed) {
    for (size_t i = 0; i < members.size(); ++i) {
      std::ranges::sort(units);
      const auto repeated = std::ranges::unique(units);
      units.erase(repeated.begin(), repeated.end());
      std::vector<int64_t> outer;
      for (const int64_t unit : units) outer.push_back(unit / topology.levels[i].size);
      int64_t run = 0;
      for (size_t k = 0; k < outer.size(); ++k) {
        run = k > 0 && outer[k] == outer[k - 1] ? run + 1 : 1;
        members[i] = std::max(members[i], run);
      }
      units = std::move(outer);
    }
  }
  return members;
}

ExchangeGroups ExchangeGroups::Grown(int64_t devices, int64_t times) const {
  ExchangeGroups grown = *this;
  for (Digit& digit : grown.digits) {
    if (digit.stride * digit.size == devices) digit.size *= times;
  }
  return grown;
}

ExchangeGroups ExchangeGroupsOf(const Instruction& inst) {
  const ModuleHeader& header = inst.module().header;
  ExchangeGroups groups;
  GroupMode mode = GroupMode::kCrossReplica;
  if (const auto* permute = inst.attributes().GetIf<PermuteAttrs>()) {
    if (permute->channel_id) mode = GroupMode::kCrossPartition;
    groups.listed = permute->source_target_pairs;
  } else {
    mode = GroupModeOf(inst);
    const ReplicaGroups& written = inst.attrs<CollectiveAttrs>().replica_groups;
    if (auto digits = DigitsOf(written, IdsOf(header.replica_count, header.num_partitions, mode)))
      groups.digits = std::move(*digits);
    else groups.listed = ListGroups(written);
  }
  if (mode == GroupMode::kCrossPartition || mode == GroupMode::kFlattenedId) return groups;
  // The ids are replicas. A group has one partition of each replica, or all of them.
  for (Digit& digit : groups.digits) digit.stride *= header.num_partitions;
  for (std::vector<int64_t>& group : groups.listed) {
    std::vector<int64_t> devices;
    const int64_t partitions = mode == GroupMode::kCrossReplicaAndPartition ? header.num_partitions : 1;
    for (const int64_t replica : group) {
      for (int64_t p = 0; p < partitions; ++p) devices.push_back(replica * header.num_partitions + p);
    }
    group = std::move(devices);
  }
  if (mode == GroupMode::kCrossReplicaAndPartition && groups.listed.empty() && header.num_partitions > 1)
    groups.digits.push_back({header.num_partitions, 1});
  return groups;
}

int64_t DevicesOf(const Module& module) {
  const ModuleHeader& header = module.header;
  int64_t devices = CountDevices(
      std::vector{std::max<int64_t>(header.replica_count, 1), std::max<int64_t>(header.num_partitions, 1)});
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) devices = std::max(devices, DevicesNamed(*inst));
  }
  return devices;
}

}  // namespace hlo
