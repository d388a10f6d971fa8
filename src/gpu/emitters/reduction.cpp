// Emitters of reductions: over minor dimensions (rows) or major ones (columns), of any reducer made of scalar ops, with
// their producers, elementwise epilogues and stores on the way fused.
//
//   rows     a block or a warp walks each row; long rows that are few are split over blocks, whose partial results the
//            last block to arrive combines in order
//   columns  a thread owns neighbouring columns and walks down; narrow matrices give each warp of a block rows of its
//            own
//
// Order of combination is fixed by shapes and plan alone: the same bits each time, on any number of threads.
#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/reduction_space.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using Output = ReductionSpace::Output;

// All accumulators of all reduces, side by side.
class ReductionBody {
 public:
  ReductionBody(ReductionSpace& space, KernelFrame& frame)
      : space_(space), frame_(frame), k_(frame.k()), emission_(frame.emission()) {
    for (const Output& output : space_.epilogues) epilogues_.push_back(frame.Output(*output.root));
    for (const Output& output : space_.stores) stores_.push_back(frame.Output(*output.root));
    for (const auto& hero : space_.heroes) {
      const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceAttrs>().to_apply);
      has_identity_.push_back(simple && IdentityOf(k_, *simple, hero.accumulators[0]).has_value());
    }
    counts_ = std::ranges::count(has_identity_, false) > 0;
  }

  std::vector<Type> AccumulatorTypes() const {
    std::vector<Type> types;
    for (const auto& hero : space_.heroes)
      types.insert(types.end(), hero.accumulators.begin(), hero.accumulators.end());
    if (counts_) types.push_back(kFlag);
    return types;
  }

  // Is there a reduce without a known identity?
  bool counts() const { return counts_; }

  // At block or warp level: slots that hold what changes nothing, or a flag that says that they hold nothing yet.
  std::vector<Slot> MakeSlots(int width) {
    std::vector<Slot> slots;
    for (const Type type : AccumulatorTypes()) slots.push_back(k_.MakeSlot(type, width));
    size_t next = 0;
    for (const auto& hero : space_.heroes) {
      for (size_t i = 0; i < hero.types.size(); ++i) k_.Fill(slots[next++], Start(hero, i));
    }
    if (counts_) k_.Fill(slots[next], k_.Constant(kFlag, int64_t{0}));
    return slots;
  }

  // In a tile: one more term for each of `steps`, and what is stored on the way. `bind` binds the lane for step u.
  // `is_first`, where it is the same for all lanes: the slots hold no term yet. Cheaper than to ask each lane.
  void Accumulate(const std::vector<Slot>& slots, const std::vector<Emission::ScopeData>& steps,
                  const std::function<void(size_t)>& bind, Value is_first) {
    std::vector<Value> accumulators;
    for (const Slot& slot : slots) accumulators.push_back(slot.Get());
    if (is_first)
      accumulators.back() = Select(is_first, k_.Constant(kFlag, int64_t{0}), k_.Constant(kFlag, int64_t{1}));
    for (size_t u = 0; u < steps.size(); ++u) {
      emission_.Enter(steps[u]);
      emission_.Enter();
      bind(u);
      std::vector<Value> terms, stored;
      for (const auto& hero : space_.heroes) {
        for (const NodeId input : hero.inputs) terms.push_back(emission_.Emit(input));
      }
      if (counts_) terms.push_back(k_.Constant(kFlag, int64_t{1}));
      for (const Output& store : space_.stores) stored.push_back(emission_.Emit(store.value));
      accumulators = Combine(accumulators, terms);
      for (size_t i = 0; i < stored.size(); ++i) stores_[i].Store(emission_.Lower(space_.stores[i].offset), stored[i]);
      emission_.Leave();
      emission_.Leave();
    }
    for (size_t i = 0; i < slots.size(); ++i) slots[i].Set(accumulators[i]);
  }
  void HoistInputs() {
    emission_.Hoist(space_.Inputs());
    for (const Output& store : space_.stores) emission_.Hoist(store.offset);
  }

  std::vector<Value> Combine(std::span<const Value> a, std::span<const Value> b) {
    std::vector<Value> results;
    size_t next = 0;
    for (size_t h = 0; h < space_.heroes.size(); ++h) {
      const auto& hero = space_.heroes[h];
      std::vector<Value> arguments;
      for (size_t i = 0; i < hero.types.size(); ++i) arguments.push_back(a[next + i]);
      for (size_t i = 0; i < hero.types.size(); ++i) arguments.push_back(Convert(b[next + i], hero.accumulators[i]));
      const size_t arrays = hero.types.size();
      auto folded = EmitScalarComputation(k_, *hero.inst->attrs<ReduceAttrs>().to_apply, arguments, frame_.fault());
      for (size_t i = 0; i < arrays && !has_identity_[h]; ++i)
        folded[i] = Select(b.back() == 0, arguments[i], Select(a.back() == 0, arguments[arrays + i], folded[i]));
      next += arrays;
      results.insert(results.end(), folded.begin(), folded.end());
    }
    if (counts_) results.push_back(a.back() | b.back());
    return results;
  }
  KernelBuilder::CombineMany Combiner() {
    return [this](std::span<const Value> a, std::span<const Value> b) { return Combine(a, b); };
  }

  // The reduced values are known: initial values, epilogues, stores.
  void Finish(std::vector<Value> totals) {
    size_t next = 0;
    for (const auto& hero : space_.heroes) {
      std::vector<Value> values;
      for (size_t i = 0; i < hero.types.size(); ++i) values.push_back(totals[next + i]);
      next += hero.types.size();
      std::vector<Value> arguments;
      for (size_t i = 0; i < values.size(); ++i)
        arguments.push_back(Convert(emission_.Emit(hero.initial[i]), hero.accumulators[i]));
      arguments.insert(arguments.end(), values.begin(), values.end());
      values = EmitScalarComputation(k_, *hero.inst->attrs<ReduceAttrs>().to_apply, arguments, frame_.fault());
      for (size_t i = 0; i < values.size(); ++i) values[i] = Convert(values[i], hero.types[i]);
      for (const NodeId given : hero.given) emission_.Bind(given, values);
    }
    std::vector<Value> results;
    for (const Output& output : space_.epilogues) results.push_back(emission_.Emit(output.value));
    for (size_t i = 0; i < results.size(); ++i)
      epilogues_[i].Store(emission_.Lower(space_.epilogues[i].offset), results[i]);
  }
  // Before a tile in which Finish stands: what does not vary in it.
  void HoistEpilogues() {
    emission_.Hoist(space_.Epilogues());
    for (const Output& output : space_.epilogues) emission_.Hoist(output.offset);
  }

 private:
  // What a partial result starts from: the identity. Without a known one anything, which is not read; the initial value
  // counts once, at the end, and need not be an identity.
  Value Start(const ReductionSpace::Hero& hero, size_t i) {
    if (const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceAttrs>().to_apply)) {
      if (const auto identity = IdentityOf(k_, *simple, hero.accumulators[i])) return *identity;
    }
    return k_.Bits(hero.accumulators[i], 0);
  }

  ReductionSpace& space_;
  KernelFrame& frame_;
  KernelBuilder& k_;
  Emission& emission_;
  std::vector<Array> epilogues_, stores_;
  std::vector<bool> has_identity_;  // By hero.
  // Some reduce has no known identity: behind all accumulators stands whether they hold a term. 32 bits, as shuffles
  // like them.
  static constexpr Type kFlag = Type::kU32;
  bool counts_ = false;
};

