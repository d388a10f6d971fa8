#include "ir/mesh/parts.h"

#include <algorithm>

#include "base/text.h"
#include "ir/device_groups.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

std::vector<int64_t> Unravelled(int64_t number, std::span<const int64_t> sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; number /= sizes[d]) index[d] = number % sizes[d];
  return index;
}

// Coordinate along `axis`, which may be a part of a mesh axis.
int64_t PlaceAlong(const Mesh& mesh, const AxisRef& axis, std::span<const int64_t> place) {
  if (axis.size == 0) return place[axis.axis];
  return place[axis.axis] / (mesh.axes[axis.axis].size / (axis.before * axis.size)) % axis.size;
}

int64_t PartSize(int64_t size, int64_t tiles) { return (size + tiles - 1) / tiles; }

Error Refused(const Sharding& sharding, std::string_view why) {
  std::string text;
  AppendTo(text, sharding, /*with_metadata=*/false);
  return Rejected("A028", Str("sharding ", text, " ", why));
}

std::string_view WhyNoParts(ShardingKind kind) {
  switch (kind) {
    case ShardingKind::kMaximal: return "places the whole array on one device";
    case ShardingKind::kManual: return "leaves it to the program which part a device holds";
    case ShardingKind::kUnknown: return "does not say which part a device holds";
    case ShardingKind::kUnreduced: return "makes the whole array a reduction of the devices' arrays";
    case ShardingKind::kTuple: return "is for a tuple, but the value is an array";
    case ShardingKind::kReplicated:
    case ShardingKind::kTiled:
    case ShardingKind::kNamed: return "";
  }
  return "";
}

std::string_view WhyNoParts(const Sharding& sharding) {
  if (sharding.kind == ShardingKind::kNamed) {
    const NamedSharding& named = *sharding.named;
    return WhyNoParts(named.mesh.single_device   ? ShardingKind::kMaximal
                      : !named.manual.empty()    ? ShardingKind::kManual
                      : !named.unreduced.empty() ? ShardingKind::kUnreduced
                                                 : ShardingKind::kNamed);
  }
  if (sharding.kind != ShardingKind::kTiled) return WhyNoParts(sharding.kind);
  for (const ShardingKind kind : sharding.tiles->subgroups) {
    if (const std::string_view why = WhyNoParts(kind); !why.empty()) return why;
  }
  return "";
}

}  // namespace

DeviceTiles TilesOf(const Tiles& tiles) {
  const size_t rank = tiles.dims.size() - tiles.subgroups.size();
  DeviceTiles dealt = {.counts = {tiles.dims.begin(), tiles.dims.begin() + static_cast<int64_t>(rank)},
                       .devices = Listed(tiles.devices),
                       .tile_of = {}};
  for (size_t i = 0; i < dealt.devices.size(); ++i) {
    dealt.tile_of.push_back(Unravelled(static_cast<int64_t>(i), tiles.dims));
    dealt.tile_of.back().resize(rank);
  }
  return dealt;
}

DeviceTiles TilesOf(const NamedSharding& named) {
  DeviceTiles dealt;
  for (const NamedSharding::Dim& dim : named.dims) {
    int64_t& count = dealt.counts.emplace_back(1);
    for (const AxisRef& axis : dim.axes) count *= named.mesh.SizeOf(axis);
  }
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : named.mesh.axes) sizes.push_back(axis.size);
  dealt.devices = Listed(named.mesh.devices);
  for (size_t i = 0; i < dealt.devices.size(); ++i) {
    const std::vector<int64_t> place = Unravelled(static_cast<int64_t>(i), sizes);
    std::vector<int64_t>& tile = dealt.tile_of.emplace_back();
    for (const NamedSharding::Dim& dim : named.dims) {
      int64_t& number = tile.emplace_back(0);
      for (const AxisRef& axis : dim.axes)
        number = number * named.mesh.SizeOf(axis) + PlaceAlong(named.mesh, axis, place);
    }
  }
  return dealt;
}

