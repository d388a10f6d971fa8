#include "interp/devices/manual_regions.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "interp/custom_call.h"
#include "interp/strided.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/shardy_text.h"
#include "ir/module.h"

namespace hlo {
namespace {

struct Parts {
  std::vector<std::vector<int64_t>> start;  // Indexed by partition.
  std::vector<int> kind;                    // Partitions of one kind together hold each part once.
};

int64_t RoundedUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

// Number of parts in `whole`, which the sharding splits into `tiles`. 0 if they do not fit.
int64_t PartsAlong(int64_t whole, int64_t part, int64_t tiles) {
  if (whole == part) return 1;
  if (RoundedUp(whole, tiles) == part) return tiles;
  return part > 0 && whole % part == 0 && tiles % (whole / part) == 0 ? whole / part : 0;
}

class Region {
 public:
  Region(const Instruction& marker, const DeviceGrid& grid) : marker_(marker), grid_(grid) {}

  Result<Parts> DevicePartsOf(int64_t i, const Shape& whole, const Shape& part) const {
    if (whole == part || Compatible(whole, part)) return Same(whole);
    if (!whole.IsArray() || !part.IsArray() || whole.rank() != part.rank() || whole.type() != part.type())
      FAIL(Misfit(whole, part, "they differ in type or rank"));
    const DeviceTiles dealt = TRY(TilesOfValue(i, whole, part));
    if (static_cast<int64_t>(dealt.devices.size()) != grid_.partitions) {
      const size_t wanted = dealt.devices.size();
      FAIL(Misfit(whole, part,
                  Str("the sharding is for ", wanted, wanted == 1 ? " partition" : " partitions", ", but there ",
                      grid_.partitions == 1 ? "is " : "are ", grid_.partitions))
               .Advise(Str("platform=interpreter --num_partitions=", wanted), "runs the module on that many"));
    }
    if (static_cast<int64_t>(dealt.counts.size()) != whole.rank())
      FAIL(Misfit(whole, part, Str("the sharding has ", dealt.counts.size(), " dimensions")));
    std::vector<int64_t> parts;
    for (int64_t d = 0; d < whole.rank(); ++d) {
      parts.push_back(PartsAlong(whole.dim(d), part.dim(d), dealt.counts[d]));
      if (parts.back() == 0)
        FAIL(Misfit(whole, part, Str("the sharding splits dimension ", d, " into ", dealt.counts[d])));
    }
    Parts result;
    result.start.resize(grid_.partitions);
    result.kind.resize(grid_.partitions);
    std::map<std::vector<int64_t>, int> seen;
    for (size_t place = 0; place < dealt.devices.size(); ++place) {
      const int64_t device = dealt.devices[place];
      std::vector<int64_t> start = dealt.tile_of[place];
      for (int64_t d = 0; d < whole.rank(); ++d) start[d] = start[d] * parts[d] / dealt.counts[d] * part.dim(d);
      if (device < 0 || device >= grid_.partitions)
        FAIL(Misfit(whole, part, Str("the sharding names partition ", device)));
      result.kind[device] = seen[start]++;
      result.start[device] = std::move(start);
    }
    return result;
  }

  // Number of partitions in the sharding of value `i`, or 0.
  int64_t PartitionsFor(int64_t i, const Shape& whole, const Shape& part) const {
    const auto dealt = TilesOfValue(i, whole, part);
    return dealt ? static_cast<int64_t>(dealt->devices.size()) : 0;
  }

 private:
  Parts Same(const Shape& whole) const {
    Parts parts;
    parts.start.assign(grid_.partitions, std::vector<int64_t>(whole.IsArray() ? whole.rank() : 0, 0));
    for (int64_t p = 0; p < grid_.partitions; ++p) parts.kind.push_back(static_cast<int>(p));
    return parts;
  }

  Result<DeviceTiles> TilesOfValue(int64_t i, const Shape& whole, const Shape& part) const {
    const bool begins = MarkerOf(marker_) == Marker::kShard;
    const auto text = FrontendAttribute(marker_, begins ? kShardyInShardings : kShardyOutShardings);
    if (text) return TilesByShardy(i, *text, whole, part);
    const Instruction& says = begins ? marker_.operand(i) : marker_;
    const Boxed<Tiles>* tiles = nullptr;
    if (says.HasCommon() && !says.common().sharding.empty()) {
      const Sharding& sharding = *says.common().sharding;
      if (sharding.kind == ShardingKind::kTiled) tiles = &sharding.tiles;
      if (sharding.kind == ShardingKind::kNamed && !sharding.named->mesh.single_device) return TilesOf(*sharding.named);
    }
    if (tiles != nullptr) return TilesOf(**tiles);
    FAIL(Misfit(whole, part, Str("'", says.name(), "' has no sharding that splits it")));
  }

