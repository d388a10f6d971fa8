#include "ir/mesh/unpartitioned.h"

#include <algorithm>
#include <optional>

#include "ir/frontend_attributes.h"
#include "ir/instruction.h"
#include "ir/markers.h"
#include "ir/mesh/axes.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/module.h"

namespace hlo {

bool IsUnpartitioned(const Module& module) {
  if (module.entry().name().ends_with("_spmd")) return false;
  if (FrontendAttribute(module.header.frontend_attributes, kPartitionedAttribute)) return false;
  bool has_statement = false, has_collective = false, has_region = false;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      const Marker marker = MarkerOf(*inst);
      has_region |= marker == Marker::kShard || marker == Marker::kWhole;
      has_collective |= inst->Is(kCollective);
      has_statement = has_statement ||
                      (inst->HasCommon() && std::ranges::any_of(StatedShardings(*inst),
                                                                [](const auto& stated) { return stated.has_value(); }));
    }
  }
  return has_statement && (has_region || !has_collective);
}

bool SplitsArrays(const Module& module) {
  if (!IsUnpartitioned(module)) return false;
  const Axes axes = Axes::Of(module);
  if (axes.devices() <= 1) return false;
  const auto is_split = [&](const std::optional<StatedSharding>& stated, const Shape& shape) {
    if (!stated || !shape.IsArray()) return false;
    const auto split = axes.Read(stated->sharding, shape.rank());
    return split && !(split->InDims() | split->manual).empty();
  };
  bool any = false;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      const auto stated = StatedShardings(*inst);
      size_t leaf = 0;
      ForEachLeaf(inst->shape(),
                  [&](const ShapeIndex&, const Shape& shape) { any |= is_split(stated[leaf++], shape); });
      if (any) return true;
    }
  }
  return false;
}

bool TakePartitionsOfShardings(Module& module) {
  ModuleHeader& header = module.header;
  if (header.num_partitions > 1 || !IsUnpartitioned(module)) return false;
  const int64_t partitions = Axes::Of(module).devices();
  if (partitions <= 1) return false;
  header.num_partitions = partitions;
  if (header.propagation_to_output.text.empty()) header.propagation_to_output.text = "{true}";
  return true;
}

}  // namespace hlo
