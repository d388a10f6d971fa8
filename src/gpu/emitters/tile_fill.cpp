#include "gpu/emitters/tile_fill.h"

#include "gpu/emitters/scalar.h"

namespace hlo::gpu {

void FillTile(KernelBuilder& k, Emission& emission, const Array& tile, NodeId node, Type declared,
              std::span<const IndexCondition> conditions, const FillAxis& line, const FillAxis& lane,
              IndexExpr lane_index) {
  const Value zero = kernel::IsFloat(tile.type()) ? k.Constant(tile.type(), 0.0) : k.Constant(tile.type(), int64_t{0});
  const auto within = [&](Value index, const FillAxis& axis) {
    return axis.size % axis.steps == 0 ? index : Min(index, k.Index(axis.size - 1));
  };
  emission.SetLane(lane_index);
  k.Warps([&] {
    const auto fill_line = [&](Value first) {
      Emission::Scope scope(emission);
      const Value i = first + k.warp(), at_line = line.from + i;
      line.bind(within(at_line, line));
      const NodeId nodes[] = {node};
      emission.Hoist(nodes);
      for (const IndexCondition& condition : conditions) emission.Hoist(condition.expression);
      k.Tile(static_cast<int>(lane.steps / 32), [&](Value j) {
        Emission::Scope in_tile(emission);
        const Value at_lane = lane.from + j;
        lane.bind(within(at_lane, lane));
        Value value = Convert(Convert(emission.Emit(node), declared), tile.type());
        if (!conditions.empty()) value = Select(emission.All(conditions), value, zero);
        for (const auto& [axis, at] : {std::pair(&line, at_line), std::pair(&lane, at_lane)}) {
          if (axis->counted && *axis->counted % axis->steps != 0) value = Select(at < *axis->counted, value, zero);
        }
        tile.Store(i * line.pitch + j * lane.pitch, value);
      });
    };
    // Unrolls as far as registers allow, to load several lines before the first is needed.
    k.Loop(int64_t{0}, line.steps, k.warps(), fill_line, kernel::Bytes(tile.type()) <= 2 ? 8 : 4);
  });
}

}  // namespace hlo::gpu
