// Sharding and device groups in protocol buffers.
#include <string>
#include <vector>

#include "base/text.h"
#include "parser/proto_rows.h"
#include "parser/proto_values.h"

namespace hlo {
namespace {

// "[2,4]T(1,0)" or "[8]".
std::string IotaText(const std::vector<int64_t>& reshape, const std::vector<int64_t>& permutation) {
  return Str("[", Join(reshape, ","), "]", reshape.size() > 1 ? Str("T(", Join(permutation, ","), ")") : "");
}

std::string MeshText(const WireMessage& mesh) {
  using M = proto::MeshProto;
  std::vector<std::string> axes;
  for (const WireMessage& axis : mesh.Messages(M::axes))
    axes.push_back(Str("'", WordText(axis.Bytes(proto::MeshAxis::name)), "'=", axis.Int(proto::MeshAxis::size)));
  std::string text = Str("mesh[", Join(axes, ","), "]");
  const std::vector<int64_t> ids = mesh.Ints(M::device_ids);
  const WireMessage iota = mesh.Message(M::iota_transform);
  const std::vector<int64_t> reshape = iota.Ints(proto::IotaTransform::reshape_dims);
  if (!ids.empty()) text += Str(", device_ids=(", Join(ids, ","), ")");
  if (!reshape.empty())
    text += Str(", device_ids=(", IotaText(reshape, iota.Ints(proto::IotaTransform::transpose_perm)), ")");
  return text;
}

std::string AxesText(const std::vector<WireMessage>& axes, const WireMessage& mesh) {
  const std::vector<WireMessage> names = mesh.Messages(proto::MeshProto::axes);
  std::vector<std::string> parts;
  for (const WireMessage& axis : axes) {
    using A = proto::AxisRefProto;
    const int64_t index = axis.Int(A::mesh_axis_index);
    const bool known = index >= 0 && index < static_cast<int64_t>(names.size());
    std::string& part =
        parts.emplace_back(Str("'", known ? WordText(names[index].Bytes(proto::MeshAxis::name)) : Str(index), "'"));
    if (!axis.Has(A::sub_axis_info)) continue;
    const WireMessage sub = axis.Message(A::sub_axis_info);
    part += Str(":(", sub.Int(proto::SubAxis::pre_size), ")", sub.Int(proto::SubAxis::size));
  }
  return Join(parts, ", ");
}

// The text of a message, of several in braces, or "".
std::string ListedMetadata(const std::vector<WireMessage>& messages) {
  std::vector<std::string> metadata;
  for (const WireMessage& one : messages) metadata.push_back(Str(Load<Metadata>(one)));
  return metadata.size() > 1 ? Str("{", Join(metadata, ", "), "}") : Join(metadata, "");
}

std::string NamedShardingText(const WireMessage& named) {
  using N = proto::NamedShardingProto;
  const WireMessage mesh = named.Message(N::mesh);
  const std::vector<int64_t> ids = mesh.Ints(proto::MeshProto::device_ids);
  if (!mesh.Has(proto::MeshProto::axes) && ids.size() == 1) return Str("maximal_mesh[device_id=", ids[0], "]");
  std::vector<std::string> dims;
  for (const WireMessage& dim : named.Messages(N::dim_shardings)) {
    const std::string axes = AxesText(dim.Messages(proto::DimensionSharding::axes), mesh);
    const bool open = dim.Int(proto::DimensionSharding::is_closed) == 0;
    dims.push_back(Str("{", axes, open ? axes.empty() ? "?" : ", ?" : "", "}"));
  }
  std::string text = Str(MeshText(mesh), ", [", Join(dims, ", "), "]");
  const auto list = [&](std::string_view name, const ProtoField& field, std::string_view how = "") {
    if (named.Has(field)) text += Str(", ", name, "=", how, "{", AxesText(named.Messages(field), mesh), "}");
  };
  list("replicated", N::replicated_axes);
  list("unreduced", N::unreduced_axes, named.Int(N::reduction_op) == 0 ? "" : Lower(EnumText(named, N::reduction_op)));
  list("manual", N::manual_axes);
  const std::string metadata = ListedMetadata(named.Messages(N::metadata));
  return metadata.empty() ? text : Str(text, ", metadata=", metadata);
}

std::string OneShardingText(const WireMessage& sharding) {
  using S = proto::OpSharding;
  if (sharding.Has(S::named_sharding)) return NamedShardingText(sharding.Message(S::named_sharding));
  const auto type_text = [](int64_t type) { return Lower(EnumText(ProtoEnum::kType, type)); };
  const std::string type = type_text(sharding.Int(S::type));
  std::string text = type;
  if (type == "maximal") text = Str("maximal device=", Join(sharding.Ints(S::tile_assignment_devices), ","));
  if (type == "other") {
    const std::vector<int64_t> reshape = sharding.Ints(S::iota_reshape_dims);
    text = Str("devices=[", Join(sharding.Ints(S::tile_assignment_dimensions), ","), "]",
               reshape.empty() ? Join(sharding.Ints(S::tile_assignment_devices), ",")
                               : Str("<=", IotaText(reshape, sharding.Ints(S::iota_transpose_perm))));
    if (sharding.Int(S::replicate_on_last_tile_dim) != 0) text += " last_tile_dim_replicate";
    std::vector<std::string> last;
    for (const int64_t dim : sharding.Ints(S::last_tile_dims)) last.push_back(type_text(dim));
    if (!last.empty()) text += Str(" last_tile_dims={", Join(last, ", "), "}");
  }
  if (sharding.Int(S::is_shard_group) != 0)
    text += Str(" shard_", Lower(EnumText(ProtoEnum::kShardGroupType, sharding.Int(S::shard_group_type))), " ",
                sharding.Int(S::shard_group_id));
  const std::string metadata = ListedMetadata(sharding.Messages(S::metadata));
  return metadata.empty() ? text : Str(text, " metadata=", metadata);
}

std::vector<int64_t> PermutationOf(const DeviceOrder& order) {
  std::vector<int64_t> permutation = order.permutation;
  for (size_t i = permutation.size(); i < order.dims.size(); ++i) permutation.push_back(static_cast<int64_t>(i));
  return permutation;
}

void WriteMesh(const Mesh& mesh, MessageWriter& out) {
  using M = proto::MeshProto;
  if (mesh.single_device) return out.Ints(M::device_ids, std::vector<int64_t>{*mesh.single_device});
  for (const MeshAxis& axis : mesh.axes) {
    MessageWriter& one = out.Add(M::axes);
    one.Bytes(proto::MeshAxis::name, axis.name);
    one.Int(proto::MeshAxis::size, axis.size);
  }
  if (!mesh.devices.IsFormula()) return out.Ints(M::device_ids, mesh.devices.listed);
  if (mesh.devices.IsCounting()) return;
  MessageWriter& iota = out.Part(M::iota_transform);
  iota.Ints(proto::IotaTransform::reshape_dims, mesh.devices.dims);
  iota.Ints(proto::IotaTransform::transpose_perm, PermutationOf(mesh.devices));
}

void WriteAxes(const std::vector<AxisRef>& axes, const ProtoField& field, MessageWriter& out) {
  for (const AxisRef& axis : axes) {
    MessageWriter& one = out.Add(field);
    one.Int(proto::AxisRefProto::mesh_axis_index, axis.axis);
    if (axis.size == 0) continue;
    MessageWriter& sub = one.Part(proto::AxisRefProto::sub_axis_info);
    sub.Int(proto::SubAxis::pre_size, axis.before);
    sub.Int(proto::SubAxis::size, axis.size);
  }
}

void WriteNamedSharding(const NamedSharding& named, Reduction reduction, MessageWriter& out) {
  using N = proto::NamedShardingProto;
  WriteMesh(named.mesh, out.Part(N::mesh));
  for (const NamedSharding::Dim& dim : named.dims) {
    MessageWriter& one = out.Add(N::dim_shardings);
    WriteAxes(dim.axes, proto::DimensionSharding::axes, one);
    one.Int(proto::DimensionSharding::is_closed, dim.open ? 0 : 1);
  }
  WriteAxes(named.replicated, N::replicated_axes, out);
  WriteAxes(named.unreduced, N::unreduced_axes, out);
  if (reduction != Reduction::kSum) out.Int(N::reduction_op, EnumNumber(N::reduction_op, ToString(reduction)));
  WriteAxes(named.manual, N::manual_axes, out);
}

void WriteTiles(const Tiles& tiles, MessageWriter& out) {
  using S = proto::OpSharding;
  out.Ints(S::tile_assignment_dimensions, tiles.dims);
  if (tiles.devices.IsFormula()) {
    out.Ints(S::iota_reshape_dims, tiles.devices.dims);
    out.Ints(S::iota_transpose_perm, PermutationOf(tiles.devices));
  } else {
    out.Ints(S::tile_assignment_devices, tiles.devices.listed);
  }
  if (tiles.subgroups == std::vector{ShardingKind::kReplicated}) return out.Int(S::replicate_on_last_tile_dim, 1);
  std::vector<int64_t> last;
  for (const ShardingKind kind : tiles.subgroups) last.push_back(EnumNumber(S::last_tile_dims, ToString(kind)));
  out.Ints(S::last_tile_dims, last);
}

}  // namespace

std::string ShardingText(const WireMessage& sharding) {
  using S = proto::OpSharding;
  if (EnumText(sharding, S::type) != "TUPLE") return Str("{", OneShardingText(sharding), "}");
  std::string text;
  int64_t count = 0;
  for (const WireMessage& part : sharding.Messages(S::tuple_shardings)) {
    text += count == 0 ? "{" : ", ";
    if (count > 0 && count % 5 == 0) text += Str("/*index=", count, "*/");  // XLA prints the same comments.
    text += Str("{", OneShardingText(part), "}");
    ++count;
  }
  return Str(count == 0 ? "{" : "", text, "}");
}

void WriteSharding(const Sharding& sharding, MessageWriter& out) {
  using S = proto::OpSharding;
  switch (sharding.kind) {
    case ShardingKind::kTiled:
      out.Int(S::type, EnumNumber(S::type, "OTHER"));
      WriteTiles(*sharding.tiles, out);
      break;
    case ShardingKind::kNamed: {
      MessageWriter& named = out.Part(S::named_sharding);
      WriteNamedSharding(*sharding.named, sharding.reduction, named);
      for (const Metadata& metadata : sharding.metadata)
        WriteMetadata(metadata, "", named.Add(proto::NamedShardingProto::metadata));
      break;
    }
    case ShardingKind::kTuple:
      out.Int(S::type, EnumNumber(S::type, "TUPLE"));
      for (const Sharding& leaf : sharding.leaves) WriteSharding(leaf, out.Add(S::tuple_shardings));
      break;
    case ShardingKind::kMaximal:
      out.Int(S::type, EnumNumber(S::type, "MAXIMAL"));
      out.Ints(S::tile_assignment_dimensions, std::vector<int64_t>{1});
      out.Ints(S::tile_assignment_devices, std::vector<int64_t>{sharding.device});
      break;
    default: out.Int(S::type, EnumNumber(S::type, ToString(sharding.kind)));
  }
  if (sharding.group != Sharding::Group::kNone) {
    out.Int(S::is_shard_group, 1);
    out.Int(S::shard_group_id, sharding.group_id);
    out.Int(S::shard_group_type,
            EnumNumber(S::shard_group_type, sharding.group == Sharding::Group::kAs ? "AS" : "LIKE"));
  }
  if (sharding.kind == ShardingKind::kNamed) return;
  if (NeedsReduction(sharding)) WriteMetadata(MetadataOf(sharding.reduction), "", out.Add(S::metadata));
  for (const Metadata& metadata : sharding.metadata) WriteMetadata(metadata, "", out.Add(S::metadata));
}

std::string ReplicaGroupsText(const WireMessage& inst) {
  using I = proto::HloInstructionProto;
  if (inst.Has(I::mesh_axes_replica_group_list)) {
    using M = proto::MeshAxesReplicaGroupListProto;
    const WireMessage list = inst.Message(I::mesh_axes_replica_group_list);
    const WireMessage mesh = list.Message(M::mesh);
    return Str(MeshText(mesh), " {", AxesText(list.Messages(M::axes), mesh), "}");
  }
  const WireMessage devices = inst.Message(I::collective_device_list);
  const WireMessage iota = inst.Has(I::iota_collective_device_list)
                               ? inst.Message(I::iota_collective_device_list)
                               : devices.Message(proto::CollectiveDeviceListProto::iota_replica_group_list);
  using G = proto::IotaReplicaGroupListProto;
  if (iota.Has(G::num_replica_groups)) {
    return Str("[", iota.Int(G::num_replica_groups), ",", iota.Int(G::num_devices_per_group),
               "]<=", IotaText(iota.Ints(G::iota_reshape_dims), iota.Ints(G::iota_transpose_perm)));
  }
  std::vector<WireMessage> groups = devices.Messages(proto::CollectiveDeviceListProto::replica_groups);
  if (groups.empty()) groups = inst.Messages(I::replica_groups);
  std::vector<std::string> parts;
  for (const WireMessage& group : groups) parts.push_back(ListText(group.Ints(proto::ReplicaGroup::replica_ids)));
  return Str("{", Join(parts, ","), "}");
}

void WriteReplicaGroups(const ReplicaGroups& groups, MessageWriter& inst) {
  using I = proto::HloInstructionProto;
  if (const auto* lists = std::get_if<std::vector<std::vector<int64_t>>>(&groups.groups)) {
    for (const std::vector<int64_t>& ids : *lists)
      inst.Add(I::replica_groups).Ints(proto::ReplicaGroup::replica_ids, ids);
    return;
  }
  if (const auto* iota = std::get_if<IotaGroups>(&groups.groups)) {
    using G = proto::IotaReplicaGroupListProto;
    MessageWriter& list = inst.Part(I::iota_collective_device_list);
    list.Int(G::num_replica_groups, iota->count);
    list.Int(G::num_devices_per_group, iota->size);
    list.Ints(G::iota_reshape_dims, iota->devices.dims);
    list.Ints(G::iota_transpose_perm, PermutationOf(iota->devices));
    return;
  }
  const auto& mesh = std::get<MeshGroups>(groups.groups);
  MessageWriter& list = inst.Part(I::mesh_axes_replica_group_list);
  WriteMesh(mesh.mesh, list.Part(proto::MeshAxesReplicaGroupListProto::mesh));
  WriteAxes(mesh.axes, proto::MeshAxesReplicaGroupListProto::axes, list);
}

}  // namespace hlo