// Binds the variables of one class, but for the last of all (the lane), from one number.
void BindAll(ReductionSpace& space, Emission& emission, bool reduced, Value linear) {
  std::vector<const ReductionSpace::Variable*> bound;
  for (size_t i = 0; i + 1 < space.variables.size(); ++i) {
    if (space.variables[i].reduced == reduced) bound.push_back(&space.variables[i]);
  }
  for (size_t i = bound.size(); i-- > 0;) {
    emission.Bind(bound[i]->e, i == 0 ? linear : linear % bound[i]->size);
    if (i > 0) linear = linear / bound[i]->size;
  }
}

// Every accumulator's partial results: [kept][split] in scratch, and one counter for each group of blocks.
struct Partials {
  std::vector<Array> values;
  Array counters;
};
Partials MakePartials(KernelFrame& frame, const std::vector<Type>& types, int64_t elements, int64_t counters) {
  Partials partials;
  for (size_t i = 0; i < types.size(); ++i)
    partials.values.push_back(frame.Scratch(static_cast<int>(i), types[i], elements));
  partials.counters = frame.Scratch(static_cast<int>(types.size()), Type::kU32, counters, true);
  return partials;
}

// Says how many additions a term passes through. In a product every rounding is one of the result, whatever the order:
// as many as there are terms.
EmittedKernel WithChain(EmittedKernel kernel, const ReductionSpace& reduction, int64_t chain) {
  for (const auto& hero : reduction.heroes) {
    if (!IsFloat(hero.inst->operand(0).shape().type())) continue;
    const Type accumulator = hero.accumulators[0];
    InstructionPlan& promise = kernel.precision.instructions[hero.inst->id()];
    const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceAttrs>().to_apply);
    const bool adds = simple && simple->opcode == Opcode::kAdd;
    promise.sum = SumPlan{
        .accumulator = accumulator == hero.types[0] ? hero.inst->operand(0).shape().type() : PrimitiveType::kF32,
        .longest_chain = adds ? chain : reduction.Size(true)};
  }
  return kernel;
}

