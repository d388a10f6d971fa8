// Rules of attributes with an entry for each leaf of a shape. Text of shardings: docs/language.md#sharding.
#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/shardy_text.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

constexpr std::string_view kSharding = "sharding", kFrontendAttributes = "frontend_attributes";

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
  Placement placement;
  if (!named.mesh.axes.empty()) placement.count = named.mesh.DeviceCount();  // Shardy's empty mesh replicates.
  if (!named.dims.empty()) placement.dims = static_cast<int64_t>(named.dims.size());
  return placement;
}

// `attribute` states the sharding.
Status CheckOne(const Instruction& inst, const Shape& leaf, const Sharding& sharding,
                std::string_view attribute = kSharding) {
  Placement placement = PlacementOf(sharding);
  if (leaf.IsArray() && placement.dims && *placement.dims != leaf.rank()) {
    FAIL(ErrorAtAttribute(
        inst, attribute, "V256",
        Str("found ", *placement.dims, *placement.dims == 1 ? " tile dimension for " : " tile dimensions for ", leaf,
            ", expected ", leaf.rank())));
  }
  std::vector<int64_t>& ids = placement.ids;
  std::sort(ids.begin(), ids.end());
  if (!ids.empty() && ids[0] < 0)
    FAIL(ErrorAtAttribute(inst, attribute, "V257", Str("device ", ids[0], " is negative")));
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) FAIL(ErrorAtAttribute(inst, attribute, "V257", Str("device ", *twice, " occurs twice")));
  const int64_t partitions = inst.module().header.num_partitions;
  const char* code = partitions == 1 ? "V316" : "V258";
  const std::string has = Str("the module has ", partitions, partitions == 1 ? " partition" : " partitions");
  if (!ids.empty() && ids.back() >= partitions)
    FAIL(ErrorAtAttribute(inst, attribute, code, Str("device ", ids.back(), " does not exist, because ", has)));
  if (!placement.count || partitions == 1 || *placement.count == partitions) return {};
  FAIL(ErrorAtAttribute(inst, attribute, code,
                        Str(sharding.kind == ShardingKind::kNamed ? "the mesh has " : "the tiles name ",
                            *placement.count, " devices, but ", has))
           .Hint(Str("set the number for a run: hlo-run --num_partitions=", *placement.count)));
}

std::vector<const Shape*> LeavesOf(const Shape& shape) {
  std::vector<const Shape*> leaves;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { leaves.push_back(&leaf); });
  return leaves;
}

// The parser has checked named shardings in sharding=.
Status CheckAxesOnce(const Instruction& inst, const NamedSharding& named) {
  std::vector<AxisRef> used;
  const auto check = [&](const std::vector<AxisRef>& axes) -> Status {
    for (const AxisRef& axis : axes) {
      const auto other = std::ranges::find_if(used, [&](const AxisRef& one) { return Overlap(named.mesh, one, axis); });
      if (other != used.end())
        FAIL(ErrorAtAttribute(inst, kFrontendAttributes, "V317",
                              Str("axis '", Escaped(named.mesh.axes[axis.axis].name), "' is used twice")));
      used.push_back(axis);
    }
    return {};
  };
  for (const NamedSharding::Dim& dim : named.dims) TRY(check(dim.axes));
  for (const std::vector<AxisRef>* axes : {&named.replicated, &named.unreduced, &named.manual}) TRY(check(*axes));
  return {};
}

Status CheckShardyAttributes(const Instruction& inst) {
  if (!inst.HasCommon() || inst.common().frontend_attributes.empty()) return {};
  const auto stated = StatedShardings(inst);
  const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
  for (size_t i = 0; i < stated.size(); ++i) {
    if (!stated[i] || stated[i]->by == StatedBy::kSharding) continue;
    TRY(CheckOne(inst, *leaves[i], stated[i]->sharding, kFrontendAttributes));
    TRY(CheckAxesOnce(inst, *stated[i]->sharding.named));
  }
  return {};
}

}  // namespace

Status CheckSharding(const Instruction& inst) {
  TRY(CheckShardyAttributes(inst));
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
    FAIL(ErrorAtAttribute(inst, kSharding, "V255",
                          Str("a tuple of shardings does not suit ", inst.shape(), ", which is not a tuple")));
  if (leaves.empty() && parts <= 1) return {};
  if (parts != leaves.size()) {
    FAIL(ErrorAtAttribute(inst, kSharding, "V255",
                          Str("found ", parts, parts == 1 ? " sharding for " : " shardings for ", leaves.size(),
                              " leaves of ", inst.shape())));
  }
  for (size_t i = 0; i < parts; ++i) TRY(CheckOne(inst, *leaves[i], sharding.leaves[i]));
  return {};
}

// Checks the values that depend on a border, up to the end of the region.
static void CheckRegion(Findings& findings, const Instruction& border, const std::vector<std::string_view>& manual) {
  std::vector<const Instruction*> left = {&border};
  std::set<const Instruction*> reached = {&border};
  while (!left.empty()) {
    const Instruction& inst = *left.back();
    left.pop_back();
    for (const auto& stated : StatedShardings(inst)) {
      if (!stated || stated->sharding.kind != ShardingKind::kNamed || &inst == &border) continue;
      const NamedSharding& named = *stated->sharding.named;
      for (const NamedSharding::Dim& dim : named.dims) {
        const auto axis = std::ranges::find_if(dim.axes, [&](const AxisRef& ref) {
          return std::ranges::find(manual, named.mesh.axes[ref.axis].name) != manual.end();
        });
        if (axis == dim.axes.end() || findings.IsWrong(inst)) continue;
        const bool by_shardy = stated->by != StatedBy::kSharding;
        findings.Add(inst, ErrorAtAttribute(inst, by_shardy ? kFrontendAttributes : kSharding, "V318",
                                            Str("axis '", Escaped(named.mesh.axes[axis->axis].name),
                                                "' splits a dimension in a region in which it is manual"))
                               .AddNote(Str("the region begins at '", border.name(), "'"), border.range()));
      }
    }
    const auto reach = [&](const Instruction& next) {
      if (MarkerOf(next) != Marker::kWhole && reached.insert(&next).second) left.push_back(&next);
    };
    for (const Instruction* user : inst.users()) {
      reach(*user);
      for (const Computation* called : CalledComputations(*user)) {
        for (const Instruction* parameter : called->parameters()) reach(*parameter);
      }
    }
  }
}

void CheckManualAxes(Findings& findings) {
  const Module& module = findings.module();
  if (!FrontendAttribute(module.header.frontend_attributes, kShardyMeshes)) return;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kCustomCall) || MarkerOf(*inst) != Marker::kShard) continue;
      const auto text = FrontendAttribute(*inst, kShardyManualAxes);
      if (const auto manual = text ? ReadShardyAxes(*text) : std::nullopt) CheckRegion(findings, *inst, *manual);
    }
  }
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
