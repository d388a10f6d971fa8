// Random shardings of parameters, of the result, and of some values between.
#include <algorithm>

#include "driver/fuzz/grower.h"
#include "ir/mesh/axes.h"

namespace hlo {
namespace {

Sharding OnMesh(const std::vector<MeshAxis>& axes) {
  Sharding sharding = {.kind = ShardingKind::kNamed};
  sharding.named.Mutable().mesh.axes = axes;
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices *= axis.size;
  sharding.named.Mutable().mesh.devices = CountingOrder(devices);
  return sharding;
}

// Each axis splits a dimension or none. Parts may be uneven, but no device is without elements.
Sharding AnySharding(const std::vector<MeshAxis>& axes, const Shape& shape, Chance& chance) {
  Sharding sharding = OnMesh(axes);
  NamedSharding& named = sharding.named.Mutable();
  named.dims.resize(shape.rank());
  std::vector<int64_t> parts(shape.rank(), 1);
  for (const int64_t axis : chance.Sample(std::ssize(axes), std::ssize(axes))) {
    if (shape.rank() == 0 || chance.Percent(35)) continue;
    const int64_t dim = chance.Below(shape.rank());
    if (shape.dim(dim) < 2 || parts[dim] * axes[axis].size > 2 * shape.dim(dim)) continue;
    parts[dim] *= axes[axis].size;
    named.dims[dim].axes.push_back({.axis = axis});
  }
  return sharding;
}

void State(Instruction& inst, const std::vector<MeshAxis>& axes, Chance& chance) {
  std::vector<Sharding> leaves;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    leaves.push_back(leaf.IsArray() ? AnySharding(axes, leaf, chance) : Sharding());
  });
  inst.mutable_common().sharding =
      inst.shape().IsTuple() ? Sharding{.kind = ShardingKind::kTuple, .leaves = std::move(leaves)} : leaves[0];
}

}  // namespace

void GrowShardings(Module& module, uint64_t seed) {
  Chance chance(seed ^ 0x5A4D);
  const std::vector<int64_t> sizes =
      chance.OneOf<std::vector<int64_t>>({{2}, {3}, {4}, {8}, {2, 2}, {2, 3}, {4, 2}, {2, 2, 2}});
  std::vector<MeshAxis> axes;
  module.header.num_partitions = 1;
  for (const int64_t size : sizes) {
    axes.push_back({std::string(1, static_cast<char>('x' + std::ssize(axes))), size});
    module.header.num_partitions *= size;
  }
  Computation& entry = module.entry();
  for (Instruction* inst : entry.Instructions()) {
    const bool is_border = inst->Is(Opcode::kParameter) || inst == &entry.root();
    if (!inst->shape().LeafCount() || inst->shape().HasDynamicDims()) continue;
    if (is_border || (inst->shape().IsArray() && chance.Percent(15))) State(*inst, axes, chance);
  }
}

}  // namespace hlo
