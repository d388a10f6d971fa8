// Operands that are contiguous along another dimension than the outputs pass through tiles of shared memory, so that
// both sides access memory in runs. A tile [rows, columns, rows of a small tile] is a strip of small tiles. If the
// outputs' minor dimension is short, each thread reads one element of each run and writes them as neighbours.
#include "gpu/plan/transpose_space.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/scalar.h"
#include "gpu/emitters/transpose_box.h"
#include "gpu/plan/transpose_box.h"

namespace hlo::gpu {

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
  KernelBuilder& k = frame.k();
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

// A strip of whole tiles of [rows, columns].
struct TileSides {
  int64_t strip, rows, columns;
};

Result<TileSides> SidesOf(const EmitRequest& request) {
  const std::vector<int64_t>& tile = request.plan.tile;
  const auto is_side = [](int64_t size) { return size == 16 || size == 32 || size == 64; };
  TRY(request.Require(tile.size() == 2 || tile.size() == 3, "its tile must have two sizes, or three with a strip"));
  const TileSides sides = {tile[0], tile.size() == 3 ? tile[2] : tile[0], tile[1]};
  TRY(request.Require(is_side(sides.rows) && is_side(sides.columns) && sides.strip % sides.rows == 0,
                      "the sides of its tile must be 16, 32 or 64, and a strip must be whole tiles"));
  return sides;
}

class StagedTranspose {
 public:
  StagedTranspose(LoopSpace& space, const Staged& staged, const TileSides& sides, const EmitRequest& request)
      : space_(space),
        staged_(staged),
        sides_(sides),
        row_(space.variables[staged.across]),
        column_(space.minor()),
        frame_(space.graph, space.Values(), LaunchOf(space, Axes(), request.plan), request),
        arrays_(MakeOutputs(space, space.Values(), frame_)),
        k_(frame_.k()),
        emission_(frame_.emission()),
        is_written_out_(sides.strip > sides.rows && k_.warps() == 1 && row_.size % sides.rows == 0 &&
                        column_.size % sides.columns == 0 && sides.rows <= 32) {
    k_.CountsTo(space.Size());
  }

  EmittedKernel Emit() && {
    const Value first_row = BindBlock();
    for (const NodeId load : staged_.loads) {
      const Type type = KernelTypeOf(space_.graph.node(load).inst->shape().type());
      tiles_.push_back(k_.SharedTile(Str("tile", tiles_.size()), type, sides_.columns, sides_.rows,
                                     is_written_out_ ? 64 / kernel::Bytes(type) : 1));
    }
    tile_width_ = LeftOf(column_.size, sides_.columns, column0_);
    if (sides_.strip == sides_.rows) {
      EmitTileAt(first_row);
    } else {
      k_.Loop(first_row, Min(first_row + sides_.strip, k_.Index(row_.size)), sides_.rows, [&](Value row0) {
        Emission::Scope in_strip(emission_);
        EmitTileAt(row0);
      });
    }
    return std::move(frame_).Finish("transpose");
  }

 private:
  std::array<TileAxis, 2> Axes() const { return {{{row_.size, Role::kKept}, {column_.size, Role::kKept}}}; }

  // Neighbouring blocks take neighbouring rows of the outputs, which are adjacent in the operands. A kernel waits for
  // its loads, so long runs of loads matter more than long runs of stores.
  Value BindBlock() {
    const int64_t strips = CeilDiv(row_.size, sides_.strip), column_tiles = CeilDiv(column_.size, sides_.columns);
    const Value first_row = k_.block() % strips * sides_.strip;
    Value rest = k_.block() / strips;
    column0_ = rest % column_tiles * sides_.columns;
    rest = rest / column_tiles;
    for (size_t v = space_.variables.size() - 1; v-- > 0;) {
      if (v == staged_.across) continue;
      emission_.Bind(space_.variables[v].e, rest % space_.variables[v].size);
      rest = rest / space_.variables[v].size;
    }
    return first_row;
  }

  Value LeftOf(int64_t size, int64_t tile, Value begin) {
    return size % tile == 0 ? k_.Index(tile) : Min(k_.Index(tile), k_.Index(size) - begin);
  }

  // Whole small tiles of a strip are unrolled, to load several at once. Their rows are padded by a cache line, so that
  // vectors are stored and loaded as a whole and do not wait for each other.
  void EachLine(Value count, int64_t lines, const std::function<void(Value)>& body) {
    if (!is_written_out_) return k_.Loop(k_.warp(), count, k_.warps(), body, 0);
    for (int64_t i = 0; i < lines; ++i) body(k_.Index(i));
  }

  void Fill(Array tile, NodeId load, Value row0) {
    EachLine(tile_width_, sides_.columns, [&](Value column) {
      Emission::Scope scope(emission_);
      emission_.Bind(column_.e, column0_ + column);
      emission_.Hoist(space_.graph.node(load).offset);
      TileOver(k_, WidthOf(sides_.rows), row_.size, row0, sides_.rows, [&](Value row) {
        Emission::Scope in_tile(emission_);
        emission_.Bind(row_.e, row0 + row);
        tile.StoreAt(column, row, emission_.Emit(load));
      });
    });
  }

  void Write(Value row0, Value tile_height) {
    EachLine(tile_height, sides_.rows, [&](Value row) {
      Emission::Scope scope(emission_);
      emission_.Bind(row_.e, row0 + row);
      EmitTile(space_, frame_, arrays_, WidthOf(sides_.columns), column_.e, column0_, sides_.columns,
               [&](Value column) {
                 for (size_t j = 0; j < tiles_.size(); ++j)
                   emission_.Bind(staged_.loads[j], {tiles_[j].LoadTransposed(column, row)});
               });
    });
  }

  void EmitTileAt(Value row0) {
    const Value tile_height = LeftOf(row_.size, sides_.rows, row0);
    emission_.SetLane(row_.e);
    for (size_t i = 0; i < tiles_.size(); ++i) k_.Warps([&] { Fill(tiles_[i], staged_.loads[i], row0); });
    for (const Array tile : tiles_) k_.TransposeTile(tile, tile_width_, tile_height);
    emission_.SetLane(column_.e);
    k_.Warps([&] { Write(row0, tile_height); });
  }

  LoopSpace& space_;
  const Staged& staged_;
  const TileSides sides_;
  const LoopSpace::Variable &row_, &column_;
  KernelFrame frame_;
  const std::vector<Array> arrays_;
  KernelBuilder& k_;
  Emission& emission_;
  const bool is_written_out_;
  std::vector<Array> tiles_;
  Value column0_, tile_width_;
};

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
  const TileSides sides = TRY(SidesOf(request));
  return StagedTranspose(*space, staged, sides, request).Emit();
}

}  // namespace hlo::gpu
