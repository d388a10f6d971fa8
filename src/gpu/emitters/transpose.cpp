// Operands that are contiguous along another dimension than the outputs pass through tiles of shared memory, so that
// both sides access memory in runs. A tile [rows, columns, rows of a small tile] is a strip of small tiles. If the
// outputs' minor dimension is short, each thread reads one element of each run and writes them as neighbours.
#include "gpu/plan/transpose_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/scalar.h"
#include "gpu/emitters/transpose_box.h"
#include "gpu/plan/transpose_box.h"

namespace hlo::gpu {

using kernel::Array;
using kernel::CeilDiv;
using kernel::Value;

namespace {

Result<EmittedKernel> EmitInterleaved(LoopSpace& space, const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const LoopSpace::Variable& lane = space.variables[space.variables.size() - 2];
  const int64_t runs = space.minor().size, step = plan.tile[0], chunks = CeilDiv(lane.size, step);
  TRY(request.Require(step == plan.threads && plan.tile[1] == runs,
                      Str("its tile for runs side by side must be [", plan.threads, ",", runs, "]")));
  const TileAxis axes[] = {{lane.size, Role::kKept}, {runs, Role::kKept}};
  const std::vector<NodeId> values = space.Values();
  KernelFrame frame(space.graph, values, LaunchOf(space, axes, plan), request);
  const std::vector<Array> arrays = MakeOutputs(space, values, frame);
  kernel::KernelBuilder& k = frame.k();
  k.CountsTo(space.Size());
  Emission& emission = frame.emission();
  emission.SetLane(lane.e);
  const Value begin = chunks == 1 ? k.Index(0) : k.block() % chunks * step;
  Value rest = chunks == 1 ? k.block() : k.block() / chunks;
  for (size_t v = space.variables.size() - 2; v-- > 0;) {
    emission.Bind(space.variables[v].e, rest % space.variables[v].size);
    rest = rest / space.variables[v].size;
  }
  std::vector<Emission::ScopeData> of_run;
  for (int64_t run = 0; run < runs; ++run) {
    emission.Enter();
    emission.Bind(space.minor().e, k.Index(run));
    emission.Hoist(values);
    for (const auto& output : space.outputs) emission.Hoist(output.offset);
    of_run.push_back(emission.Leave());
  }
  TileOver(k, 1, lane.size, begin, step, [&](Value i) {
    // Elements are computed first, so that the stores become adjacent vectors.
    std::vector<std::vector<Value>> results;
    std::vector<Value> offsets;
    for (const Emission::ScopeData& run : of_run) {
      emission.Enter(run);
      {
        Emission::Scope in_tile(emission);
        emission.Bind(lane.e, begin + i);
        for (const auto& output : space.outputs) {
          results.push_back(emission.EmitParts(std::span(&output.value, 1)));
          offsets.push_back(emission.Lower(output.offset));
        }
      }
      emission.Leave();
    }
    for (size_t r = 0; r < results.size(); ++r) StoreElement(arrays[r % arrays.size()], offsets[r], results[r]);
  });
  return std::move(frame).Finish("transpose, runs side by side");
}

int WidthOf(int64_t side) { return static_cast<int>(CeilDiv(side, 32)); }

}  // namespace

Result<EmittedKernel> EmitTranspose(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  LoopTarget target;
  const auto space = TRY(target.SpaceOf(request, /*flat=*/false));
  TRY(request.RequireBlock(plan.tile.size()));
  if (plan.algorithm == kTransposeBox) return EmitTransposeBox(*space, request);
  if (Interleaves(*space)) return EmitInterleaved(*space, request);
  const Staged staged = FindStaged(*space);
  TRY(request.Require(!staged.loads.empty(), "no operand is read across its memory order in runs of 16 or more"));
  const auto is_side = [](int64_t size) { return size == 16 || size == 32 || size == 64; };
  TRY(request.Require(plan.tile.size() == 2 || plan.tile.size() == 3,
                      "its tile must have two sizes, or three with a strip"));
  const int64_t strip = plan.tile[0], tile_columns = plan.tile[1];
  const int64_t tile_rows = plan.tile.size() == 3 ? plan.tile[2] : strip;
  TRY(request.Require(is_side(tile_rows) && is_side(tile_columns) && strip % tile_rows == 0,
                      "the sides of its tile must be 16, 32 or 64, and a strip must be whole tiles"));
  const size_t across = staged.across;
  const LoopSpace::Variable &row_variable = space->variables[across], &column_variable = space->minor();
  const int64_t rows = row_variable.size, columns = column_variable.size;
  const int64_t strips = CeilDiv(rows, strip), column_tiles = CeilDiv(columns, tile_columns);

  const TileAxis axes[] = {{rows, Role::kKept}, {columns, Role::kKept}};
  KernelFrame frame(space->graph, space->Values(), LaunchOf(*space, axes, plan), request);
  const std::vector<Array> arrays = MakeOutputs(*space, space->Values(), frame);
  kernel::KernelBuilder& k = frame.k();
  k.CountsTo(space->Size());
  Emission& emission = frame.emission();
  const int warps = k.warps();

  // Neighbouring blocks take neighbouring rows of the outputs, which are adjacent in the operands. A kernel waits for
  // its loads, so long runs of loads matter more than long runs of stores.
  const Value first_row = k.block() % strips * strip;
  Value rest = k.block() / strips;
  const Value column0 = rest % column_tiles * tile_columns;
  rest = rest / column_tiles;
  for (size_t v = space->variables.size() - 1; v-- > 0;) {
    if (v == across) continue;
    emission.Bind(space->variables[v].e, rest % space->variables[v].size);
    rest = rest / space->variables[v].size;
  }

  // Whole small tiles of a strip are unrolled, to load several at once. Their rows are padded by a cache line, so that
  // vectors are stored and loaded as a whole and do not wait for each other.
  const bool is_written_out =
      strip > tile_rows && k.warps() == 1 && rows % tile_rows == 0 && columns % tile_columns == 0 && tile_rows <= 32;
  const auto each_line = [&](Value count, int64_t lines, const std::function<void(Value)>& body) {
    if (!is_written_out) return k.Loop(k.warp(), count, warps, body, 0);
    for (int64_t i = 0; i < lines; ++i) body(k.Index(i));
  };
  std::vector<Array> tiles;
  for (const NodeId load : staged.loads) {
    const kernel::Type type = KernelTypeOf(space->graph.node(load).inst->shape().type());
    tiles.push_back(k.SharedTile(Str("tile", tiles.size()), type, tile_columns, tile_rows,
                                 is_written_out ? 64 / kernel::Bytes(type) : 1));
  }
  const auto left_of = [&](int64_t size, int64_t tile, Value begin) {
    return size % tile == 0 ? k.Index(tile) : Min(k.Index(tile), k.Index(size) - begin);
  };
  const Value tile_width = left_of(columns, tile_columns, column0);
  const auto fill = [&](Array tile, NodeId load, Value row0) {
    each_line(tile_width, tile_columns, [&](Value column) {
      Emission::Scope scope(emission);
      emission.Bind(column_variable.e, column0 + column);
      emission.Hoist(space->graph.node(load).offset);
      TileOver(k, WidthOf(tile_rows), rows, row0, tile_rows, [&](Value row) {
        Emission::Scope in_tile(emission);
        emission.Bind(row_variable.e, row0 + row);
        tile.StoreAt(column, row, emission.Emit(load));
      });
    });
  };
  const auto write = [&](Value row0, Value tile_height) {
    each_line(tile_height, tile_rows, [&](Value row) {
      Emission::Scope scope(emission);
      emission.Bind(row_variable.e, row0 + row);
      EmitTile(*space, frame, arrays, WidthOf(tile_columns), column_variable.e, column0, tile_columns,
               [&](Value column) {
                 for (size_t j = 0; j < tiles.size(); ++j)
                   emission.Bind(staged.loads[j], {tiles[j].LoadTransposed(column, row)});
               });
    });
  };
  const auto turn_tile = [&](Value row0) {
    const Value tile_height = left_of(rows, tile_rows, row0);
    emission.SetLane(row_variable.e);
    for (size_t i = 0; i < tiles.size(); ++i) k.Warps([&] { fill(tiles[i], staged.loads[i], row0); });
    for (const Array tile : tiles) k.TransposeTile(tile, tile_width, tile_height);
    emission.SetLane(column_variable.e);
    k.Warps([&] { write(row0, tile_height); });
  };
  if (strip == tile_rows) {
    turn_tile(first_row);
  } else {
    k.Loop(first_row, Min(first_row + strip, k.Index(rows)), tile_rows, [&](Value row0) {
      Emission::Scope in_strip(emission);
      turn_tile(row0);
    });
  }
  return std::move(frame).Finish("transpose");
}

}  // namespace hlo::gpu
