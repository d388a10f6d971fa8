#include "ir/sharding.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "ir/attrs.h"
#include "ir/device_groups.h"
#include "ir/digits.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

constexpr int64_t kMostListed = 1 << 20;

std::vector<int64_t> Transposed(std::span<const int64_t> ids, std::span<const int64_t> tiles,
                                std::span<const size_t> order) {
  std::vector<int64_t> strides(tiles.size(), 1);
  for (size_t i = tiles.size(); i-- > 1;) strides[i - 1] = strides[i] * tiles[i];
  std::vector<int64_t> transposed;
  std::vector<int64_t> index(order.size());
  while (transposed.size() < ids.size()) {
    int64_t at = 0;
    for (size_t i = 0; i < order.size(); ++i) at += index[i] * strides[order[i]];
    transposed.push_back(ids[at]);
    for (size_t i = order.size(); i-- > 0;) {
      if (++index[i] < tiles[order[i]]) break;
      index[i] = 0;
    }
  }
  return transposed;
}

}  // namespace

std::vector<int64_t> Listed(const DeviceOrder& order) {
  if (!order.IsFormula()) return order.listed;
  std::vector<int64_t> ids(CountDevices(order.dims));
  std::iota(ids.begin(), ids.end(), 0);
  return Transposed(ids, order.dims, std::vector<size_t>(order.permutation.begin(), order.permutation.end()));
}

namespace {

// Puts tile dimensions into `order`, without size 1. Sorts devices along the last `unordered` dimensions, whose order
// has no meaning. Returns false if too many devices would be listed.
bool Rearrange(DeviceOrder& devices, const std::vector<int64_t>& tiles, std::vector<size_t> order, size_t unordered) {
  std::erase_if(order, [&](size_t tile) { return tiles[tile] == 1; });
  if (std::is_sorted(order.begin(), order.end()) && unordered == 0) return true;
  const auto digits = devices.IsFormula() ? DigitsAlong(devices, tiles) : std::nullopt;
  if (!digits) {
    if (CountDevices(tiles) > kMostListed) return false;
    std::vector<int64_t> ids = Transposed(Listed(devices), tiles, order);
    int64_t run = 1;
    for (size_t i = order.size() - unordered; i < order.size(); ++i) run *= tiles[order[i]];
    for (auto at = ids.begin(); at != ids.end(); at += run) std::sort(at, at + run);
    devices = {std::move(ids), {}, {}};
    return true;
  }
  std::vector<Digit> all;  // The dims of the new formula, by descending strides.
  for (const auto& along : *digits) all.insert(all.end(), along.begin(), along.end());
  std::ranges::sort(all, std::greater(), &Digit::stride);
  std::vector<int64_t> dims, permutation;
  for (const Digit& digit : all) dims.push_back(digit.size);
  size_t ordered = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Digit& digit : (*digits)[order[i]]) permutation.push_back(std::ranges::find(all, digit) - all.begin());
    if (i + unordered < order.size()) ordered = permutation.size();
  }
  std::sort(permutation.begin() + static_cast<int64_t>(ordered), permutation.end());
  devices = IotaOrder(dims, permutation);
  return true;
}

// ---- Text --------------------------------------------------------------------------------------------------------

constexpr std::string_view kReductionType = "sdy::reduction_op";

void AppendFormula(std::string& out, const DeviceOrder& devices) {
  out += Str("[", Join(devices.dims, ","), "]");
  if (devices.dims.size() > 1) out += Str("T(", Join(devices.permutation, ","), ")");
}

void AppendName(std::string& out, std::string_view name) {
  std::string quoted = Quoted(name);
  // XLA does not escape double quotes.
  for (size_t at = quoted.find("\\\""); at != std::string::npos; at = quoted.find("\\\"", at + 1)) quoted.erase(at, 1);
  out += Str("'", std::string_view(quoted).substr(1, quoted.size() - 2), "'");
}

void AppendMesh(std::string& out, const Mesh& mesh) {
  if (mesh.single_device) {
    out += Str("single_device[device_id=", *mesh.single_device, "]");
    return;
  }
  out += "mesh[";
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    if (i > 0) out += ',';
    AppendName(out, mesh.axes[i].name);
    out += Str("=", mesh.axes[i].size);
  }
  out += ']';
  if (mesh.devices.IsCounting()) return;
  out += ", device_ids=(";
  if (mesh.devices.IsFormula()) AppendFormula(out, mesh.devices);
  else out += Join(mesh.devices.listed, ",");
  out += ')';
}

void AppendAxes(std::string& out, const Mesh& mesh, const std::vector<AxisRef>& axes, std::string_view separator) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) out += separator;
    AppendName(out, mesh.axes[axes[i].axis].name);
    if (axes[i].size > 0) out += Str(":(", axes[i].before, ")", axes[i].size);
  }
}