  // Keeps only the manual axes.
  Result<DeviceTiles> TilesByShardy(int64_t i, const std::string& text, const Shape& whole, const Shape& part) const {
    const std::string meshes =
        FrontendAttribute(marker_.module().header.frontend_attributes, kShardyMeshes).value_or("");
    auto shardings = ReadShardySharding(text, meshes);
    const std::string axes_text = FrontendAttribute(marker_, kShardyManualAxes).value_or("");
    const auto manual = ReadShardyAxes(axes_text);
    if (!shardings || i >= static_cast<int64_t>(shardings->size()))
      FAIL(Misfit(whole, part, Str("value ", i, " has no sharding over a mesh of the module in ", text)));
    if (!manual) FAIL(Misfit(whole, part, Str(kShardyManualAxes, " names no axes: ", axes_text)));
    NamedSharding& sharding = (*shardings)[i].named;
    for (NamedSharding::Dim& dim : sharding.dims) {
      std::erase_if(dim.axes, [&](const AxisRef& axis) {
        return std::ranges::find(*manual, sharding.mesh.axes[axis.axis].name) == manual->end();
      });
    }
    return TilesOf(sharding);
  }

  Error Misfit(const Shape& whole, const Shape& part, std::string_view why) const {
    return UnsupportedAt(marker_, "U007",
                         Str("custom-call target \"", Escaped(marker_.attrs<CustomCallAttrs>().target), "\" has parts ",
                             part, " of ", whole, ": ", why));
  }

  const Instruction& marker_;
  const DeviceGrid& grid_;
};

const Shape& ResultShape(const Instruction& marker, int64_t i) {
  return marker.operand_count() == 1 && !marker.shape().IsTuple() ? marker.shape() : marker.shape().element(i);
}

Status CheckResults(const Instruction& marker) {
  const Shape& shape = marker.shape();
  const int64_t values = shape.IsTuple() ? static_cast<int64_t>(shape.elements().size()) : 1;
  if (values == marker.operand_count()) return {};
  FAIL(UnsupportedCall(marker, Str("of ", marker.operand_count(), " operands with result ", shape)));
}

std::vector<int64_t> Inside(const Shape& whole, const Shape& part, std::span<const int64_t> start) {
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < whole.rank(); ++d) {
    const int64_t left = std::max<int64_t>(0, whole.dim(d) - start[d]);
    sizes.push_back(std::min(part.dim(d), left));
  }
  return sizes;
}

Literal OneOrTuple(const Instruction& marker, std::vector<Literal> values) {
  return marker.shape().IsTuple() ? Literal::Tuple(std::move(values)) : std::move(values[0]);
}

}  // namespace

Result<Literal> BeginManualRegion(Evaluation& e) {
  TRY(CheckResults(e.inst));
  const ModuleHeader& header = e.inst.module().header;
  const auto& place = e.session.place();
  const DeviceGrid grid = {header.replica_count, header.num_partitions};
  const Region region(e.inst, grid);
  std::vector<Literal> parts;
  for (int64_t i = 0; i < e.inst.operand_count(); ++i) {
    const Literal& whole = e.operands[i];
    const Shape& shape = ResultShape(e.inst, i);
    if (Compatible(whole.shape(), shape)) {
      parts.push_back(whole);
      continue;
    }
    // A partition that runs alone does not know its number.
    const bool begins = MarkerOf(e.inst) == Marker::kShard;
    const Parts where =
        TRY(begins ? region.DevicePartsOf(i, whole.shape(), shape) : region.DevicePartsOf(i, shape, whole.shape()));
    if (!place) FAIL(UnsupportedCall(e.inst, "of one partition alone"));
    const std::vector<int64_t>& start = where.start[place->partition];
    Literal part(shape);
    const std::vector<int64_t> sizes = Inside(whole.shape(), shape, start), origin(shape.rank(), 0);
    CopyBox(whole, start, part, origin, sizes);
    parts.push_back(std::move(part));
  }
  return OneOrTuple(e.inst, std::move(parts));
}

Result<std::vector<Literal>> EndManualRegion(Gathering& g) {
  TRY(CheckResults(g.inst));
  const Region region(g.inst, g.grid);
  const int64_t partitions = g.grid.partitions;
  std::vector<std::vector<Literal>> values(partitions);
  for (int64_t i = 0; i < g.inst.operand_count(); ++i) {
    const Shape& whole = ResultShape(g.inst, i);
    const Parts where = TRY(region.DevicePartsOf(i, whole, g.inst.operand(i).shape()));
    std::map<int, Literal> by_kind;
    for (int64_t p = 0; p < partitions; ++p) {
      const Literal& part = g.operands[p][i];
      Literal& joined = by_kind.try_emplace(where.kind[p], whole).first->second;
      const std::vector<int64_t> origin(part.shape().IsArray() ? part.shape().rank() : 0, 0);
      if (Compatible(part.shape(), whole)) joined = part;
      else CopyBox(part, origin, joined, where.start[p], Inside(whole, part.shape(), where.start[p]));
    }
    for (int64_t p = 0; p < partitions; ++p) values[p].push_back(by_kind.at(where.kind[p]));
  }
  std::vector<Literal> results;
  for (std::vector<Literal>& value : values) results.push_back(OneOrTuple(g.inst, std::move(value)));
  return results;
}

int64_t PartitionsOfManualRegions(const Module& module) {
  const DeviceGrid one;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (MarkerOf(*inst) != Marker::kShard || !CheckResults(*inst)) continue;
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        const Shape &whole = inst->operand(i).shape(), &part = ResultShape(*inst, i);
        if (!Compatible(whole, part)) return Region(*inst, one).PartitionsFor(i, whole, part);
      }
    }
  }
  return 0;
}

}  // namespace hlo
