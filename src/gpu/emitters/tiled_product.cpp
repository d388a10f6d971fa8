#include "gpu/emitters/tiled_product.h"

#include "gpu/emitters/scalar.h"

namespace hlo::gpu {

namespace {

int64_t TileSize(int64_t lines, int64_t panel, TilePitches pitches) {
  return pitches.term == 1 ? lines * pitches.line : panel * pitches.term;
}

}  // namespace

TiledProduct::TiledProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request,
                           Type operand_type, TilePitches lhs_pitches, TilePitches rhs_pitches)
    : space_(space),
      hero_(hero),
      declared_(KernelTypeOf(hero.shape().type())),
      operand_type_(operand_type),
      sum_type_(SumTypeOf(hero)),
      tile_rows_(request.plan.tile[0]),
      tile_columns_(request.plan.tile[1]),
      panel_(request.plan.tile[2]),
      warps_(request.plan.threads / 32),
      splits_(request.plan.splits),
      lhs_pitches_(lhs_pitches),
      rhs_pitches_(rhs_pitches),
      frame_(space.graph, space.Needed(), LaunchOf(space, ProductAxes(space), request.plan), request),
      k_(frame_.k()),
      emission_(frame_.emission()),
      results_(space, hero, frame_) {}

void TiledProduct::Emit() {
  // Limits each thread to 128 registers. By itself, ptxas fits one more block on the SM, and spills.
  k_.SetMinBlocksPerSm(2);
  lhs_tile_ = k_.Shared("lhs", operand_type_, TileSize(tile_rows_, panel_, lhs_pitches_));
  rhs_tile_ = k_.Shared("rhs", operand_type_, TileSize(tile_columns_, panel_, rhs_pitches_));
  const int64_t row_tiles = CeilDiv(space_.row().size, tile_rows_);
  const int64_t column_tiles = CeilDiv(space_.column().size, tile_columns_);
  const int64_t tiles = row_tiles * column_tiles * space_.group().size;
  Array partials, counters;
  if (splits_ > 1) {
    partials = frame_.Scratch(0, sum_type_, tiles * splits_ * tile_rows_ * tile_columns_);
    counters = frame_.Scratch(1, Type::kU32, tiles, true);
  }
  const Value tile = splits_ == 1 ? k_.block() : k_.block() / splits_;
  column0_ = tile % column_tiles * tile_columns_;
  row0_ = tile / column_tiles % row_tiles * tile_rows_;
  emission_.Bind(space_.group().e, tile / (column_tiles * row_tiles));
  BeginSums();
  const int64_t positions = space_.position().size, panels = CeilDiv(space_.term().size, panel_);
  const int64_t steps = positions * panels;
  const auto multiply = [&](Value step) {
    Emission::Scope scope(emission_);
    emission_.Bind(space_.position().e, panels == 1 ? step : step / panels);
    FillTiles(panels == 1 ? k_.Index(0) : (positions == 1 ? step : step % panels) * panel_);
    Multiply();
  };
  if (splits_ == 1) {
    k_.Loop(int64_t{0}, steps, 1, multiply);
    return Store();
  }
  const int64_t share = CeilDiv(steps, splits_), size = tile_rows_ * tile_columns_;
  const Value first = k_.block() % splits_ * share;
  k_.Loop(first, Min(first + share, k_.Index(steps)), 1, multiply);
  LeavePartials(partials, k_.block() * size);
  k_.If(k_.ArriveLast(counters, tile, splits_), [&] {
    Emission::Scope last(emission_);
    StorePartials(partials, tile * (splits_ * size));
  });
}

FillAxis TiledProduct::Along(const Axis& axis) {
  const Dimension& variable = axis.variable;
  const bool is_term = &variable == &space_.term();
  return {.bind = [this, e = variable.e](Value value) { emission_.Bind(e, value); },
          .size = variable.size,
          .from = axis.from,
          .steps = axis.steps,
          .pitch = axis.pitch,
          .counted = is_term ? std::optional(variable.size) : std::nullopt};
}

void TiledProduct::Fill(const Array& tile, NodeId node, std::span<const IndexCondition> conditions, const Axis& line,
                        const Axis& lane) {
  FillTile(k_, emission_, tile, node, declared_, conditions, Along(line), Along(lane), lane.variable.e);
}

void TiledProduct::FillTiles(Value term0) {
  const Axis rows{space_.row(), row0_, tile_rows_, lhs_pitches_.line};
  const Axis columns{space_.column(), column0_, tile_columns_, rhs_pitches_.line};
  const auto terms = [&](TilePitches pitches) { return Axis{space_.term(), term0, panel_, pitches.term}; };
  if (tile_rows_ % 32 == 0 && space_.RunsAlong(space_.lhs, space_.row())) {
    Fill(lhs_tile_, space_.lhs, space_.lhs_conditions, terms(lhs_pitches_), rows);
  } else {
    Fill(lhs_tile_, space_.lhs, space_.lhs_conditions, rows, terms(lhs_pitches_));
  }
  if (space_.RunsAlong(space_.rhs, space_.term())) {
    Fill(rhs_tile_, space_.rhs, {}, columns, terms(rhs_pitches_));
  } else {
    Fill(rhs_tile_, space_.rhs, {}, terms(rhs_pitches_), columns);
  }
}

}  // namespace hlo::gpu