EmittedKernel EmitRows(ReductionSpace& space, const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const int64_t row = space.variables.back().size, outer = space.Size(true) / row, rows = space.Size(false);
  const int width = static_cast<int>(plan.vector), threads = static_cast<int>(plan.threads), warps = threads / 32;
  const bool by_warp = plan.tile[0] > 1;
  const int64_t step = plan.tile[1];
  // What is also stored needs all of the row: then no term can be dropped.
  const bool dropped = request.fault == "dropped_term" && row > 1 && space.stores.empty();
  const int64_t terms = dropped ? row - 1 : row;
  const int64_t chunks = CeilDiv(terms, step), steps = outer * chunks;
  const bool whole = row % step == 0 && !dropped;
  const int64_t unroll = whole ? plan.unroll : 1, splits = plan.splits;
  const int64_t blocks = by_warp ? CeilDiv(rows, warps) : rows * splits;

  KernelFrame frame(space.graph, space.All(), blocks, threads, request);
  KernelBuilder& k = frame.k();
  k.CountsTo(space.Size(true) * space.Size(false));
  Emission& emission = frame.emission();
  emission.SetLane(space.variables.back().e);
  ReductionBody body(space, frame);
  Partials partials;
  if (splits > 1) partials = MakePartials(frame, body.AccumulatorTypes(), rows * splits, rows);

  // A lane that takes part in any step takes part in the first.
  const bool start_together = chunks == 1 || splits == 1 || whole;
  // One row, or the steps [first, last) of it. Several whole steps at once: more loads in flight, fewer passes over the
  // accumulators.
  const auto walk = [&](const std::vector<Slot>& slots, Value first, Value last) {
    body.HoistInputs();
    k.Loop(
        first, last, unroll,
        [&](Value at) {
          std::vector<Emission::ScopeData> scopes;
          std::vector<Value> begins;
          for (int64_t u = 0; u < unroll; ++u) {
            const Value each = at + u;
            emission.Enter();
            BindAll(space, emission, true, chunks == 1 ? each : each / chunks);
            begins.push_back(chunks == 1 ? k.Index(0) : outer == 1 ? each * step : each % chunks * step);
            body.HoistInputs();
            scopes.push_back(emission.Leave());
          }
          const Value is_first = body.counts() && start_together ? at == first : Value();
          TileOver(k, width, terms, begins[0], step, [&](Value i) {
            const auto bind = [&](size_t u) { emission.Bind(space.variables.back().e, begins[u] + i); };
            body.Accumulate(slots, scopes, bind, is_first);
          });
        },
        unroll == 1 ? 4 : 1);
  };

  if (by_warp) {
    k.Warps([&] {
      const Value index = k.block() * warps + k.warp();
      k.If(index < rows, [&] {
        Emission::Scope scope(emission);
        BindAll(space, emission, false, index);
        const std::vector<Slot> slots = body.MakeSlots(width);
        walk(slots, k.Index(0), k.Index(steps));
        body.Finish(k.WarpReduce(slots, body.Combiner()));
      });
    });
    return WithChain(std::move(frame).Finish("row reduction, a warp for each row"), space, steps + width + 5 + 1);
  }

  Emission::Scope scope(emission);
  const Value index = splits == 1 ? k.block() : k.block() / splits;
  BindAll(space, emission, false, index);
  const std::vector<Slot> slots = body.MakeSlots(width);
  if (splits == 1) {
    walk(slots, k.Index(0), k.Index(steps));
    body.Finish(k.BlockReduce(slots, body.Combiner()));
    return WithChain(std::move(frame).Finish("row reduction, a block for each row"), space,
                     steps + width + 5 + threads / 32 + 1);
  }
  const int64_t share = CeilDiv(CeilDiv(steps, splits), unroll) * unroll;
  const Value split = k.block() % splits, first = split * share;
  walk(slots, first, Min(first + share, k.Index(steps)));
  const std::vector<Value> mine = k.BlockReduce(slots, body.Combiner());
  for (size_t i = 0; i < mine.size(); ++i) partials.values[i].Store(k.block(), mine[i]);
  k.If(k.ArriveLast(partials.counters, index, splits), [&] {
    Emission::Scope last(emission);
    const std::vector<Slot> sums = body.MakeSlots(1);
    k.Loop(int64_t{0}, splits, threads, [&](Value begin) {
      k.Tile(1, k.Index(splits) - begin, [&](Value i) {
        std::vector<Value> a, b;
        for (size_t j = 0; j < sums.size(); ++j) {
          a.push_back(sums[j].Get());
          b.push_back(partials.values[j].Load(index * splits + begin + i));
        }
        const std::vector<Value> combined = body.Combine(a, b);
        for (size_t j = 0; j < sums.size(); ++j) sums[j].Set(combined[j]);
      });
    });
    body.Finish(k.BlockReduce(sums, body.Combiner()));
  });
  const int64_t chain = share + width + 5 + threads / 32 + CeilDiv(splits, threads) + 5 + threads / 32 + 1;
  return WithChain(std::move(frame).Finish(Str("row reduction, ", splits, " blocks for each row")), space, chain);
}