Result<PartTable> PartTable::Make(const Sharding& sharding, int64_t rank, int64_t devices) {
  if (const std::string_view why = WhyNoParts(sharding); !why.empty()) FAIL(Refused(sharding, why));
  PartTable table;
  table.counts_.assign(rank, 1);
  table.tile_of_.assign(devices, std::vector<int64_t>(rank, 0));
  const bool is_tiled = sharding.kind == ShardingKind::kTiled;
  const bool is_named =
      sharding.kind == ShardingKind::kNamed && !sharding.named->dims.empty() && !sharding.named->mesh.axes.empty();
  if (!is_tiled && !is_named) return table;
  const DeviceTiles dealt = is_tiled ? TilesOf(*sharding.tiles) : TilesOf(*sharding.named);
  if (static_cast<int64_t>(dealt.counts.size()) != rank)
    FAIL(Refused(sharding, Str("splits ", dealt.counts.size(), " dimensions, but the array has ", rank)));
  if (static_cast<int64_t>(dealt.devices.size()) != devices)
    FAIL(Refused(sharding, Str("is for ", dealt.devices.size(), " devices, but the module has ", devices)));
  table.counts_ = dealt.counts;
  for (size_t i = 0; i < dealt.devices.size(); ++i) {
    const int64_t device = dealt.devices[i];
    if (device < 0 || device >= devices)
      FAIL(Refused(sharding, Str("names device ", device, ", expected 0 to ", devices - 1)));
    table.tile_of_[device] = dealt.tile_of[i];
  }
  return table;
}

bool PartTable::IsCut() const {
  return std::ranges::any_of(counts_, [](int64_t count) { return count > 1; });
}

Shape PartTable::LocalShape(const Shape& whole) const {
  Shape local = whole;
  for (int64_t d = 0; d < whole.rank(); ++d) local.SetDim(d, PartSize(whole.dim(d), counts_[d]));
  return local;
}

Part PartTable::PartOf(int64_t device, std::span<const int64_t> whole) const {
  Part part;
  for (size_t d = 0; d < whole.size(); ++d) {
    const int64_t size = PartSize(whole[d], counts_[d]);
    part.start.push_back(std::min(tile_of_[device][d] * size, whole[d]));
    part.size.push_back(std::min(size, whole[d] - part.start.back()));
  }
  return part;
}

bool PartTable::Fits(std::span<const int64_t> whole, std::span<const int64_t> local) const {
  if (whole.size() != counts_.size() || local.size() != counts_.size()) return false;
  for (size_t d = 0; d < whole.size(); ++d) {
    if (PartSize(whole[d], counts_[d]) != local[d]) return false;
  }
  return true;
}

Shape PartTable::LargestWhole(const Shape& local) const {
  Shape whole = local;
  for (int64_t d = 0; d < local.rank(); ++d) whole.SetDim(d, local.dim(d) * counts_[d]);
  return whole;
}

std::string PartTable::WholesText(const Shape& local) const {
  std::vector<std::string> sizes;
  for (int64_t d = 0; d < local.rank(); ++d) {
    const int64_t most = local.dim(d) * counts_[d], least = most - counts_[d] + 1;
    sizes.push_back(counts_[d] == 1 || most == 0 ? Str(most) : Str(least, "..", most));
  }
  return Str(ToString(local.type()), "[", Join(sizes, ","), "]");
}

const Sharding* ShardingOfLeaf(const Instruction& inst, int64_t leaf) {
  if (!inst.HasCommon() || inst.common().sharding.empty()) return nullptr;
  const Sharding& sharding = *inst.common().sharding;
  if (sharding.kind != ShardingKind::kTuple) return &sharding;
  return leaf < std::ssize(sharding.leaves) ? &sharding.leaves[leaf] : nullptr;
}

}  // namespace hlo
