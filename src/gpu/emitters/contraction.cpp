// The emitter of contractions: dot and convolution with an elementwise epilogue, as products of tiles through shared
// memory. The fallback for library calls: right first, 35-40 % of a library's speed on the host at best.
#include "gpu/plan/contraction_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using kernel::Variable;
using Kind = ElementNode::Kind;

// Do loads of `node` run along `variable`?
bool RunsAlong(const ContractionSpace& space, NodeId node, IndexExpr variable) {
  const NodeId roots[] = {node};
  for (const NodeId id : space.graph.Reachable(roots)) {
    const ElementNode& each = space.graph.node(id);
    if (each.kind == Kind::kLoad && space.pool.Coefficient(each.offset, variable) == 1) return true;
  }
  return false;
}

EmittedKernel EmitTiles(ContractionSpace& space, const Instruction& hero, const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Type declared = KernelTypeOf(hero.shape().type()), type = AccumulatorType(hero, declared);
  const int64_t tile_rows = plan.tile[0], tile_columns = plan.tile[1], panel = plan.tile[2];
  const int64_t warps = plan.threads / 32, warp_rows = tile_rows / warps;
  const int width = static_cast<int>(plan.vector);
  const int64_t row_tiles = CeilDiv(space.rows, tile_rows), column_tiles = CeilDiv(space.columns, tile_columns);
  const int64_t panels = CeilDiv(space.terms, panel);

  std::vector<NodeId> needed = space.Epilogues();
  needed.push_back(space.lhs);
  needed.push_back(space.rhs);
  KernelFrame frame(space.graph, needed, space.groups * row_tiles * column_tiles, static_cast<int>(plan.threads),
                    request);
  std::vector<Array> outputs;
  for (const auto& output : space.outputs) outputs.push_back(frame.Output(*output.root));
  KernelBuilder& k = frame.k();
  // 128 registers a thread at most. Left to itself, ptxas takes 48 of the 56 that are needed, for one more block on the
  // SM, and spills the others.
  k.SetMinBlocksPerSm(2);
  Emission& emission = frame.emission();
  const Array a_tile = k.Shared("lhs", type, tile_rows * panel), b_tile = k.Shared("rhs", type, panel * tile_columns);
  const Value column0 = k.block() % column_tiles * tile_columns;
  const Value row0 = k.block() / column_tiles % row_tiles * tile_rows;
  emission.Bind(space.group, k.block() / (column_tiles * row_tiles));

  std::vector<Slot> sums;
  const auto zero = [&] { return kernel::IsFloat(type) ? k.Constant(type, 0.0) : k.Constant(type, int64_t{0}); };
  for (int64_t r = 0; r < warp_rows; ++r) {
    sums.push_back(k.MakeSlot(type, width));
    k.Fill(sums.back(), zero());
  }

  // An operand's tile: `line` is the variable that a warp steps along, `lane` the one its lanes take. Indices beyond
  // the end read the last element, and terms beyond the end are 0 on both sides.
  const auto fill = [&](const Array& tile, NodeId node, std::span<const IndexCondition> conditions, IndexExpr line,
                        Value line0, int64_t lines, int64_t line_size, IndexExpr lane, Value lane0, int64_t lanes,
                        int64_t lane_size, int64_t line_pitch, int64_t lane_pitch) {
    const int64_t terms = request.fault == "dropped_term" && space.terms > 1 ? space.terms - 1 : space.terms;
    const auto within = [&](Value index, int64_t size, int64_t step) {
      return size % step == 0 ? index : Min(index, k.Index(size - 1));
    };
    emission.SetLane(lane);
    k.Warps([&] {
      k.Loop(k.warp(), k.Index(lines), warps, [&](Value i) {
        Emission::Scope scope(emission);
        const Value at_line = line0 + i;
        emission.Bind(line, within(at_line, line_size, lines));
        const NodeId nodes[] = {node};
        emission.Hoist(nodes);
        for (const IndexCondition& condition : conditions) emission.Hoist(condition.expression);
        k.Tile(static_cast<int>(lanes / 32), [&](Value j) {
          Emission::Scope in_tile(emission);
          const Value at_lane = lane0 + j;
          emission.Bind(lane, within(at_lane, lane_size, lanes));
          Value value = Convert(Convert(emission.Emit(node), declared), type);
          if (!conditions.empty()) value = Select(emission.All(conditions), value, zero());
          if (terms % panel != 0) value = Select((line == space.term ? at_line : at_lane) < terms, value, zero());
          tile.Store(i * line_pitch + j * lane_pitch, value);
        });
      });
    });
  };

  k.Loop(int64_t{0}, space.positions * panels, 1, [&](Value step) {
    Emission::Scope scope(emission);
    emission.Bind(space.position, panels == 1 ? step : step / panels);
    const Value term0 = panels == 1 ? k.Index(0) : (space.positions == 1 ? step : step % panels) * panel;
    if (tile_rows % 32 == 0 && RunsAlong(space, space.lhs, space.row)) {
      fill(a_tile, space.lhs, space.lhs_conditions, space.term, term0, panel, space.terms, space.row, row0, tile_rows,
           space.rows, 1, panel);
    } else {
      fill(a_tile, space.lhs, space.lhs_conditions, space.row, row0, tile_rows, space.rows, space.term, term0, panel,
           space.terms, panel, 1);
    }
    if (RunsAlong(space, space.rhs, space.term)) {
      fill(b_tile, space.rhs, {}, space.column, column0, tile_columns, space.columns, space.term, term0, panel,
           space.terms, 1, tile_columns);
    } else {
      fill(b_tile, space.rhs, {}, space.term, term0, panel, space.terms, space.column, column0, tile_columns,
           space.columns, tile_columns, 1);
    }
    k.Warps([&] {
      const Value first = k.warp() * (warp_rows * panel);
      k.Tile(width, [&](Value i) {
        std::vector<Variable> running;
        for (const Slot& sum : sums) running.push_back(k.MakeVariable(sum.Get()));
        k.Loop(
            int64_t{0}, panel, 1,
            [&](Value t) {
              const Value b = b_tile.Load(t * tile_columns + i);
              for (int64_t r = 0; r < warp_rows; ++r) {
                const Value a = a_tile.Load(first + (t + r * panel));
                running[r].Set(kernel::IsFloat(type) ? Fma(a, b, running[r].Get()) : running[r].Get() + a * b);
              }
            },
            8);
        for (size_t r = 0; r < sums.size(); ++r) sums[r].Set(running[r].Get());
      });
    });
  });

  emission.SetLane(space.column);
  k.Warps([&] {
    for (int64_t r = 0; r < warp_rows; ++r) {
      const Value row = row0 + k.warp() * warp_rows + r;
      k.If(row < space.rows, [&] {
        Emission::Scope scope(emission);
        emission.Bind(space.row, row);
        emission.Hoist(space.Epilogues());
        for (const auto& output : space.outputs) emission.Hoist(output.offset);
        TileOver(k, width, space.columns, column0, tile_columns, [&](Value j) {
          Emission::Scope in_tile(emission);
          emission.Bind(space.column, column0 + j);
          for (const NodeId given : space.given) emission.Bind(given, {Convert(sums[r].Get(), declared)});
          std::vector<Value> results;
          for (const auto& output : space.outputs) results.push_back(emission.Emit(output.value));
          for (size_t o = 0; o < results.size(); ++o)
            outputs[o].Store(emission.Lower(space.outputs[o].offset), results[o]);
        });
      });
    }
  });
  EmittedKernel result = std::move(frame).Finish(hero.Is(Opcode::kDot) ? "dot, tiled" : "convolution, tiled");
  if (IsFloat(hero.shape().type())) {
    result.precision.instructions[hero.id()].sum =
        SumPlan{.accumulator = type == declared ? hero.shape().type() : PrimitiveType::kF32,
                .longest_chain = space.positions * space.terms};
  }
  return result;
}

}  // namespace

