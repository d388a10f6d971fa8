// Running folds by any associative reducer of scalar ops, with fused producers and elementwise users.
//
//   rows     a block or a warp scans each row step by step, by lanes and warps, and carries the sum to the next step
//   columns  a thread scans neighbouring columns, row by row
//
// If rows or strips are few, several blocks share one: a first kernel stores the total of each part, and a second
// kernel scans each part from the sum of the totals before it. A reverse scan runs through its variable in reverse
// (scan_space.h) and exchanges the reducer's operands.
#include <algorithm>
#include <functional>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {
namespace {

using kernel::kWarpSize;

using Values = std::vector<Value>;

class ScanBody {
 public:
  ScanBody(ScanSpace& space, KernelFrame& frame, bool totals)
      : space_(space), frame_(frame), k_(frame.k()), emission_(frame.emission()) {
    if (!totals) outputs_ = MakeOutputs(space, space.Needed(), frame);
  }

  std::vector<Type> Types() const {
    std::vector<Type> types;
    for (const auto& hero : space_.heroes)
      types.insert(types.end(), hero.accumulators.begin(), hero.accumulators.end());
    return types;
  }
  std::vector<Slot> MakeSlots(int width) {
    std::vector<Slot> slots;
    for (const Type type : Types()) slots.push_back(k_.MakeSlot(type, width));
    return slots;
  }
  std::vector<Variable> MakeVariables(const Values& initial) {
    std::vector<Variable> variables;
    for (const Value value : initial) variables.push_back(k_.MakeVariable(value));
    return variables;
  }
  Values Zeros() {
    Values zeros;
    for (const Type type : Types()) zeros.push_back(k_.Bits(type, 0));
    return zeros;
  }
  Values Initial() { return Accumulators(&ScanSpace::Hero::initial); }
  Values Terms() { return Accumulators(&ScanSpace::Hero::inputs); }

  Values Combine(std::span<const Value> before, std::span<const Value> after) {
    Values results;
    size_t next = 0;
    for (const auto& hero : space_.heroes) {
      const size_t arrays = hero.types.size();
      Values arguments(before.begin() + next, before.begin() + next + arrays);
      arguments.insert(space_.fold.reverse ? arguments.begin() : arguments.end(), after.begin() + next,
                       after.begin() + next + arrays);
      const Values folded = EmitScalarComputation(k_, *hero.inst->attrs<ReduceWindowAttrs>().to_apply, arguments);
      results.insert(results.end(), folded.begin(), folded.end());
      next += arrays;
    }
    return results;
  }
  KernelBuilder::CombineMany Combiner() {
    return [this](std::span<const Value> a, std::span<const Value> b) { return Combine(a, b); };
  }
  Values Choose(Value condition, const Values& a, const Values& b) {
    Values chosen;
    for (size_t i = 0; i < a.size(); ++i) chosen.push_back(Select(condition, a[i], b[i]));
    return chosen;
  }

  void Store(const Values& scanned) {
    size_t next = 0;
    for (const auto& hero : space_.heroes) {
      Values values;
      for (const Type type : hero.types) values.push_back(Convert(scanned[next++], type));
      for (const NodeId given : hero.given) emission_.Bind(given, values);
    }
    Values results;
    for (const auto& output : space_.outputs) results.push_back(emission_.Emit(output.value));
    for (size_t i = 0; i < results.size(); ++i)
      outputs_[i].Store(emission_.Lower(space_.outputs[i].offset), results[i]);
  }

  void HoistInputs() { emission_.Hoist(space_.Inputs()); }
  void HoistOutputs() {
    emission_.Hoist(space_.Values());
    for (const auto& output : space_.outputs) emission_.Hoist(output.offset);
  }

 private:
  Values Accumulators(std::vector<NodeId> ScanSpace::Hero::* nodes) {
    Values values;
    for (const auto& hero : space_.heroes) {
      for (size_t i = 0; i < hero.types.size(); ++i)
        values.push_back(Convert(emission_.Emit((hero.*nodes)[i]), hero.accumulators[i]));
    }
    return values;
  }