EmittedKernel EmitColumns(ReductionSpace& space, const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const int64_t columns = space.variables.back().size, outer = space.Size(false) / columns, terms = space.Size(true);
  const int width = static_cast<int>(plan.vector), threads = static_cast<int>(plan.threads), warps = threads / 32;
  // Narrow: the warps of a block take different rows.
  const bool narrow = plan.tile[0] > 1;
  const int64_t strip = narrow ? columns : int64_t{threads} * width;
  const int64_t strips = CeilDiv(columns, strip), groups = outer * strips;
  const int64_t splits = plan.splits;
  // Rows that one pass over the accumulators takes: their loads are in flight together.
  const int64_t block_rows = narrow ? warps : 1;
  const int64_t unroll = request.fault != "dropped_term" ? plan.unroll : 1;
  const int64_t share = CeilDiv(CeilDiv(terms, splits), unroll * block_rows) * unroll * block_rows;

  KernelFrame frame(space.graph, space.All(), groups * splits, threads, request);
  KernelBuilder& k = frame.k();
  k.CountsTo(space.Size(true) * space.Size(false));
  Emission& emission = frame.emission();
  const IndexExpr lane = space.variables.back().e;
  emission.SetLane(lane);
  ReductionBody body(space, frame);
  const std::vector<Type> types = body.AccumulatorTypes();
  Partials partials;
  if (splits > 1) partials = MakePartials(frame, types, outer * columns * splits, groups);

  Emission::Scope scope(emission);
  const Value group = splits == 1 ? k.block() : k.block() / splits;
  const Value split = splits == 1 ? k.Index(0) : k.block() % splits;
  const Value batch = strips == 1 ? group : group / strips;
  const Value begin = strips == 1 ? k.Index(0) : group % strips * strip;
  const auto tile = [&](const KernelBuilder::IndexBody& in_tile) {
    TileOver(k, width, columns, begin, narrow ? int64_t{32} * width : strip, in_tile);
  };
  BindAll(space, emission, false, batch);
  const Value first = splits == 1 ? k.Index(0) : split * share;
  Value last = splits == 1 ? k.Index(terms) : Min(first + share, k.Index(terms));
  if (frame.fault() == "dropped_term") last = Min(last, k.Index(terms - 1));
  body.HoistInputs();

  const auto block_tile = [&](const KernelBuilder::IndexBody& in_tile) {
    TileOver(k, width, columns, begin, int64_t{threads} * width, in_tile);
  };

  const std::vector<Slot> slots = body.MakeSlots(width);
  const auto walk = [&](Value from, int64_t stride) {
    k.Loop(
        from, last, stride * unroll,
        [&](Value term) {
          std::vector<Emission::ScopeData> scopes;
          for (int64_t u = 0; u < unroll; ++u) {
            emission.Enter();
            BindAll(space, emission, true, term + u * stride);
            body.HoistInputs();
            scopes.push_back(emission.Leave());
          }
          const Value is_first = body.counts() ? term == from : Value();
          tile([&](Value i) {
            body.Accumulate(slots, scopes, [&](size_t) { emission.Bind(lane, begin + i); }, is_first);
          });
        },
        unroll == 1 ? 4 : 1);
  };
  if (!narrow) {
    walk(first, 1);
  } else {
    // Each warp leaves a row of sums in shared memory; the first threads add them up.
    std::vector<Array> shared;
    for (size_t j = 0; j < types.size(); ++j) shared.push_back(k.Shared(Str("sums", j), types[j], warps * columns));
    k.Warps([&] {
      Emission::Scope inner(emission);
      walk(first + k.warp(), warps);
      tile([&](Value i) {
        for (size_t j = 0; j < slots.size(); ++j) shared[j].Store(k.warp() * columns + i, slots[j].Get());
      });
    });
    k.Tile(width, k.Index(columns), [&](Value i) {
      std::vector<Value> sums;
      for (size_t j = 0; j < shared.size(); ++j) sums.push_back(shared[j].Load(i));
      for (int warp = 1; warp < warps; ++warp) {
        std::vector<Value> more;
        for (size_t j = 0; j < shared.size(); ++j) more.push_back(shared[j].Load(i + warp * columns));
        sums = body.Combine(sums, more);
      }
      for (size_t j = 0; j < slots.size(); ++j) slots[j].Set(sums[j]);
    });
  }
  const auto finish = [&](const std::vector<Slot>& sums) {
    body.HoistEpilogues();
    block_tile([&](Value i) {
      Emission::Scope in_tile(emission);
      emission.Bind(lane, begin + i);
      std::vector<Value> totals;
      for (const Slot& sum : sums) totals.push_back(sum.Get());
      body.Finish(totals);
    });
  };
  const std::string how = Str("column reduction, ", splits, " blocks for each ", narrow ? "narrow matrix" : "strip");
  const int64_t chain = (narrow ? CeilDiv(share, warps) + warps : share) + (splits > 1 ? splits : 0) + 1;
  if (splits == 1) {
    finish(slots);
    return WithChain(std::move(frame).Finish(how), space, chain);
  }
  // Partial results lie as [batch][split][column].
  const Value mine = (batch * splits + split) * columns + begin;
  block_tile([&](Value i) {
    for (size_t j = 0; j < slots.size(); ++j) partials.values[j].Store(mine + i, slots[j].Get());
  });
  k.If(k.ArriveLast(partials.counters, group, splits), [&] {
    Emission::Scope final_scope(emission);
    const std::vector<Slot> sums = body.MakeSlots(width);
    k.Loop(
        int64_t{0}, splits, 1,
        [&](Value part) {
          const Value from = (batch * splits + part) * columns + begin;
          block_tile([&](Value i) {
            std::vector<Value> a, b;
            for (size_t j = 0; j < sums.size(); ++j) {
              a.push_back(sums[j].Get());
              b.push_back(partials.values[j].Load(from + i));
            }
            const std::vector<Value> combined = body.Combine(a, b);
            for (size_t j = 0; j < sums.size(); ++j) sums[j].Set(combined[j]);
          });
        },
        4);
    finish(sums);
  });
  return WithChain(std::move(frame).Finish(how), space, chain);
}