bool AreAllAxes(const Mesh& mesh, const std::vector<AxisRef>& axes) {
  return !axes.empty() && axes.size() == mesh.axes.size() &&
         std::all_of(axes.begin(), axes.end(), [](const AxisRef& axis) { return axis.size == 0; });
}

void AppendNamed(std::string& out, const NamedSharding& named, Reduction reduction) {
  const std::string_view how = reduction == Reduction::kSum ? "" : ToString(reduction);
  AppendMesh(out, named.mesh);
  if (named.mesh.single_device) return;
  out += ", ";
  if (named.dims.empty() && named.replicated.empty()) {
    if (named.unreduced.empty() && named.manual.empty()) return AppendTo(out, "replicated");
    if (named.unreduced.empty() && AreAllAxes(named.mesh, named.manual)) return AppendTo(out, "manual");
    if (named.manual.empty() && AreAllAxes(named.mesh, named.unreduced)) {
      out += Str("unreduced", how.empty() ? "" : "=", how);
      return;
    }
  }
  out += '[';
  for (size_t i = 0; i < named.dims.size(); ++i) {
    const NamedSharding::Dim& dim = named.dims[i];
    out += i > 0 ? ", {" : "{";
    AppendAxes(out, named.mesh, dim.axes, ", ");
    if (dim.open) out += dim.axes.empty() ? "?" : ", ?";
    out += '}';
  }
  out += ']';
  const auto list = [&](std::string_view name, const std::vector<AxisRef>& axes) {
    if (axes.empty()) return;
    out += Str(", ", name, "{");
    AppendAxes(out, named.mesh, axes, ", ");
    out += '}';
  };
  list("replicated=", named.replicated);
  list(Str("unreduced=", how), named.unreduced);
  list("manual=", named.manual);
}

void AppendTiles(std::string& out, const Tiles& tiles) {
  out += Str("devices=[", Join(tiles.dims, ","), "]");
  if (tiles.devices.IsFormula()) {
    out += "<=";
    AppendFormula(out, tiles.devices);
  } else {
    out += Join(tiles.devices.listed, ",");
  }
  if (tiles.subgroups.empty()) return;
  if (tiles.subgroups.size() == 1 && tiles.subgroups[0] == ShardingKind::kReplicated) {
    out += " last_tile_dim_replicate";
    return;
  }
  std::vector<std::string_view> words;
  for (const ShardingKind kind : tiles.subgroups) words.push_back(ToString(kind));
  out += Str(" last_tile_dims={", Join(words, ", "), "}");
}

void AppendShardingMetadata(std::string& out, const Sharding& sharding) {
  std::vector<Metadata> metadata = sharding.metadata;
  if (NeedsReduction(sharding)) metadata.push_back(MetadataOf(sharding.reduction));
  if (metadata.empty()) return;
  const bool named = sharding.kind == ShardingKind::kNamed;
  out += named ? ", metadata=" : " metadata=";
  if (metadata.size() == 1 && !named) return AppendTo(out, metadata[0]);
  out += Str("{", Join(metadata, ", "), "}");
}

}  // namespace

// ---- Orders of devices -------------------------------------------------------------------------------------------

int64_t CountDevices(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return INT64_MAX;
  }
  return count;
}

DeviceOrder CountingOrder(int64_t devices) { return {{}, {devices}, {0}}; }

DeviceOrder IotaOrder(std::span<const int64_t> dims, std::span<const int64_t> permutation) {
  Dims rank;
  rank.resize(dims.size());
  for (size_t i = 1; i < dims.size(); ++i) rank[i] = rank[i - 1] + (dims[i - 1] != 1);
  struct Run {
    int64_t first, last, size;
  };
  InlineVector<Run, 4> runs;
  for (const int64_t dim : permutation) {
    if (dims[dim] == 1) continue;
    if (!runs.empty() && runs.back().last + 1 == rank[dim]) {
      runs.back().last = rank[dim];
      runs.back().size *= dims[dim];
    } else {
      runs.push_back({rank[dim], rank[dim], dims[dim]});
    }
  }
  if (runs.empty()) return CountingOrder(1);
  InlineVector<Run, 4> sorted = runs;
  std::sort(sorted.begin(), sorted.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  DeviceOrder order;
  order.dims.reserve(sorted.size());
  order.permutation.reserve(sorted.size());
  for (const Run& run : sorted) order.dims.push_back(run.size);
  for (const Run& run : runs) {
    const auto place =
        std::find_if(sorted.begin(), sorted.end(), [&](const Run& other) { return other.first == run.first; });
    order.permutation.push_back(place - sorted.begin());
  }
  return order;
}

int64_t Mesh::DeviceCount() const {
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : axes) sizes.push_back(axis.size);
  return CountDevices(sizes);
}

// ---- Shardings ---------------------------------------------------------------------------------------------------