  ScanSpace& space_;
  KernelFrame& frame_;
  KernelBuilder& k_;
  Emission& emission_;
  std::vector<Array> outputs_;
};

Values Get(const std::vector<Slot>& slots) {
  Values values;
  for (const Slot& slot : slots) values.push_back(slot.Get());
  return values;
}
Values Get(const std::vector<Slot>& slots, int element) {
  Values values;
  for (const Slot& slot : slots) values.push_back(slot.Get(element));
  return values;
}
Values Get(const std::vector<Variable>& variables) {
  Values values;
  for (const Variable& variable : variables) values.push_back(variable.Get());
  return values;
}
template <class Places>
void Set(const Places& places, const Values& values) {
  for (size_t i = 0; i < places.size(); ++i) places[i].Set(values[i]);
}
void Set(const std::vector<Slot>& slots, int element, const Values& values) {
  for (size_t i = 0; i < slots.size(); ++i) slots[i].Set(element, values[i]);
}
Values Load(const std::vector<Array>& arrays, Value index) {
  Values values;
  for (const Array& array : arrays) values.push_back(array.Load(index));
  return values;
}
void Store(const std::vector<Array>& arrays, Value index, const Values& values) {
  for (size_t i = 0; i < arrays.size(); ++i) arrays[i].Store(index, values[i]);
}

std::vector<NodeId> NeededBy(const KernelPlan& plan, const ScanSpace& space) {
  return plan.totals ? space.Inputs() : space.Needed();
}

std::vector<Array> MakeParts(KernelFrame& frame, const std::vector<Type>& types, int64_t elements) {
  std::vector<Array> parts;
  for (size_t i = 0; i < types.size(); ++i) parts.push_back(frame.Scratch(static_cast<int>(i), types[i], elements));
  return parts;
}

// In a sum, a term passes through at most `chain` additions. In other folds all roundings count.
EmittedKernel WithChain(EmittedKernel kernel, const ScanSpace& space, int64_t chain) {
  for (const auto& hero : space.heroes) {
    if (!IsFloat(hero.inst->operand(0).shape().type())) continue;
    const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceWindowAttrs>().to_apply);
    const bool adds = simple && simple->opcode == Opcode::kAdd;
    const bool widened = hero.accumulators[0] != hero.types[0];
    kernel.precision.instructions[hero.inst->id()].sum =
        SumPlan{.accumulator = widened ? PrimitiveType::kF32 : hero.inst->operand(0).shape().type(),
                .longest_chain = adds ? chain : space.scanned().size};
  }
  return kernel;
}