Result<EmittedKernel> EmitContraction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  TRY(request.Require(heroes.size() == 1 && (heroes[0]->Is(Opcode::kDot) || heroes[0]->Is(Opcode::kConvolution)) &&
                          heroes[0]->operand_count() == 2,
                      "its hero is one dot or convolution"));
  const Instruction& hero = *heroes[0];
  const PrimitiveType type = hero.shape().type();
  TRY(KernelType(hero, type));
  TRY(request.Require(hero.Is(Opcode::kDot) ? type != PrimitiveType::kPred
                                            : IsFloat(type) && hero.attrs<ConvolutionAttrs>().batch_group_count == 1,
                      Str("no tiles of '", hero.name(), "'")));
  TRY(request.RequireBlock(3));
  const int64_t warps = plan.threads / 32;
  TRY(request.Require(plan.tile[0] % warps == 0 && plan.tile[0] / warps <= 16 && plan.tile[1] == 32 * plan.vector &&
                          plan.vector <= 4 && (plan.tile[2] == 32 || plan.tile[2] == 64),
                      Str("a tile of ", plan.threads, " threads of ", plan.vector, " is 1 to 16 times ", warps,
                          " rows, ", 32 * plan.vector, " columns, 32 or 64 terms")));
  TRY(request.Require(plan.stages == 1, "its tiles are filled one at a time: stages is 1"));
  std::string why_not;
  const auto space = TRY(ContractionSpaceOf(request.body, hero, &why_not));
  TRY(request.Require(space != nullptr, why_not.empty() ? "the product has no terms" : why_not));
  return EmitTiles(*space, hero, request);
}

}  // namespace hlo::gpu