// What both kinds ask of a plan.
Result<std::unique_ptr<ReductionSpace>> SpaceFor(const EmitRequest& request, bool rows) {
  const KernelPlan& plan = request.plan;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  for (const Instruction* hero : heroes)
    TRY(request.Require(hero->Is(Opcode::kReduce), Str("'", hero->name(), "' is no reduce")));
  std::string why_not;
  auto space = TRY(ReductionSpaceOf(request.body, heroes, &why_not));
  TRY(request.Require(space != nullptr, why_not));
  TRY(request.Require(!space->variables.empty() && space->variables.back().reduced == rows,
                      rows ? "it keeps the minor dimension" : "it reduces the minor dimension"));
  TRY(request.RequireBlock(2));
  const int64_t minor = space->variables.back().size, warps = plan.threads / 32;
  TRY(request.Require(minor % plan.vector == 0,
                      Str("the minor dimension, ", minor, ", is no multiple of vector, ", plan.vector)));
  TRY(request.Require(
      (plan.tile[0] == 1 || plan.tile[0] == warps) && plan.tile[0] * plan.tile[1] == plan.threads * plan.vector,
      Str("a tile of ", plan.threads, " threads of ", plan.vector, " is [1,", plan.threads * plan.vector, "] or [",
          warps, ",", 32 * plan.vector, "]")));
  return space;
}

}  // namespace