class RowScan {
 public:
  RowScan(ScanSpace& space, const EmitRequest& request)
      : space_(space),
        plan_(request.plan),
        width_(static_cast<int>(plan_.vector)),
        warps_(static_cast<int>(plan_.threads) / kWarpSize),
        by_warp_(plan_.tile[0] == warps_ && plan_.splits == 1),
        row_(space.minor().size),
        step_(plan_.tile[1]),
        chunks_(CeilDiv(row_, step_)),
        share_(CeilDiv(chunks_, plan_.splits)),
        frame_(space.graph, NeededBy(plan_, space), LaunchOf(space, ScanAxes(space), plan_), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        body_(space, frame_, plan_.totals) {
    k_.CountsTo(space.Size());
    emission_.SetLane(space.minor().e);
  }

  EmittedKernel Emit() && {
    const int64_t rows = space_.Size(Role::kKept), splits = plan_.splits;
    // Additions in a thread, among lanes and from step to step, and two for the sums before thread and step.
    const int64_t steps = width_ + 5 + share_ + 2;
    if (by_warp_) {
      k_.Warps([&] {
        const Value row = k_.block() * warps_ + k_.warp();
        k_.If(row < rows, [&] {
          Emission::Scope scope(emission_);
          BindAll(space_, emission_, Role::kKept, row);
          Walk(body_.Initial(), k_.Index(0), k_.Index(chunks_));
        });
      });
      return WithChain(std::move(frame_).Finish("scan, a warp for each row"), space_, steps);
    }
    std::vector<Array> parts;
    if (splits > 1) parts = MakeParts(frame_, body_.Types(), rows * splits);
    for (const Type type : body_.Types()) shared_.push_back(k_.Shared("sums", type, warps_));
    Emission::Scope scope(emission_);
    const Value row = splits == 1 ? k_.block() : k_.block() / splits, split = k_.block() % splits;
    BindAll(space_, emission_, Role::kKept, row);
    if (splits == 1) {
      Walk(body_.Initial(), k_.Index(0), k_.Index(chunks_));
      return WithChain(std::move(frame_).Finish("scan, a block for each row"), space_, steps + warps_);
    }
    const Value first = split * share_, last = Min(first + share_, k_.Index(chunks_));
    if (plan_.totals) {
      Store(parts, k_.block(), Total(first, last));
    } else {
      const std::vector<Variable> before = body_.MakeVariables(body_.Initial());
      k_.Loop(
          k_.Index(0), split, 1,
          [&](Value part) { Set(before, body_.Combine(Get(before), Load(parts, row * splits + part))); }, 4);
      Walk(Get(before), first, last);
    }
    const int64_t chain = steps + width_ + 5 + warps_ + share_ + splits;
    return WithChain(std::move(frame_).Finish(Str("scan, ", splits, " blocks for each row")), space_, chain + warps_);
  }

 private:
  // Runs `body` in each warp of the block, or in the current warp.
  void AsWarp(const std::function<void()>& body) {
    const auto in_scope = [&] {
      Emission::Scope scope(emission_);
      body();
    };
    if (by_warp_) in_scope();
    else k_.Warps(in_scope);
  }

  void Fetch(const std::vector<Slot>& terms, Value begin) {
    body_.HoistInputs();
    TileOver(k_, width_, row_, begin, step_, [&](Value i) {
      Emission::Scope scope(emission_);
      emission_.Bind(space_.minor().e, begin + i);
      Set(terms, body_.Terms());
    });
  }

  // `before`: sums before step `first`.
  void Walk(const Values& before, Value first, Value last) {
    const std::vector<Slot> terms = Terms(), sums = width_ > 1 ? body_.MakeSlots(1) : terms;
    // `front` has the preceding lane's inclusive sums.
    const bool shifts = width_ > 1 || space_.fold.exclusive;
    const std::vector<Slot> front = shifts ? body_.MakeSlots(1) : std::vector<Slot>();
    const std::vector<Variable> carry = body_.MakeVariables(before);
    k_.Loop(first, last, 1, [&](Value chunk) {
      Emission::Scope scope(emission_);
      const Value begin = chunks_ == 1 ? k_.Index(0) : chunk * step_;
      Fetch(terms, begin);
      if (width_ > 1) SumInThreads(terms, sums);
      body_.HoistOutputs();
      Values total;
      AsWarp([&] {
        k_.WarpScan(sums, body_.Combiner());
        for (size_t i = 0; i < front.size(); ++i) k_.ShuffleUp(front[i], sums[i], 1);
        for (const Slot& sum : sums) total.push_back(k_.WarpBroadcast(sum, kWarpSize - 1));
        if (!by_warp_) Store(shared_, k_.warp(), total);
      });
      AsWarp([&] { Finish(terms, front, PrefixOfWarp(carry), begin); });
      if (!by_warp_) {
        total = Load(shared_, k_.Index(0));
        for (int warp = 1; warp < warps_; ++warp) total = body_.Combine(total, Load(shared_, k_.Index(warp)));
      }
      Set(carry, body_.Combine(Get(carry), total));
    });
  }

  // Elements after a row's end are not stored, but need a value.
  std::vector<Slot> Terms() {
    std::vector<Slot> terms = body_.MakeSlots(width_);
    if (row_ % step_ != 0) {
      for (const Slot& slot : terms) k_.Fill(slot, k_.Bits(slot.type(), 0));
    }
    return terms;
  }

  void SumInThreads(const std::vector<Slot>& terms, const std::vector<Slot>& sums) {
    k_.Phase([&] {
      Values sum = Get(terms, 0);
      for (int j = 1; j < width_; ++j) {
        sum = body_.Combine(sum, Get(terms, j));
        Set(terms, j, sum);
      }
      Set(sums, sum);
    });
  }

  Values PrefixOfWarp(const std::vector<Variable>& carry) {
    if (by_warp_ || warps_ == 1) return Get(carry);
    const std::vector<Variable> prefix = body_.MakeVariables(Get(carry));
    k_.If(k_.warp() > 0, [&] {
      const std::vector<Variable> sum = body_.MakeVariables(Load(shared_, k_.Index(0)));
      k_.Loop(k_.Index(1), k_.warp(), 1, [&](Value warp) { Set(sum, body_.Combine(Get(sum), Load(shared_, warp))); });
      Set(prefix, body_.Combine(Get(carry), Get(sum)));
    });
    return Get(prefix);
  }

  void Finish(const std::vector<Slot>& terms, const std::vector<Slot>& front, const Values& prefix, Value begin) {
    const bool exclusive = space_.fold.exclusive;
    if (width_ > 1) {
      k_.Phase([&] {
        const Values before = body_.Choose(k_.lane() == 0, prefix, body_.Combine(prefix, Get(front)));
        for (int j = width_; j-- > 0;) {
          if (exclusive) Set(terms, j, j == 0 ? before : body_.Combine(before, Get(terms, j - 1)));
          else Set(terms, j, body_.Combine(before, Get(terms, j)));
        }
      });
    }
    const Value from = by_warp_ ? begin : begin + k_.warp() * (kWarpSize * width_);
    const auto store = [&](Value i) {
      Emission::Scope scope(emission_);
      emission_.Bind(space_.minor().e, from + i);
      if (width_ > 1) body_.Store(Get(terms));
      else if (exclusive) body_.Store(body_.Choose(i == 0, prefix, body_.Combine(prefix, Get(front))));
      else body_.Store(body_.Combine(prefix, Get(terms)));
    };
    if (row_ % step_ == 0) k_.Tile(width_, store);
    else k_.Tile(width_, k_.Index(row_) - from, store);
  }

  Values Total(Value first, Value last) {
    const std::vector<Slot> terms = Terms();
    const std::vector<Variable> carry = body_.MakeVariables(body_.Zeros());
    k_.Loop(first, last, 1, [&](Value chunk) {
      Emission::Scope scope(emission_);
      Fetch(terms, chunk * step_);
      const Values total = k_.BlockReduce(terms, body_.Combiner());
      Set(carry, body_.Choose(chunk == first, total, body_.Combine(Get(carry), total)));
    });
    return Get(carry);
  }

  ScanSpace& space_;
  const KernelPlan& plan_;
  const int width_, warps_;
  const bool by_warp_;
  const int64_t row_, step_, chunks_, share_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ScanBody body_;
  std::vector<Array> shared_;
};

class ColumnScan {
 public:
  ColumnScan(ScanSpace& space, const EmitRequest& request)
      : space_(space),
        plan_(request.plan),
        width_(static_cast<int>(plan_.vector)),
        columns_(space.minor().size),
        strips_(CeilDiv(columns_, plan_.tile[1])),
        rows_(space.scanned().size),
        share_(CeilDiv(CeilDiv(rows_, plan_.splits), plan_.unroll) * plan_.unroll),
        frame_(space.graph, NeededBy(plan_, space), LaunchOf(space, ScanAxes(space), plan_), request),
        k_(frame_.k()),
        emission_(frame_.emission()),
        body_(space, frame_, plan_.totals) {
    k_.CountsTo(space.Size());
    emission_.SetLane(space.minor().e);
  }

