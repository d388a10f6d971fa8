#include "gpu/emitters/transpose.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::Value;
using Kind = ElementNode::Kind;

constexpr int64_t kLeastRun = 16;  // Shorter runs than this are not worth a tile.
constexpr int64_t kSharedBytes = 40 << 10;
constexpr int64_t kLine = 64;

// The loads that go with stride along the minor variable and without along another one, the same for all of them.
struct Staged {
  size_t across = 0;  // Into plan.variables.
  std::vector<NodeId> loads;
};

Staged FindStaged(const LoopPlan& plan) {
  Staged staged;
  if (plan.variables.size() < 2) return staged;
  const IndexExpr minor = plan.variables.back();
  for (const NodeId id : plan.graph.Reachable(plan.Values())) {
    const ElementNode& node = plan.graph.node(id);
    if (node.kind != Kind::kLoad || !plan.pool.DependsOn(node.offset, minor)) continue;
    const int64_t stride = plan.pool.Coefficient(node.offset, minor);
    if (stride == 1 || stride == IndexPool::kNotLinear) continue;
    for (size_t v = 0; v + 1 < plan.variables.size(); ++v) {
      if (plan.pool.Coefficient(node.offset, plan.variables[v]) != 1) continue;
      if (!staged.loads.empty() && staged.across != v) return {};
      staged.across = v;
      staged.loads.push_back(id);
    }
  }
  if (!staged.loads.empty() && (plan.sizes[staged.across] < kLeastRun || plan.sizes.back() < kLeastRun)) return {};
  return staged;
}

}  // namespace

std::optional<KernelPlan> EmitTranspose(LoopPlan& plan, const EmitterOptions& options, std::string_view suffix) {
  const Staged staged = FindStaged(plan);
  if (staged.loads.empty() || plan.outputs[0].in_place_leaf >= 0) return std::nullopt;
  const size_t across = staged.across;
  const int64_t rows = plan.sizes[across], columns = plan.sizes.back();
  int64_t element_bytes = 0, output_bytes = kLine;
  for (const NodeId load : staged.loads)
    element_bytes += kernel::Bytes(KernelTypeOf(plan.graph.node(load).inst->shape().type()));
  for (const LoopPlan::Output& output : plan.outputs)
    output_bytes = std::min<int64_t>(output_bytes, kernel::Bytes(KernelTypeOf(output.root->shape->type())));
  const auto fits = [&](int64_t r, int64_t c) { return c * (r + 1) * element_bytes <= kSharedBytes; };
  // The prefetchers of a CPU follow some 32 rows at a time. More only where 32 elements of the output are a single
  // line, or parts of lines.
  const bool runs_are_lines = columns * output_bytes % kLine == 0 && 32 * output_bytes >= 2 * kLine;
  const int64_t tile_rows = rows >= 64 && fits(64, 32) ? 64 : 32;
  const int64_t tile_columns = !runs_are_lines && columns >= 64 && fits(tile_rows, 64) ? 64 : 32;
  if (!fits(tile_rows, tile_columns)) return std::nullopt;

  const int64_t row_tiles = CeilDiv(rows, tile_rows), column_tiles = CeilDiv(columns, tile_columns);
  int64_t batches = 1;
  for (size_t v = 0; v + 1 < plan.variables.size(); ++v) batches *= v == across ? 1 : plan.sizes[v];

  KernelFrame frame(plan.graph, plan.Values(), batches * row_tiles * column_tiles, 256, options, suffix);
  const std::vector<Array> arrays = MakeOutputs(plan, frame);
  kernel::KernelBuilder& k = frame.k();
  k.CountsTo(batches * rows * columns);
  Emission& emission = frame.emission();
  const int warps = k.warps();
  const IndexExpr row_variable = plan.variables[across], column_variable = plan.variables.back();

  // Neighbouring blocks take neighbouring rows of the outputs, which lie side by side in what they read: long runs of
  // reading are worth more than long runs of writing, since what is read has to be waited for.
  const Value row0 = k.block() % row_tiles * tile_rows;
  Value rest = k.block() / row_tiles;
  const Value column0 = rest % column_tiles * tile_columns;
  rest = rest / column_tiles;
  for (size_t v = plan.variables.size() - 1; v-- > 0;) {
    if (v == across) continue;
    emission.Bind(plan.variables[v], rest % plan.sizes[v]);
    rest = rest / plan.sizes[v];
  }

  const Value tile_height = Min(k.Index(tile_rows), k.Index(rows) - row0);
  const Value tile_width = Min(k.Index(tile_columns), k.Index(columns) - column0);
  std::vector<Array> tiles;
  emission.SetLane(row_variable);
  for (const NodeId load : staged.loads) {
    const ElementNode& node = plan.graph.node(load);
    const Array tile =
        k.SharedTile(Str("tile", tiles.size()), KernelTypeOf(node.inst->shape().type()), tile_columns, tile_rows);
    tiles.push_back(tile);
    k.Warps([&] {
      k.Loop(
          k.warp(), tile_width, warps,
          [&](Value column) {
            Emission::Scope scope(emission);
            emission.Bind(column_variable, column0 + column);
            emission.Hoist(node.offset);
            TileOver(k, static_cast<int>(tile_rows / 32), rows, row0, tile_rows, [&](Value row) {
              Emission::Scope in_tile(emission);
              emission.Bind(row_variable, row0 + row);
              tile.StoreAt(column, row, emission.Emit(load));
            });
          },
          0);
    });
  }
  for (const Array tile : tiles) k.Turn(tile, tile_width, tile_height);
  emission.SetLane(column_variable);
  k.Warps([&] {
    k.Loop(
        k.warp(), tile_height, warps,
        [&](Value row) {
          Emission::Scope scope(emission);
          emission.Bind(row_variable, row0 + row);
          EmitTile(plan, frame, arrays, static_cast<int>(tile_columns / 32), column_variable, column0, tile_columns,
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
