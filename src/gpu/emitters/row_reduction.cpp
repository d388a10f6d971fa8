// Emitters of reductions over minor dimensions (rows), by any reducer of scalar ops. Producers, elementwise epilogues
// and stores of reduced elements are fused.
//
//   rows   a block or a warp folds each row; a few long rows are split over blocks, and the last block to arrive
//          combines their partial results in order
//   lanes  each thread folds a short row through a tile of shared memory, so that memory is read along rows
//
// Shapes and plan determine the order of terms, so the bits are the same each time.
#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/reduction_body.h"

namespace hlo::gpu {
namespace {

class RowKernel {
 public:
  RowKernel(ReductionSpace& space, const EmitRequest& request)
      : space_(space),
        plan_(request.plan),
        width_(static_cast<int>(plan_.vector)),
        row_(space.minor().size),
        outer_(space.Size(Role::kReduced) / row_),
        step_(plan_.tile[1]),
        chunks_(CeilDiv(row_, step_)),
        steps_(outer_ * chunks_),
        whole_(row_ % step_ == 0),
        unroll_(whole_ ? plan_.unroll : 1),
        frame_(space.graph, space.Needed(), LaunchOf(space, ReductionAxes(space), plan_), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        body_(space, frame_, AreLanesVectors(plan_)) {
    k_.CountsTo(space.Size());
    emission_.SetLane(space.minor().e);
  }

  EmittedKernel Emit() && {
    const int64_t splits = plan_.splits, rows = space_.Size(Role::kKept), warps = plan_.threads / 32;
    if (plan_.tile[0] > 1) {
      EmitByWarp(rows, warps);
      return Finish("row reduction, a warp for each row", steps_ + width_ + 5 + 1);
    }
    Partials partials;
    if (splits > 1) partials = MakePartials(frame_, body_.AccumulatorTypes(), rows * splits, rows);
    Emission::Scope scope(emission_);
    const Value index = splits == 1 ? k_.block() : k_.block() / splits;
    BindAll(space_, emission_, Role::kKept, index);
    const std::vector<Slot> slots = body_.MakeSlots(width_);
    if (splits == 1) {
      Walk(slots, k_.Index(0), k_.Index(steps_));
      body_.Finish(k_.BlockReduce(slots, body_.Combiner()));
      return Finish("row reduction, a block for each row", steps_ + width_ + 5 + warps + 1);
    }
    const int64_t share = CeilDiv(CeilDiv(steps_, splits), unroll_) * unroll_;
    const Value split = k_.block() % splits, first = split * share;
    Walk(slots, first, Min(first + share, k_.Index(steps_)));
    EmitLast(partials, index, k_.BlockReduce(slots, body_.Combiner()));
    const int64_t chain = share + width_ + 5 + warps + CeilDiv(splits, plan_.threads) + 5 + warps + 1;
    return Finish(Str("row reduction, ", splits, " blocks for each row"), chain);
  }

 private:
  EmittedKernel Finish(std::string_view how, int64_t chain) {
    return WithChain(std::move(frame_).Finish(how), space_, chain);
  }

  // Takes several whole steps at once, which keeps more loads in flight and needs fewer passes over the accumulators.
  void Walk(const std::vector<Slot>& slots, Value first, Value last) {
    // A lane with an element in any step has one in the first.
    const bool start_together = chunks_ == 1 || plan_.splits == 1 || whole_;
    body_.HoistInputs();
    k_.Loop(
        first, last, unroll_,
        [&](Value at) {
          std::vector<Emission::ScopeData> scopes;
          std::vector<Value> begins;
          for (int64_t u = 0; u < unroll_; ++u) {
            const Value each = at + u;
            emission_.Enter();
            BindAll(space_, emission_, Role::kReduced, chunks_ == 1 ? each : each / chunks_);
            begins.push_back(chunks_ == 1 ? k_.Index(0) : outer_ == 1 ? each * step_ : each % chunks_ * step_);
            body_.HoistInputs();
            scopes.push_back(emission_.Leave());
          }
          const Value is_first = body_.counts() && start_together ? at == first : Value();
          TileOver(k_, width_, row_, begins[0], step_, [&](Value i) {
            const auto bind = [&](size_t u) { emission_.Bind(space_.minor().e, begins[u] + i); };
            body_.Accumulate(slots, scopes, bind, is_first);
          });
        },
        unroll_ == 1 ? 4 : 1);
  }

  void EmitByWarp(int64_t rows, int64_t warps) {
    k_.Warps([&] {
      const Value index = k_.block() * warps + k_.warp();
      k_.If(index < rows, [&] {
        Emission::Scope scope(emission_);
        BindAll(space_, emission_, Role::kKept, index);
        const std::vector<Slot> slots = body_.MakeSlots(width_);
        Walk(slots, k_.Index(0), k_.Index(steps_));
        body_.Finish(k_.WarpReduce(slots, body_.Combiner()));
      });
    });
  }

  void EmitLast(const Partials& partials, Value index, const std::vector<Value>& mine) {
    const int64_t splits = plan_.splits;
    for (size_t i = 0; i < mine.size(); ++i) partials.values[i].Store(k_.block(), mine[i]);
    k_.If(k_.ArriveLast(partials.counters, index, splits), [&] {
      Emission::Scope last(emission_);
      const std::vector<Slot> sums = body_.MakeSlots(1);
      k_.Loop(int64_t{0}, splits, plan_.threads, [&](Value begin) {
        k_.Tile(1, k_.Index(splits) - begin,
                [&](Value i) { body_.AddPartial(sums, partials.values, [&] { return index * splits + begin + i; }); });
      });
      body_.Finish(k_.BlockReduce(sums, body_.Combiner()));
    });
  }

  ReductionSpace& space_;
  const KernelPlan& plan_;
  const int width_;
  const int64_t row_, outer_;
  const int64_t step_, chunks_, steps_;
  const bool whole_;
  const int64_t unroll_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ReductionBody body_;
};

// Wider tiles exceed the first-level cache.
constexpr int64_t kMostTransposedColumns = 64;

// Warps load a block's short rows into tiles, in memory order. Then each thread folds a row of the transposed tiles. If
// a tile is narrower than a row, terms a multiple of its columns apart are combined first.
class TransposedRowKernel {
 public:
  TransposedRowKernel(ReductionSpace& space, const EmitRequest& request)
      : space_(space),
        threads_(request.plan.threads),
        row_(space.minor().size),
        rows_(space.Size(Role::kKept)),
        columns_(std::min(request.plan.tile[1], row_)),
        frame_(space.graph, space.Needed(), LaunchOf(space, ReductionAxes(space), request.plan), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        body_(space, frame_, folds() && AreLanesVectors(request.plan)) {
    k_.CountsTo(space.Size());
  }

  EmittedKernel Emit() && {
    const std::vector<Array> tiles = MakeTiles();
    const Value row0 = k_.block() * threads_;
    const Value rows = rows_ % threads_ == 0 ? k_.Index(threads_) : Min(k_.Index(threads_), k_.Index(rows_) - row0);
    Fill(tiles, row0, rows);
    for (const Array& tile : tiles) k_.TransposeTile(tile, rows, k_.Index(columns_));
    emission_.SetLane(space_.variables[0].e);
    const auto walk = [&](Value thread) {
      Emission::Scope scope(emission_);
      emission_.Bind(space_.variables[0].e, row0 + thread);
      body_.Finish(Walk(tiles, thread));
    };
    body_.HoistEpilogues();
    TileOver(k_, 1, rows_, row0, threads_, walk);
    const int64_t chain = CeilDiv(row_, columns_) + columns_;
    return WithChain(std::move(frame_).Finish("row reduction, a thread for each row"), space_, chain);
  }

 private:
  bool folds() const { return columns_ < row_; }

  // One tile for each part of a term, or of an accumulator if terms are combined first. Transposed tiles have multiples
  // of 16 rows and columns.
  std::vector<Array> MakeTiles() {
    std::vector<Type> types = body_.AccumulatorTypes();
    if (body_.counts()) types.pop_back();
    if (!folds()) {
      types.clear();
      for (const ReductionSpace::Hero& hero : space_.heroes)
        types.insert(types.end(), hero.types.begin(), hero.types.end());
    }
    std::vector<Array> tiles;
    for (const Type type : types)
      tiles.push_back(k_.SharedTile(Str("tile", tiles.size()), type, threads_, CeilDiv(columns_, 16) * 16));
    return tiles;
  }

  // A warp reads 32 adjacent rows. A host runs warp after warp, and so reads in memory order.
  void Fill(const std::vector<Array>& tiles, Value row0, Value rows) {
    const int width = static_cast<int>(CeilDiv(row_, 32));
    emission_.SetLane(space_.minor().e);
    k_.Warps([&] {
      const Value first = k_.warp() * 32;
      k_.Loop(
          first, Min(first + 32, rows), 1,
          [&](Value i) {
            Emission::Scope scope(emission_);
            emission_.Bind(space_.variables[0].e, row0 + i);
            body_.HoistInputs();
            if (folds()) return Fold(tiles, i);
            TileOver(k_, width, row_, k_.Index(0), 32 * width, [&](Value j) {
              const std::vector<Value> terms = TermsAt(j);
              for (size_t t = 0; t < tiles.size(); ++t) tiles[t].StoreAt(i, j, terms[t]);
            });
          },
          8);
    });
  }

  std::vector<Value> TermsAt(Value place) {
    Emission::Scope in_tile(emission_);
    emission_.Bind(space_.minor().e, place);
    return body_.TermsAndStores();
  }

  // Combines the terms of row i into one for each column.
  void Fold(const std::vector<Array>& tiles, Value i) {
    constexpr int64_t kStepsAtOnce = 4;
    const int64_t whole = row_ / columns_, first = (whole - 1) % kStepsAtOnce + 1;
    const std::vector<Type> types = body_.AccumulatorTypes();
    const auto begin = [&](Value j) {
      std::vector<Value> sums = TermsAt(j);
      for (size_t t = 0; t < sums.size(); ++t) sums[t] = Convert(sums[t], types[t]);
      for (int64_t step = 1; step < first; ++step) sums = body_.Combine(sums, TermsAt(step * columns_ + j));
      return sums;
    };
    const Value columns = k_.Index(columns_);
    if (whole == first) return k_.Tile(1, columns, [&](Value j) { StoreSums(tiles, i, j, begin(j)); });
    std::vector<Slot> slots;
    for (const Type type : types) slots.push_back(k_.MakeSlot(type));
    const auto get = [&] {
      std::vector<Value> sums;
      for (const Slot& slot : slots) sums.push_back(slot.Get());
      return sums;
    };
    const auto set = [&](const std::vector<Value>& sums) {
      for (size_t t = 0; t < slots.size(); ++t) slots[t].Set(sums[t]);
    };
    k_.Tile(1, columns, [&](Value j) { set(begin(j)); });
    k_.Loop(first, whole, kStepsAtOnce, [&](Value step) {
      k_.Tile(1, columns, [&](Value j) {
        std::vector<Value> sums = get();
        for (int64_t u = 0; u < kStepsAtOnce; ++u) sums = body_.Combine(sums, TermsAt((step + u) * columns_ + j));
        set(sums);
      });
    });
    k_.Tile(1, columns, [&](Value j) { StoreSums(tiles, i, j, get()); });
  }

  // Adds the row's remaining terms by a whole vector that ends with the row. Lanes before these keep their sums.
  void StoreSums(const std::vector<Array>& tiles, Value i, Value j, std::vector<Value> sums) {
    const int64_t left = row_ % columns_;
    if (left > 0) {
      const std::vector<Value> more = body_.Combine(sums, TermsAt(row_ - columns_ + j));
      for (size_t t = 0; t < sums.size(); ++t) sums[t] = Select(j < columns_ - left, sums[t], more[t]);
    }
    for (size_t t = 0; t < tiles.size(); ++t) tiles[t].StoreAt(i, j, sums[t]);
  }

  std::vector<Value> Walk(const std::vector<Array>& tiles, Value thread) {
    const std::vector<Type> types = body_.AccumulatorTypes();
    // Every line of a tile holds terms, so the flag is 1.
    const auto at = [&](Value term) {
      std::vector<Value> values;
      for (const Array& tile : tiles) values.push_back(tile.LoadTransposed(thread, term));
      if (body_.counts()) values.push_back(k_.Constant(types.back(), int64_t{1}));
      return values;
    };
    const std::vector<Value> first = at(k_.Index(0));
    std::vector<Variable> running;
    for (size_t i = 0; i < first.size(); ++i) running.push_back(k_.MakeVariable(Convert(first[i], types[i])));
    const auto sums = [&] {
      std::vector<Value> values;
      for (const Variable& variable : running) values.push_back(variable.Get());
      return values;
    };
    k_.Loop(int64_t{1}, columns_, 1, [&](Value term) {
      const std::vector<Value> combined = body_.Combine(sums(), at(term));
      for (size_t i = 0; i < combined.size(); ++i) running[i].Set(combined[i]);
    });
    return sums();
  }

  ReductionSpace& space_;
  const int64_t threads_, row_, rows_, columns_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ReductionBody body_;
};

}  // namespace

Result<EmittedKernel> EmitRowReduction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const auto space = TRY(SpaceFor(request, /*minor_role=*/Role::kReduced));
  const int64_t row = space->minor().size, step = plan.tile[1], steps = StepsOf(*space, plan);
  if (UsesTransposedTile(plan)) {
    TRY(request.Require(space->variables.size() == 2 && step >= 1 && step <= kMostTransposedColumns &&
                            plan.vector == 1 && plan.splits == 1 && plan.unroll == 1 &&
                            (row <= step || space->stores.empty()),
                        Str("a tile with as many rows as threads must have at most ", kMostTransposedColumns,
                            " columns, vector 1, and neither unroll nor splits")));
    return TransposedRowKernel(*space, request).Emit();
  }
  TRY(request.Require(plan.unroll == 1 || (row % step == 0 && steps % plan.unroll == 0),
                      Str(steps, " steps of ", step, " elements cannot be unrolled by ", plan.unroll)));
  TRY(request.Require(plan.splits == 1 || (plan.tile[0] == 1 && plan.splits <= steps),
                      Str(steps, " steps of a row cannot be split over ", plan.splits, " blocks")));
  return RowKernel(*space, request).Emit();
}

}  // namespace hlo::gpu
