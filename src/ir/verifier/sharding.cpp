// Rules of attributes with an entry for each leaf of a shape. Text of shardings: docs/language.md#sharding.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

Error ErrorAtSharding(const Instruction& inst, const char* code, std::string message) {
  return ErrorAtAttribute(inst, "sharding", code, std::move(message));
}

// The checked properties of a sharding.
struct Placement {
  std::optional<int64_t> dims;   // Number of tile dimensions, or none if any rank fits.
  std::vector<int64_t> ids;      // Devices that the text lists.
  std::optional<int64_t> count;  // Number of devices of the tiles or mesh.
};

Placement PlacementOf(const Sharding& sharding) {
  if (sharding.kind == ShardingKind::kMaximal) return {{}, {sharding.device}, {}};
  if (sharding.kind == ShardingKind::kTiled) {
    const Tiles& tiles = *sharding.tiles;
    return {static_cast<int64_t>(tiles.dims.size() - tiles.subgroups.size()), tiles.devices.listed,
            CountDevices(tiles.dims)};
  }
  if (sharding.kind != ShardingKind::kNamed) return {};
  const NamedSharding& named = *sharding.named;
  if (named.mesh.single_device) return {{}, {*named.mesh.single_device}, {}};
  Placement placement = {{}, {}, named.mesh.DeviceCount()};
  if (!named.dims.empty()) placement.dims = static_cast<int64_t>(named.dims.size());
  return placement;
}

Status CheckOne(const Instruction& inst, const Shape& leaf, const Sharding& sharding) {
  Placement placement = PlacementOf(sharding);
  if (leaf.IsArray() && placement.dims && *placement.dims != leaf.rank()) {
    FAIL(ErrorAtSharding(
        inst, "V256",
        Str("found ", *placement.dims, *placement.dims == 1 ? " tile dimension for " : " tile dimensions for ", leaf,
            ", expected ", leaf.rank())));
  }
  std::vector<int64_t>& ids = placement.ids;
  std::sort(ids.begin(), ids.end());
  if (!ids.empty() && ids[0] < 0) FAIL(ErrorAtSharding(inst, "V257", Str("device ", ids[0], " is negative")));
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) FAIL(ErrorAtSharding(inst, "V257", Str("device ", *twice, " occurs twice")));
  const int64_t partitions = inst.module().header.num_partitions;
  const char* code = partitions == 1 ? "V316" : "V258";
  const std::string has = Str("the module has ", partitions, partitions == 1 ? " partition" : " partitions");
  if (!ids.empty() && ids.back() >= partitions)
    FAIL(ErrorAtSharding(inst, code, Str("device ", ids.back(), " does not exist, because ", has)));
  if (!placement.count || partitions == 1 || *placement.count == partitions) return {};
  FAIL(ErrorAtSharding(inst, code, Str("the tiles name ", *placement.count, " devices, but ", has)));
}

std::vector<const Shape*> LeavesOf(const Shape& shape) {
  std::vector<const Shape*> leaves;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { leaves.push_back(&leaf); });
  return leaves;
}

}  // namespace

Status CheckSharding(const Instruction& inst) {
  if (!inst.HasCommon() || inst.common().sharding.empty()) return {};
  const Sharding& sharding = *inst.common().sharding;
  const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
  if (sharding.kind != ShardingKind::kTuple) {
    for (const Shape* leaf : leaves) TRY(CheckOne(inst, *leaf, sharding));
    return {};
  }
  const size_t parts = sharding.leaves.size();
  if (inst.shape().IsToken()) return {};
  if (!inst.shape().IsTuple())
    FAIL(ErrorAtSharding(inst, "V255",
                         Str("a tuple of shardings does not suit ", inst.shape(), ", which is not a tuple")));
  if (leaves.empty() && parts <= 1) return {};
  if (parts != leaves.size()) {
    FAIL(ErrorAtSharding(inst, "V255",
                         Str("found ", parts, parts == 1 ? " sharding for " : " shardings for ", leaves.size(),
                             " leaves of ", inst.shape())));
  }
  for (size_t i = 0; i < parts; ++i) TRY(CheckOne(inst, *leaves[i], sharding.leaves[i]));
  return {};
}

// Number of values in an origin such as {({"t" {0}}, {})}, and whether it is a tuple.
static std::pair<size_t, bool> NamedIn(std::string_view origin) {
  size_t named = 0;
  int depth = 0;
  for (size_t i = 1; i < origin.size() && origin[i] != '['; ++i) {
    if (origin[i] == '"') {
      for (++i; origin[i] != '"'; ++i) i += origin[i] == '\\';
    } else if (origin[i] == '{' && depth++ == 0) {
      ++named;
    } else if (origin[i] == '}') {
      --depth;
    }
  }
  return {named, origin.substr(1).starts_with('(')};
}

Status CheckLeafAttributes(const Instruction& inst) {
  if (!inst.HasCommon()) return {};
  const CommonAttrs& common = inst.common();
  if (!common.parameter_replication.empty()) {
    const std::string_view text = common.parameter_replication.text;
    const size_t flags = text == "{}" ? 0 : 1 + std::count(text.begin(), text.end(), ',');
    const auto leaves = static_cast<size_t>(inst.shape().LeafCount());
    if (flags != leaves) {
      FAIL(ErrorAtAttribute(inst, "parameter_replication", "V272",
                            Str("found ", flags, flags == 1 ? " flag for " : " flags for ", leaves,
                                leaves == 1 ? " leaf of " : " leaves of ", inst.shape())));
    }
  }
  const std::string_view origin = common.origin.text;
  if (origin.empty() || origin.starts_with("{[synthetic_call]") || origin.starts_with("{()")) return {};
  const size_t leaves = LeavesOf(inst.shape()).size();
  const auto [named, is_tree] = NamedIn(origin);
  if (is_tree != inst.shape().IsTuple() || named != leaves) {
    FAIL(ErrorAtAttribute(inst, "origin", "V268",
                          Str("found ", named, named == 1 ? " value for " : " values for ", leaves,
                              leaves == 1 ? " leaf of " : " leaves of ", inst.shape())));
  }
  return {};
}

}  // namespace hlo
