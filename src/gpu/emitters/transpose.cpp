// The emitter of transposes: a loop whose operands' minor dimension moves reads them through tiles of shared memory, so
// that both sides of the transpose touch memory in runs.
#include "gpu/plan/transpose_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {

using kernel::Array;
using kernel::CeilDiv;
using kernel::Value;

Result<EmittedKernel> EmitTranspose(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  LoopTarget target;
  const auto space = TRY(target.SpaceOf(request, /*flat=*/false));
  const Staged staged = FindStaged(*space);
  TRY(request.Require(!staged.loads.empty(), "no operand is read across its memory order in runs of 16 or more"));
  TRY(request.RequireBlock(2));
  const auto is_side = [](int64_t size) { return size == 32 || size == 64; };
  TRY(request.Require(std::ranges::all_of(plan.tile, is_side), "the sides of its tile are 32 or 64"));
  const size_t across = staged.across;
  const LoopSpace::Variable &row_variable = space->variables[across], &column_variable = space->minor();
  const int64_t rows = row_variable.size, columns = column_variable.size;
  const int64_t tile_rows = plan.tile[0], tile_columns = plan.tile[1];
  const int64_t row_tiles = CeilDiv(rows, tile_rows), column_tiles = CeilDiv(columns, tile_columns);

  const TileAxis axes[] = {{rows, Role::kKept}, {columns, Role::kKept}};
  KernelFrame frame(space->graph, space->Values(), LaunchOf(*space, axes, plan), request);
  const std::vector<Array> arrays = MakeOutputs(*space, space->Values(), frame);
  kernel::KernelBuilder& k = frame.k();
  k.CountsTo(space->Size());
  Emission& emission = frame.emission();
  const int warps = k.warps();

  // Neighbouring blocks take neighbouring rows of the outputs, which lie side by side in what they read: long runs of
  // reading are worth more than long runs of writing, since what is read has to be waited for.
  const Value row0 = k.block() % row_tiles * tile_rows;
  Value rest = k.block() / row_tiles;
  const Value column0 = rest % column_tiles * tile_columns;
  rest = rest / column_tiles;
  for (size_t v = space->variables.size() - 1; v-- > 0;) {
    if (v == across) continue;
    emission.Bind(space->variables[v].e, rest % space->variables[v].size);
    rest = rest / space->variables[v].size;
  }

  const Value tile_height = Min(k.Index(tile_rows), k.Index(rows) - row0);
  const Value tile_width = Min(k.Index(tile_columns), k.Index(columns) - column0);
  std::vector<Array> tiles;
  emission.SetLane(row_variable.e);
  for (const NodeId load : staged.loads) {
    const ElementNode& node = space->graph.node(load);
    const Array tile =
        k.SharedTile(Str("tile", tiles.size()), KernelTypeOf(node.inst->shape().type()), tile_columns, tile_rows);
    tiles.push_back(tile);
    k.Warps([&] {
      k.Loop(
          k.warp(), tile_width, warps,
          [&](Value column) {
            Emission::Scope scope(emission);
            emission.Bind(column_variable.e, column0 + column);
            emission.Hoist(node.offset);
            TileOver(k, static_cast<int>(tile_rows / 32), rows, row0, tile_rows, [&](Value row) {
              Emission::Scope in_tile(emission);
              emission.Bind(row_variable.e, row0 + row);
              tile.StoreAt(column, row, emission.Emit(load));
            });
          },
          0);
    });
  }
  for (const Array tile : tiles) k.Turn(tile, tile_width, tile_height);
  emission.SetLane(column_variable.e);
  k.Warps([&] {
    k.Loop(
        k.warp(), tile_height, warps,
        [&](Value row) {
          Emission::Scope scope(emission);
          emission.Bind(row_variable.e, row0 + row);
          EmitTile(*space, frame, arrays, static_cast<int>(tile_columns / 32), column_variable.e, column0, tile_columns,
                   [&](Value column) {
                     for (size_t j = 0; j < tiles.size(); ++j)
                       emission.Bind(staged.loads[j], {tiles[j].LoadTurned(column, row)});
                   });
        },
        0);
  });
  return std::move(frame).Finish("transpose");
}

}  // namespace hlo::gpu