  EmittedKernel Emit() && {
    const int64_t splits = plan_.splits, outer = space_.Size(Role::kKept) / columns_;
    std::vector<Array> parts;
    if (splits > 1) parts = MakeParts(frame_, body_.Types(), outer * columns_ * splits);
    Emission::Scope scope(emission_);
    const Value group = splits == 1 ? k_.block() : k_.block() / splits;
    const Value split = splits == 1 ? k_.Index(0) : k_.block() % splits;
    const Value batch = strips_ == 1 ? group : group / strips_;
    begin_ = strips_ == 1 ? k_.Index(0) : group % strips_ * plan_.tile[1];
    BindAll(space_, emission_, Role::kKept, batch);
    const Value first = splits == 1 ? k_.Index(0) : split * share_;
    const Value last = splits == 1 ? k_.Index(rows_) : Min(first + share_, k_.Index(rows_));
    const auto part_at = [&](Value part) { return (batch * splits + part) * columns_ + begin_; };
    const std::vector<Slot> carry = body_.MakeSlots(width_);
    const Values initial = plan_.totals ? body_.Zeros() : body_.Initial();
    for (size_t i = 0; i < carry.size(); ++i) k_.Fill(carry[i], initial[i]);
    if (plan_.totals) {
      Walk(carry, first, last, /*is_total=*/true);
      const Value own = part_at(split);
      Tile([&](Value i) { Store(parts, own + i, Get(carry)); });
    } else {
      if (splits > 1) {
        k_.Loop(
            k_.Index(0), split, 1,
            [&](Value part) {
              const Value at = part_at(part);
              Tile([&](Value i) { Set(carry, body_.Combine(Get(carry), Load(parts, at + i))); });
            },
            4);
      }
      Walk(carry, first, last, /*is_total=*/false);
    }
    const int64_t chain = splits == 1 ? rows_ : 2 * share_ + splits;
    const std::string how =
        Str("scan, ", splits == 1 ? "a block" : Str(splits, " blocks"), " for each strip of columns");
    return WithChain(std::move(frame_).Finish(how), space_, chain);
  }

