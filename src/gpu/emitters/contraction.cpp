// The emitter of contractions: dot and convolution with an elementwise epilogue, as products of tiles through shared
// memory. The fallback for library calls on a GPU: right first.
#include "gpu/plan/contraction_space.h"

#include <array>
#include <functional>

#include "base/text.h"
#include "gpu/emitters/product.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using kernel::Variable;

class TiledProduct {
 public:
  TiledProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request)
      : space_(space),
        hero_(hero),
        declared_(KernelTypeOf(hero.shape().type())),
        type_(SumTypeOf(hero)),
        tile_rows_(request.plan.tile[0]),
        tile_columns_(request.plan.tile[1]),
        panel_(request.plan.tile[2]),
        warps_(request.plan.threads / 32),
        warp_rows_(tile_rows_ / warps_),
        steps_(space.position().size * CeilDiv(space.term().size, panel_)),
        splits_(request.plan.splits),
        share_(CeilDiv(steps_, splits_)),
        width_(static_cast<int>(request.plan.vector)),
        summed_(request.fault == "dropped_term" && space.term().size > 1 ? space.term().size - 1 : space.term().size),
        frame_(space.graph, space.Needed(), LaunchOf(space, Axes(space), request.plan), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        results_(space, hero, frame_) {}

  EmittedKernel Emit() && {
    // 128 registers a thread at most. Left to itself, ptxas takes 48 of the 56 that are needed, for one more block on
    // the SM, and spills the others.
    k_.SetMinBlocksPerSm(2);
    lhs_tile_ = k_.Shared("lhs", type_, tile_rows_ * panel_);
    rhs_tile_ = k_.Shared("rhs", type_, panel_ * tile_columns_);
    const int64_t row_tiles = CeilDiv(space_.row().size, tile_rows_);
    const int64_t column_tiles = CeilDiv(space_.column().size, tile_columns_);
    const int64_t tiles = row_tiles * column_tiles * space_.group().size;
    Array partials, counters;
    if (splits_ > 1) {
      partials = frame_.Scratch(0, type_, tiles * splits_ * tile_rows_ * tile_columns_);
      counters = frame_.Scratch(1, Type::kU32, tiles, true);
    }
    const Value tile = splits_ == 1 ? k_.block() : k_.block() / splits_;
    column0_ = tile % column_tiles * tile_columns_;
    row0_ = tile / column_tiles % row_tiles * tile_rows_;
    emission_.Bind(space_.group().e, tile / (column_tiles * row_tiles));
    for (int64_t r = 0; r < warp_rows_; ++r) {
      sums_.push_back(k_.MakeSlot(type_, width_));
      k_.Fill(sums_.back(), Zero());
    }
    const int64_t positions = space_.position().size, panels = CeilDiv(space_.term().size, panel_);
    const auto multiply = [&](Value step) {
      Emission::Scope scope(emission_);
      emission_.Bind(space_.position().e, panels == 1 ? step : step / panels);
      FillTiles(panels == 1 ? k_.Index(0) : (positions == 1 ? step : step % panels) * panel_);
      Multiply();
    };
    if (splits_ == 1) {
      k_.Loop(int64_t{0}, steps_, 1, multiply);
      Store();
    } else {
      const Value first = k_.block() % splits_ * share_;
      k_.Loop(first, Min(first + share_, k_.Index(steps_)), 1, multiply);
      StoreLast(partials, counters, tile);
    }
    return std::move(results_).Finish(hero_.Is(Opcode::kDot) ? "dot, tiled" : "convolution, tiled", type_);
  }

 private:
  using Dimension = ContractionSpace::Variable;

  // A way through a variable: from where, how far, and how far apart its neighbours lie in the tile.
  struct Way {
    const Dimension& variable;
    Value from;
    int64_t steps, pitch;
  };

  static std::array<TileAxis, 3> Axes(const ContractionSpace& space) {
    return {TileAxis{space.row().size, Role::kKept}, TileAxis{space.column().size, Role::kKept},
            TileAxis{space.term().size, Role::kReduced}};
  }

  Value Zero() { return kernel::IsFloat(type_) ? k_.Constant(type_, 0.0) : k_.Constant(type_, int64_t{0}); }

  // An operand's tile: a warp steps along `line`, its lanes take `lane`. Indices beyond the end read the last element,
  // and terms beyond the end are 0 on both sides.
  void Fill(const Array& tile, NodeId node, std::span<const IndexCondition> conditions, const Way& line,
            const Way& lane) {
    const auto within = [&](Value index, const Way& way) {
      return way.variable.size % way.steps == 0 ? index : Min(index, k_.Index(way.variable.size - 1));
    };
    emission_.SetLane(lane.variable.e);
    k_.Warps([&] {
      k_.Loop(k_.warp(), k_.Index(line.steps), warps_, [&](Value i) {
        Emission::Scope scope(emission_);
        const Value at_line = line.from + i;
        emission_.Bind(line.variable.e, within(at_line, line));
        const NodeId nodes[] = {node};
        emission_.Hoist(nodes);
        for (const IndexCondition& condition : conditions) emission_.Hoist(condition.expression);
        k_.Tile(static_cast<int>(lane.steps / 32), [&](Value j) {
          Emission::Scope in_tile(emission_);
          const Value at_lane = lane.from + j;
          emission_.Bind(lane.variable.e, within(at_lane, lane));
          Value value = Convert(Convert(emission_.Emit(node), declared_), type_);
          if (!conditions.empty()) value = Select(emission_.All(conditions), value, Zero());
          if (summed_ % panel_ != 0)
            value = Select((&line.variable == &space_.term() ? at_line : at_lane) < summed_, value, Zero());
          tile.Store(i * line.pitch + j * lane.pitch, value);
        });
      });
    });
  }

  void FillTiles(Value term0) {
    const auto rows = [&](int64_t pitch) { return Way{space_.row(), row0_, tile_rows_, pitch}; };
    const auto columns = [&](int64_t pitch) { return Way{space_.column(), column0_, tile_columns_, pitch}; };
    const auto terms = [&](int64_t pitch) { return Way{space_.term(), term0, panel_, pitch}; };
    if (tile_rows_ % 32 == 0 && space_.RunsAlong(space_.lhs, space_.row())) {
      Fill(lhs_tile_, space_.lhs, space_.lhs_conditions, terms(1), rows(panel_));
    } else {
      Fill(lhs_tile_, space_.lhs, space_.lhs_conditions, rows(panel_), terms(1));
    }
    if (space_.RunsAlong(space_.rhs, space_.term())) {
      Fill(rhs_tile_, space_.rhs, {}, columns(1), terms(tile_columns_));
    } else {
      Fill(rhs_tile_, space_.rhs, {}, terms(tile_columns_), columns(1));
    }
  }

  void Multiply() {
    k_.Warps([&] {
      const Value first = k_.warp() * (warp_rows_ * panel_);
      k_.Tile(width_, [&](Value i) {
        std::vector<Variable> running;
        for (const Slot& sum : sums_) running.push_back(k_.MakeVariable(sum.Get()));
        k_.Loop(
            int64_t{0}, panel_, 1,
            [&](Value t) {
              const Value b = rhs_tile_.Load(t * tile_columns_ + i);
              for (int64_t r = 0; r < warp_rows_; ++r) {
                const Value a = lhs_tile_.Load(first + (t + r * panel_));
                running[r].Set(kernel::IsFloat(type_) ? Fma(a, b, running[r].Get()) : running[r].Get() + a * b);
              }
            },
            8);
        for (size_t r = 0; r < sums_.size(); ++r) sums_[r].Set(running[r].Get());
      });
    });
  }

  void Store() {
    k_.Warps([&] { results_.Store(sums_, row0_, tile_rows_, column0_, tile_columns_); });
  }

  // Blocks that share a tile leave what they have as [tile][split][row][column]; the last to arrive adds that up, in
  // the order of the terms.
  void StoreLast(const Array& partials, const Array& counters, Value tile) {
    const int64_t size = tile_rows_ * tile_columns_;
    // The sums of a warp's rows and their places in the partial results that begin at `from`.
    const auto for_each_sum = [&](Value from, const std::function<void(const Slot&, Value)>& f) {
      const Value mine = from + k_.warp() * (warp_rows_ * tile_columns_);
      k_.Tile(width_, [&](Value i) {
        for (int64_t r = 0; r < warp_rows_; ++r) f(sums_[r], mine + i + r * tile_columns_);
      });
    };
    k_.Warps(
        [&] { for_each_sum(k_.block() * size, [&](const Slot& sum, Value at) { partials.Store(at, sum.Get()); }); });
    k_.If(k_.ArriveLast(counters, tile, splits_), [&] {
      Emission::Scope last(emission_);
      k_.Warps([&] {
        for (const Slot& sum : sums_) k_.Fill(sum, Zero());
        k_.Loop(int64_t{0}, splits_, 1, [&](Value split) {
          for_each_sum((tile * splits_ + split) * size,
                       [&](const Slot& sum, Value at) { sum.Set(sum.Get() + partials.Load(at)); });
        });
        results_.Store(sums_, row0_, tile_rows_, column0_, tile_columns_);
      });
    });
  }

  ContractionSpace& space_;
  const Instruction& hero_;
  const Type declared_, type_;
  const int64_t tile_rows_, tile_columns_, panel_, warps_, warp_rows_;
  const int64_t steps_, splits_, share_;  // Panels of terms: all, among how many blocks, of one.
  const int width_;
  const int64_t summed_;  // Terms that count.
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ProductResults results_;
  Array lhs_tile_, rhs_tile_;
  Value column0_, row0_;
  std::vector<Slot> sums_;
};

}  // namespace

Result<EmittedKernel> EmitContraction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Instruction& hero = *TRY(ProductOf(request));
  TRY(request.RequireBlock(3));
  if (plan.tile[2] == kStreamedPanel) return EmitStreamedContraction(request);
  if (plan.tile[2] >= kLeastPackedPanel) return EmitPackedContraction(request);
  const int64_t warps = plan.threads / 32;
  TRY(request.Require(plan.tile[0] % warps == 0 && plan.tile[0] / warps <= 16 && plan.tile[1] == 32 * plan.vector &&
                          plan.vector <= 4 && (plan.tile[2] == 32 || plan.tile[2] == 64),
                      Str("a tile of ", plan.threads, " threads of ", plan.vector, " is 1 to 16 times ", warps,
                          " rows, ", 32 * plan.vector, " columns, 32 or 64 terms")));
  TRY(request.Require(plan.stages == 1, "its tiles are filled one at a time: stages is 1"));
  std::string why_not;
  const auto space = TRY(ContractionSpaceOf(request.body, hero, &why_not));
  TRY(request.Require(space != nullptr, why_not.empty() ? "the product has no terms" : why_not));
  return TiledProduct(*space, hero, request).Emit();
}

}  // namespace hlo::gpu
