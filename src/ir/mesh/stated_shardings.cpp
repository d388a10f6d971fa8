#include "ir/mesh/stated_shardings.h"

#include <algorithm>
#include <string>

#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/shardy_text.h"
#include "ir/module.h"

namespace hlo {
namespace {

struct ShardyValues {
  std::vector<ShardySharding> values;
  StatedBy by;
};

// Inside a manual region its axes, `names`, are manual and split no dimension.
void MakeManual(NamedSharding& sharding, const std::vector<std::string_view>& names) {
  const auto is_manual = [&](const AxisRef& ref) {
    return std::ranges::find(names, sharding.mesh.axes[ref.axis].name) != names.end();
  };
  for (NamedSharding::Dim& dim : sharding.dims) std::erase_if(dim.axes, is_manual);
  std::erase_if(sharding.replicated, is_manual);
  for (size_t i = 0; i < sharding.mesh.axes.size(); ++i) {
    const AxisRef ref = {static_cast<int64_t>(i)};
    if (is_manual(ref)) sharding.manual.push_back(ref);
  }
}

std::optional<ShardyValues> ShardyValuesOf(const Instruction& inst) {
  if (!inst.HasCommon() || inst.common().frontend_attributes.empty()) return std::nullopt;
  const auto read = [&](const char* name) -> std::optional<std::vector<ShardySharding>> {
    const auto text = FrontendAttribute(inst, name);
    if (!text) return std::nullopt;
    const auto meshes = FrontendAttribute(inst.module().header.frontend_attributes, kShardyMeshes);
    return ReadShardySharding(*text, meshes.value_or(""));
  };
  switch (MarkerOf(inst)) {
    case Marker::kShard: {
      auto values = read(kShardyInShardings);
      const auto names = FrontendAttribute(inst, kShardyManualAxes);
      const auto manual = names ? ReadShardyAxes(*names) : std::nullopt;
      if (!values || !manual) break;
      for (ShardySharding& value : *values) MakeManual(value.named, *manual);
      return ShardyValues{std::move(*values), StatedBy::kManualRegion};
    }
    case Marker::kWhole:
      if (auto values = read(kShardyOutShardings)) return ShardyValues{std::move(*values), StatedBy::kManualRegion};
      break;
    default: break;
  }
  if (auto values = read(kShardySharding)) return ShardyValues{std::move(*values), StatedBy::kShardy};
  return std::nullopt;
}

}  // namespace

std::string_view ToString(StatedBy by) {
  switch (by) {
    case StatedBy::kSharding: return "sharding";
    case StatedBy::kShardy: return "xla.sdy.sharding";
    case StatedBy::kManualRegion: return "manual region";
  }
  return "";
}

std::vector<std::optional<StatedSharding>> StatedShardings(const Instruction& inst) {
  const int64_t leaves = inst.shape().LeafCount();
  std::vector<std::optional<StatedSharding>> stated(leaves);
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    if (const Sharding* sharding = ShardingOfLeaf(inst, leaf)) stated[leaf] = {*sharding, StatedBy::kSharding, {}};
  }
  auto shardy = ShardyValuesOf(inst);
  if (!shardy || std::ssize(shardy->values) != leaves) return stated;
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    Sharding sharding = {.kind = ShardingKind::kNamed};
    sharding.named.Mutable() = std::move(shardy->values[leaf].named);
    stated[leaf] = {std::move(sharding), shardy->by, std::move(shardy->values[leaf].priorities)};
  }
  return stated;
}

}  // namespace hlo