 private:
  void Tile(const KernelBuilder::IndexBody& body) { TileOver(k_, width_, columns_, begin_, plan_.tile[1], body); }

  // Takes several rows at once, so that their loads are in flight together.
  void Walk(const std::vector<Slot>& carry, Value first, Value last, bool is_total) {
    k_.Loop(
        first, last, plan_.unroll,
        [&](Value row) {
          std::vector<Emission::ScopeData> scopes;
          for (int64_t u = 0; u < plan_.unroll; ++u) {
            emission_.Enter();
            emission_.Bind(space_.scanned().e, row + u);
            body_.HoistInputs();
            if (!is_total) body_.HoistOutputs();
            scopes.push_back(emission_.Leave());
          }
          Tile([&](Value i) { Step(carry, scopes, row, first, begin_ + i, is_total); });
        },
        plan_.unroll == 1 ? 4 : 1);
  }

  void Step(const std::vector<Slot>& carry, std::vector<Emission::ScopeData>& scopes, Value row, Value first,
            Value column, bool is_total) {
    std::vector<Values> terms;
    for (Emission::ScopeData& scope : scopes) {
      emission_.Enter(std::move(scope));
      emission_.Bind(space_.minor().e, column);
      terms.push_back(body_.Terms());
      scope = emission_.Leave();
    }
    Values sum = Get(carry);
    for (size_t u = 0; u < scopes.size(); ++u) {
      Values next = body_.Combine(sum, terms[u]);
      if (is_total && u == 0) next = body_.Choose(row == first, terms[u], next);
      if (!is_total) {
        emission_.Enter(std::move(scopes[u]));
        body_.Store(space_.fold.exclusive ? sum : next);
        scopes[u] = emission_.Leave();
      }
      sum = std::move(next);
    }
    Set(carry, sum);
  }

  ScanSpace& space_;
  const KernelPlan& plan_;
  const int width_;
  const int64_t columns_, strips_, rows_, share_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ScanBody body_;
  Value begin_;
};

}  // namespace

Result<EmittedKernel> EmitScan(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  for (const Instruction* hero : heroes)
    TRY(request.Require(RunningFoldOf(*hero).has_value(), Str("'", hero->name(), "' is not a scan")));
  std::string why_not;
  const auto space = TRY(ScanSpaceOf(request.body, heroes, &why_not));
  TRY(request.Require(space != nullptr, why_not));
  TRY(request.RequireBlock(2));
  const int64_t minor = space->minor().size, warps = plan.threads / kWarpSize, count = space->scanned().size;
  TRY(request.Require(minor % plan.vector == 0,
                      Str("the minor dimension, ", minor, ", is not a multiple of vector, ", plan.vector)));
  const bool by_warp = space->ScansMinor() && plan.tile[0] == warps;
  TRY(request.Require(
      (plan.tile[0] == 1 || by_warp) && plan.tile[0] * plan.tile[1] == plan.threads * plan.vector,
      Str("a tile for ", plan.threads, " threads with vector ", plan.vector, " must be [1,", plan.threads * plan.vector,
          "]", space->ScansMinor() ? Str(" or [", warps, ",", kWarpSize * plan.vector, "]") : "")));
  TRY(request.Require(plan.splits > 1 || !plan.totals, "totals need several blocks"));
  if (space->ScansMinor()) {
    TRY(request.Require(
        plan.splits == 1 || (plan.tile[0] == 1 && plan.splits <= CeilDiv(minor, plan.tile[1])),
        Str(CeilDiv(minor, plan.tile[1]), " steps of a row cannot be split over ", plan.splits, " blocks")));
    TRY(request.Require(plan.unroll == 1, "a scan along rows cannot be unrolled"));
    return RowScan(*space, request).Emit();
  }
  TRY(request.Require(count % plan.unroll == 0, Str(count, " rows cannot be unrolled by ", plan.unroll)));
  TRY(request.Require(plan.splits <= count, Str(count, " rows cannot be split over ", plan.splits, " blocks")));
  return ColumnScan(*space, request).Emit();
}

}  // namespace hlo::gpu