Result<EmittedKernel> EmitRowReduction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const auto space = TRY(SpaceFor(request, /*rows=*/true));
  const int64_t row = space->variables.back().size, step = plan.tile[1];
  const int64_t steps = space->Size(true) / row * CeilDiv(row, step);
  TRY(request.Require(plan.unroll == 1 || (row % step == 0 && steps % plan.unroll == 0),
                      Str(steps, " steps of ", step, " elements cannot be unrolled by ", plan.unroll)));
  TRY(request.Require(plan.splits == 1 || (plan.tile[0] == 1 && plan.splits <= steps),
                      Str(steps, " steps of a row cannot be split over ", plan.splits, " blocks")));
  return EmitRows(*space, request);
}

Result<EmittedKernel> EmitColumnReduction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const auto space = TRY(SpaceFor(request, /*rows=*/false));
  const int64_t columns = space->variables.back().size, terms = space->Size(true);
  TRY(request.Require(plan.tile[0] == 1 || columns <= plan.tile[1],
                      Str(columns, " columns are more than the ", plan.tile[1], " of a tile")));
  TRY(request.Require(plan.unroll == 1 || terms % (plan.unroll * plan.tile[0]) == 0,
                      Str(terms, " terms cannot be unrolled by ", plan.unroll)));
  TRY(request.Require(plan.splits <= terms, Str(terms, " terms cannot be split over ", plan.splits, " blocks")));
  return EmitColumns(*space, request);
}

}  // namespace hlo::gpu
