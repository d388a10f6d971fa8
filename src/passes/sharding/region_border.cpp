#include "passes/sharding/region_border.h"

#include <algorithm>
#include <string>

#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/shardy_text.h"
#include "ir/module.h"

namespace hlo {
namespace {

AxisSet ManualAtoms(const Instruction& border, const Axes& axes) {
  const auto text = FrontendAttribute(border, kShardyManualAxes);
  const auto names = text ? ReadShardyAxes(*text) : std::nullopt;
  AxisSet manual;
  for (size_t i = 0; names && i < axes.atoms().size(); ++i) {
    const std::string_view name = axes.atoms()[i].name;
    if (std::ranges::find(*names, name.substr(0, name.find(":("))) != names->end()) manual.Add(static_cast<int>(i));
  }
  return manual;
}

std::optional<BorderValue> ValueOf(const NamedSharding& named, int64_t rank, const Axes& axes) {
  Sharding sharding = {.kind = ShardingKind::kNamed};
  sharding.named.Mutable() = named;
  auto split = axes.Read(sharding, rank);
  if (!split) return std::nullopt;
  BorderValue value = {.stated = std::move(*split), .open = std::vector<bool>(rank, false)};
  for (int64_t dim = 0; dim < std::min(rank, std::ssize(named.dims)); ++dim) value.open[dim] = named.dims[dim].open;
  return value;
}

}  // namespace

ArraySplit BorderValue::Outside(const ArraySplit& inside) const {
  ArraySplit outside = stated;
  for (int64_t dim = 0; dim < outside.rank(); ++dim) {
    if (!open[dim]) continue;
    for (const uint8_t atom : inside.AtomsOf(dim)) {
      if (!outside.InDims().Has(atom)) outside.Append(dim, atom);
    }
  }
  return outside;
}

bool IsRegionBorder(const Instruction& inst) {
  const Marker marker = MarkerOf(inst);
  return marker == Marker::kShard || marker == Marker::kWhole;
}

std::optional<RegionBorder> RegionBorderOf(const Instruction& inst, const Axes& axes) {
  const bool begins = MarkerOf(inst) == Marker::kShard;
  const auto text = FrontendAttribute(inst, begins ? kShardyInShardings : kShardyOutShardings);
  if (!text) return std::nullopt;
  const auto meshes = FrontendAttribute(inst.module().header.frontend_attributes, kShardyMeshes);
  const auto stated = ReadShardySharding(*text, meshes.value_or(""));
  if (!stated || std::ssize(*stated) != inst.operand_count()) return std::nullopt;
  RegionBorder border = {.begins = begins, .manual = ManualAtoms(inst, axes), .values = {}};
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    auto value = ValueOf((*stated)[i].named, inst.operand(i).shape().rank(), axes);
    if (!value) return std::nullopt;
    border.values.push_back(std::move(*value));
  }
  return border;
}

ArraySplit WithoutAtoms(const ArraySplit& split, AxisSet manual) {
  ArraySplit result(split.rank());
  for (int64_t dim = 0; dim < split.rank(); ++dim) {
    for (const uint8_t atom : split.AtomsOf(dim)) {
      if (!manual.Has(atom)) result.Append(dim, atom);
    }
  }
  return result;
}

}  // namespace hlo