Metadata MetadataOf(Reduction reduction) {
  constexpr std::string_view kNames[] = {"SUM", "MAX", "MIN"};
  Metadata metadata;
  metadata.op_type = kReductionType;
  metadata.op_name = kNames[static_cast<int>(reduction)];
  return metadata;
}

bool NeedsReduction(const Sharding& sharding) {
  const auto& subgroups = sharding.tiles->subgroups;
  return sharding.kind == ShardingKind::kUnreduced ||
         std::find(subgroups.begin(), subgroups.end(), ShardingKind::kUnreduced) != subgroups.end();
}

bool Sharding::operator==(const Sharding& other) const {
  return kind == other.kind && group == other.group && reduction == other.reduction && group_id == other.group_id &&
         device == other.device && tiles == other.tiles && named == other.named && leaves == other.leaves;
}

Sharding TiledSharding(std::vector<int64_t> dims, DeviceOrder devices, const std::vector<ShardingKind>& subgroups) {
  using enum ShardingKind;
  const size_t data = dims.size() - subgroups.size();
  const bool is_whole = CountDevices(std::span(dims).first(data)) == 1;
  const auto is_simple = [](ShardingKind kind) { return kind == kManual || kind == kReplicated || kind == kUnreduced; };
  if (is_whole && !subgroups.empty() && is_simple(subgroups[0]) &&
      std::all_of(subgroups.begin(), subgroups.end(), [&](ShardingKind kind) { return kind == subgroups[0]; }))
    return {.kind = subgroups[0]};
  // Drops subgroups of one device and merges equal kinds.
  Tiles tiles = {{dims.begin(), dims.begin() + static_cast<int64_t>(data)}, {}, {}};
  std::vector<size_t> order(data);
  std::iota(order.begin(), order.end(), size_t{0});
  size_t unordered = 0;
  for (const ShardingKind kind : {kMaximal, kManual, kUnreduced, kReplicated}) {
    int64_t size = 1;
    for (size_t i = 0; i < subgroups.size(); ++i) {
      if (subgroups[i] != kind || dims[data + i] == 1) continue;
      order.push_back(data + i);
      size *= dims[data + i];
      unordered += kind == kReplicated;
    }
    if (size == 1) continue;
    tiles.dims.push_back(size);
    tiles.subgroups.push_back(kind);
  }
  tiles.devices = devices;
  if (!Rearrange(tiles.devices, dims, order, unordered)) tiles = {std::move(dims), std::move(devices), subgroups};
  if (is_whole && tiles.subgroups.size() == 1 && (tiles.subgroups[0] == kManual || tiles.subgroups[0] == kReplicated))
    return {.kind = tiles.subgroups[0]};
  Sharding sharding = {.kind = kTiled};
  sharding.tiles.Mutable() = std::move(tiles);
  return sharding;
}

void AppendTo(std::string& out, const Sharding& sharding, bool with_metadata) {
  out += '{';
  switch (sharding.kind) {
    case ShardingKind::kTuple:
      for (size_t i = 0; i < sharding.leaves.size(); ++i) {
        if (i > 0) out += ", ";
        if (i > 0 && i % 5 == 0) out += Str("/*index=", i, "*/");
        AppendTo(out, sharding.leaves[i], with_metadata);
      }
      break;
    case ShardingKind::kTiled: AppendTiles(out, *sharding.tiles); break;
    case ShardingKind::kNamed: AppendNamed(out, *sharding.named, sharding.reduction); break;
    case ShardingKind::kMaximal: out += Str("maximal device=", sharding.device); break;
    default: out += ToString(sharding.kind);
  }
  if (sharding.group != Sharding::Group::kNone)
    out += Str(sharding.group == Sharding::Group::kAs ? " shard_as " : " shard_like ", sharding.group_id);
  if (with_metadata) AppendShardingMetadata(out, sharding);
  out += '}';
}

void AppendTo(std::string& out, const Domain& domain) {
  out += "{kind=\"sharding\", entry=";
  AppendTo(out, domain.entry);
  out += ", exit=";
  AppendTo(out, domain.exit);
  out += '}';
}

// ---- Groups ------------------------------------------------------------------------------------------------------

void AppendTo(std::string& out, const ReplicaGroups& value) {
  if (const auto* iota = std::get_if<IotaGroups>(&value.groups)) {
    out += Str("[", iota->count, ",", iota->size, "]<=");
    AppendFormula(out, iota->devices);
    return;
  }
  if (const auto* mesh = std::get_if<MeshGroups>(&value.groups)) {
    AppendMesh(out, mesh->mesh);
    out += " {";
    AppendAxes(out, mesh->mesh, mesh->axes, ",");
    out += '}';
    return;
  }
  out += '{';
  bool first = true;
  for (const std::vector<int64_t>& group : std::get<0>(value.groups)) {
    out += Str(first ? "{" : ",{", Join(group, ","), "}");
    first = false;
  }
  out += '}';
}

}  // namespace hlo
