#include "gpu/emitters/reduction.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
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
using Kind = ElementNode::Kind;

// Fewer terms than this are folded by one thread: the loop emitter's.
constexpr int64_t kFewTerms = 16;
// Blocks that a reduction is split into, where there are fewer rows or columns.
constexpr int kWavesOfBlocks = 4;

struct Output {
  const FusionBody::Root* root;
  NodeId value;
  IndexExpr offset;
};

// What is reduced, over which variables.
struct ReductionPlan {
  explicit ReductionPlan(const FusionBody& body) : graph(body, pool) {}
  ReductionPlan(const ReductionPlan&) = delete;

  struct Variable {
    IndexExpr e;
    int64_t size;
    bool reduced;
  };
  struct Hero {
    const Instruction* inst;
    std::vector<NodeId> inputs, initial;
    std::vector<Type> types, accumulators;
    std::vector<NodeId> given;  // Its uses in the epilogues.
  };

  IndexPool pool;
  ElementGraph graph;
  std::vector<Variable> variables;  // Major to minor in memory.
  std::vector<Hero> heroes;
  std::vector<Output> epilogues;  // One element for each result of the reduction...
  std::vector<Output> stores;     // ...or for each element that is reduced.

  std::vector<NodeId> Inputs() const {
    std::vector<NodeId> nodes;
    for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.inputs.begin(), hero.inputs.end());
    for (const Output& store : stores) nodes.push_back(store.value);
    return nodes;
  }
  std::vector<NodeId> Epilogues() const {
    std::vector<NodeId> nodes;
    for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.initial.begin(), hero.initial.end());
    for (const Output& epilogue : epilogues) nodes.push_back(epilogue.value);
    return nodes;
  }
  std::vector<NodeId> All() const {
    std::vector<NodeId> nodes = Inputs();
    const std::vector<NodeId> more = Epilogues();
    nodes.insert(nodes.end(), more.begin(), more.end());
    return nodes;
  }
  int64_t Size(bool reduced) const {
    int64_t size = 1;
    for (const Variable& variable : variables) size *= variable.reduced == reduced ? variable.size : 1;
    return size;
  }
};

std::vector<int64_t> Without(const std::vector<int64_t>& dims, const std::vector<int64_t>& removed) {
  std::vector<int64_t> rest;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::ranges::find(removed, static_cast<int64_t>(i)) == removed.end()) rest.push_back(dims[i]);
  }
  return rest;
}

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

// Plans over the dimensions of the reduces' operand; groups[i] counts how many of those above 1 variable i stands for.
// Nothing when some root is none of what this emitter does.
Result<std::unique_ptr<ReductionPlan>> PlanOver(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                                const std::vector<int>& groups) {
  auto plan = std::make_unique<ReductionPlan>(body);
  IndexPool& pool = plan->pool;
  const Instruction& first = *heroes[0];
  const Shape& shape = first.operand(0).shape();
  const std::vector<int64_t>& reduced = first.attrs<ReduceAttrs>().dimensions;
  const auto is_reduced = [&](int64_t d) { return std::ranges::find(reduced, d) != reduced.end(); };

  std::vector<int64_t> order;
  for (size_t i = shape.layout().minor_to_major.size(); i-- > 0;) {
    const int64_t d = shape.layout().minor_to_major[i];
    if (shape.dim(d) > 1) order.push_back(d);
  }
  std::vector<IndexExpr> index(shape.rank(), pool.Constant(0));
  size_t next = 0;
  for (const int group : groups) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < group; ++i) sizes.push_back(shape.dim(order[next + i]));
    const IndexExpr e = pool.Variable(0, Product(sizes) - 1);
    plan->variables.push_back({e, Product(sizes), is_reduced(order[next])});
    const std::vector<IndexExpr> parts = pool.Delinearize(e, sizes);
    for (int i = 0; i < group; ++i) index[order[next + i]] = parts[i];
    next += group;
  }
  std::vector<IndexExpr> kept;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!is_reduced(d)) kept.push_back(index[d]);
  }
  const std::vector<int64_t> kept_dims = Without(shape.dims(), reduced);

  for (const Instruction* inst : heroes) {
    TRY(CheckScalarComputation(*inst->attrs<ReduceAttrs>().to_apply));
    ReductionPlan::Hero hero{.inst = inst};
    const int64_t arrays = inst->operand_count() / 2;
    for (int64_t i = 0; i < arrays; ++i) {
      hero.inputs.push_back(TRY(plan->graph.Plan(inst->operand(i), index)));
      hero.initial.push_back(TRY(plan->graph.Plan(inst->operand(arrays + i), {})));
      hero.types.push_back(TRY(KernelType(*inst, inst->operand(arrays + i).shape().type())));
      hero.accumulators.push_back(AccumulatorType(*inst, hero.types.back()));
    }
    plan->heroes.push_back(std::move(hero));
  }
  for (const Instruction* inst : heroes) plan->graph.SetGiven(*inst);
  for (const FusionBody::Root& root : body.roots()) {
    TRY(KernelType(*root.inst, root.shape->type()));
    const bool is_store = root.shape->dims() == shape.dims() && Product(kept_dims) != shape.NumElements();
    if (!is_store && root.shape->NumElements() != Product(kept_dims)) return nullptr;
    const std::vector<IndexExpr>& from = is_store ? index : kept;
    const Dims from_dims = is_store ? shape.dims() : Dims(kept_dims);
    const std::vector<IndexExpr> at =
        root.shape->dims() == from_dims ? from : pool.Delinearize(pool.Linearize(from, from_dims), root.shape->dims());
    const Output output{&root, TRY(plan->graph.Plan(*root.inst, at, root.result)),
                        pool.Dot(at, LayoutStrides(*root.shape))};
    (is_store ? plan->stores : plan->epilogues).push_back(output);
  }
  // A reduce may be used at its own index only, and only after the walk.
  for (const NodeId id : plan->graph.Reachable(plan->Inputs())) {
    if (plan->graph.node(id).kind == Kind::kGiven) return nullptr;
  }
  for (const NodeId id : plan->graph.Reachable(plan->Epilogues())) {
    const ElementNode& node = plan->graph.node(id);
    if (node.kind != Kind::kGiven) continue;
    if (node.index != kept) return nullptr;
    for (auto& hero : plan->heroes) {
      if (hero.inst == node.inst) hero.given.push_back(id);
    }
  }
  return plan;
}

bool MayMerge(const ReductionPlan& plan, const ReductionPlan::Variable& a, const ReductionPlan::Variable& b) {
  if (a.reduced != b.reduced) return false;
  const IndexPool& pool = plan.pool;
  const std::function<bool(IndexExpr)> consistent = [&](IndexExpr e) {
    if (!pool.DependsOn(e, a.e) && !pool.DependsOn(e, b.e)) return true;
    const IndexPool::Node& node = pool[e];
    if (node.kind == IndexPool::Kind::kVariable) return false;
    if (node.kind != IndexPool::Kind::kSum) return consistent(node.operand);
    int64_t of_a = 0, of_b = 0;
    for (const auto& term : node.terms) {
      if (term.atom == a.e) of_a = term.coefficient;
      else if (term.atom == b.e) of_b = term.coefficient;
      else if (!consistent(term.atom)) return false;
    }
    return of_a == of_b * b.size;
  };
  for (const NodeId id : plan.graph.Reachable(plan.All())) {
    if (plan.graph.node(id).kind == Kind::kGiven) continue;
    if (!std::ranges::all_of(plan.graph.Expressions(id), consistent)) return false;
  }
  const auto fits = [&](const Output& output) { return consistent(output.offset); };
  return std::ranges::all_of(plan.epilogues, fits) && std::ranges::all_of(plan.stores, fits);
}

// ---- Emission ----------------------------------------------------------------------------------------------------

// All accumulators of all reduces, side by side.
class ReductionBody {
 public:
  ReductionBody(ReductionPlan& plan, KernelFrame& frame)
      : plan_(plan), frame_(frame), k_(frame.k()), emission_(frame.emission()) {
    for (const Output& output : plan_.epilogues) epilogues_.push_back(frame.Output(*output.root));
    for (const Output& output : plan_.stores) stores_.push_back(frame.Output(*output.root));
    for (const auto& hero : plan_.heroes) {
      const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceAttrs>().to_apply);
      has_identity_.push_back(simple && IdentityOf(k_, *simple, hero.accumulators[0]).has_value());
    }
    counts_ = std::ranges::count(has_identity_, false) > 0;
  }

  std::vector<Type> AccumulatorTypes() const {
    std::vector<Type> types;
    for (const auto& hero : plan_.heroes) types.insert(types.end(), hero.accumulators.begin(), hero.accumulators.end());
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
    for (const auto& hero : plan_.heroes) {
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
      for (const auto& hero : plan_.heroes) {
        for (const NodeId input : hero.inputs) terms.push_back(emission_.Emit(input));
      }
      if (counts_) terms.push_back(k_.Constant(kFlag, int64_t{1}));
      for (const Output& store : plan_.stores) stored.push_back(emission_.Emit(store.value));
      accumulators = Combine(accumulators, terms);
      for (size_t i = 0; i < stored.size(); ++i) stores_[i].Store(emission_.Lower(plan_.stores[i].offset), stored[i]);
      emission_.Leave();
      emission_.Leave();
    }
    for (size_t i = 0; i < slots.size(); ++i) slots[i].Set(accumulators[i]);
  }
  void HoistInputs() {
    emission_.Hoist(plan_.Inputs());
    for (const Output& store : plan_.stores) emission_.Hoist(store.offset);
  }

  std::vector<Value> Combine(std::span<const Value> a, std::span<const Value> b) {
    std::vector<Value> results;
    size_t next = 0;
    for (size_t h = 0; h < plan_.heroes.size(); ++h) {
      const auto& hero = plan_.heroes[h];
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
    for (const auto& hero : plan_.heroes) {
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
    for (const Output& output : plan_.epilogues) results.push_back(emission_.Emit(output.value));
    for (size_t i = 0; i < results.size(); ++i)
      epilogues_[i].Store(emission_.Lower(plan_.epilogues[i].offset), results[i]);
  }
  // Before a tile in which Finish stands: what does not vary in it.
  void HoistEpilogues() {
    emission_.Hoist(plan_.Epilogues());
    for (const Output& output : plan_.epilogues) emission_.Hoist(output.offset);
  }

 private:
  // What a partial result starts from: the identity. Without a known one anything, which is not read; the initial value
  // counts once, at the end, and need not be an identity.
  Value Start(const ReductionPlan::Hero& hero, size_t i) {
    if (const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceAttrs>().to_apply)) {
      if (const auto identity = IdentityOf(k_, *simple, hero.accumulators[i])) return *identity;
    }
    return k_.Bits(hero.accumulators[i], 0);
  }

  ReductionPlan& plan_;
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
void BindAll(ReductionPlan& plan, Emission& emission, bool reduced, Value linear) {
  std::vector<const ReductionPlan::Variable*> bound;
  for (size_t i = 0; i + 1 < plan.variables.size(); ++i) {
    if (plan.variables[i].reduced == reduced) bound.push_back(&plan.variables[i]);
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

// Blocks to give each of `groups` independent reductions of `steps` steps.
int64_t SplitsFor(int64_t groups, int64_t steps, int64_t least_steps, const EmitterOptions& options) {
  const int64_t wanted = kWavesOfBlocks * options.multiprocessors;
  if (groups * 2 > wanted) return 1;
  return std::clamp<int64_t>(CeilDiv(wanted, groups), 1, std::max<int64_t>(1, steps / least_steps));
}

// Says how many additions a term passes through. In a product every rounding is one of the result, whatever the order:
// as many as there are terms.
KernelPlan WithChain(KernelPlan plan, const ReductionPlan& reduction, int64_t chain) {
  for (const auto& hero : reduction.heroes) {
    if (!IsFloat(hero.inst->operand(0).shape().type())) continue;
    const Type accumulator = hero.accumulators[0];
    InstructionPlan& promise = plan.precision.instructions[hero.inst->id()];
    const auto simple = AsSimpleReducer(*hero.inst->attrs<ReduceAttrs>().to_apply);
    const bool adds = simple && simple->opcode == Opcode::kAdd;
    promise.sum = SumPlan{
        .accumulator = accumulator == hero.types[0] ? hero.inst->operand(0).shape().type() : PrimitiveType::kF32,
        .longest_chain = adds ? chain : reduction.Size(true)};
  }
  return plan;
}

KernelPlan EmitRows(ReductionPlan& plan, const EmitterOptions& options) {
  const int64_t row = plan.variables.back().size, outer = plan.Size(true) / row, rows = plan.Size(false);
  int width = VectorWidth(plan.graph, plan.Inputs(), {});
  while (width > 1 && row % width != 0) width /= 2;
  const bool by_warp = CeilDiv(row, width) <= 64;
  const int threads = by_warp ? 256 : ThreadsFor(CeilDiv(row, width));
  const int64_t step = int64_t{by_warp ? 32 : threads} * width;
  // What is also stored needs all of the row: then no term can be dropped.
  const bool dropped = options.inject == "dropped_term" && row > 1 && plan.stores.empty();
  const int64_t terms = dropped ? row - 1 : row;
  const int64_t chunks = CeilDiv(terms, step), steps = outer * chunks;
  const bool whole = row % step == 0 && !dropped;
  const int64_t unroll = whole && steps % 4 == 0 ? 4 : 1;
  const int64_t splits = by_warp ? 1 : SplitsFor(rows, steps, 4, options);
  const int64_t blocks = by_warp ? CeilDiv(rows, 8) : rows * splits;

  KernelFrame frame(plan.graph, plan.All(), blocks, threads, options);
  KernelBuilder& k = frame.k();
  k.CountsTo(plan.Size(true) * plan.Size(false));
  Emission& emission = frame.emission();
  emission.SetLane(plan.variables.back().e);
  ReductionBody body(plan, frame);
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
            BindAll(plan, emission, true, chunks == 1 ? each : each / chunks);
            begins.push_back(chunks == 1 ? k.Index(0) : outer == 1 ? each * step : each % chunks * step);
            body.HoistInputs();
            scopes.push_back(emission.Leave());
          }
          const Value is_first = body.counts() && start_together ? at == first : Value();
          TileOver(k, width, terms, begins[0], step, [&](Value i) {
            const auto bind = [&](size_t u) { emission.Bind(plan.variables.back().e, begins[u] + i); };
            body.Accumulate(slots, scopes, bind, is_first);
          });
        },
        unroll == 1 ? 4 : 1);
  };

  if (by_warp) {
    k.Warps([&] {
      const Value index = k.block() * 8 + k.warp();
      k.If(index < rows, [&] {
        Emission::Scope scope(emission);
        BindAll(plan, emission, false, index);
        const std::vector<Slot> slots = body.MakeSlots(width);
        walk(slots, k.Index(0), k.Index(steps));
        body.Finish(k.WarpReduce(slots, body.Combiner()));
      });
    });
    return WithChain(std::move(frame).Finish("row reduction, a warp for each row"), plan, steps + width + 5 + 1);
  }

  Emission::Scope scope(emission);
  const Value index = splits == 1 ? k.block() : k.block() / splits;
  BindAll(plan, emission, false, index);
  const std::vector<Slot> slots = body.MakeSlots(width);
  if (splits == 1) {
    walk(slots, k.Index(0), k.Index(steps));
    body.Finish(k.BlockReduce(slots, body.Combiner()));
    return WithChain(std::move(frame).Finish("row reduction, a block for each row"), plan,
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
  return WithChain(std::move(frame).Finish(Str("row reduction, ", splits, " blocks for each row")), plan, chain);
}

KernelPlan EmitColumns(ReductionPlan& plan, const EmitterOptions& options) {
  const int64_t columns = plan.variables.back().size, outer = plan.Size(false) / columns, terms = plan.Size(true);
  int width = VectorWidth(plan.graph, plan.Inputs(), {});
  while (width > 1 && columns % width != 0) width /= 2;
  // Narrow: the warps of a block take different rows.
  const bool narrow = CeilDiv(columns, width) <= 32;
  const int threads = narrow ? 256 : ThreadsFor(CeilDiv(columns, width));
  const int warps = threads / 32;
  const int64_t strip = narrow ? columns : int64_t{threads} * width;
  const int64_t strips = CeilDiv(columns, strip), groups = outer * strips;
  const int64_t splits = SplitsFor(groups, terms, narrow ? 64 : 32, options);
  // Rows that one pass over the accumulators takes: their loads are in flight together.
  const int64_t block_rows = narrow ? warps : 1;
  const int64_t unroll = terms % (8 * block_rows) == 0 && options.inject != "dropped_term" ? 8 : 1;
  const int64_t share = CeilDiv(CeilDiv(terms, splits), unroll * block_rows) * unroll * block_rows;

  KernelFrame frame(plan.graph, plan.All(), groups * splits, threads, options);
  KernelBuilder& k = frame.k();
  k.CountsTo(plan.Size(true) * plan.Size(false));
  Emission& emission = frame.emission();
  const IndexExpr lane = plan.variables.back().e;
  emission.SetLane(lane);
  ReductionBody body(plan, frame);
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
  BindAll(plan, emission, false, batch);
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
            BindAll(plan, emission, true, term + u * stride);
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
    return WithChain(std::move(frame).Finish(how), plan, chain);
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
  return WithChain(std::move(frame).Finish(how), plan, chain);
}

// The reduces of the body, when they all walk the same elements.
std::vector<const Instruction*> Heroes(const FusionBody& body) {
  std::vector<const Instruction*> heroes;
  for (const Instruction* inst : body.instructions()) {
    if (!inst->Is(Opcode::kReduce)) continue;
    heroes.push_back(inst);
    if (inst->operand(0).shape().dims() != heroes[0]->operand(0).shape().dims()) return {};
    if (inst->attrs<ReduceAttrs>().dimensions != heroes[0]->attrs<ReduceAttrs>().dimensions) return {};
  }
  return heroes;
}

}  // namespace

Result<std::optional<KernelPlan>> EmitReduction(const FusionBody& body, const EmitterOptions& options) {
  const std::vector<const Instruction*> heroes = Heroes(body);
  if (heroes.empty()) return std::nullopt;
  const Shape& shape = heroes[0]->operand(0).shape();
  if (shape.NumElements() == 0 || !shape.layout().tiling->tiles.empty()) return std::nullopt;
  const auto large = [](int64_t size) { return size > 1; };
  const size_t rank = std::ranges::count_if(shape.dims(), large);
  auto plan = TRY(PlanOver(body, heroes, std::vector<int>(rank, 1)));
  if (plan == nullptr || plan->Size(true) <= kFewTerms) return std::nullopt;
  std::vector<int> groups;
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && MayMerge(*plan, plan->variables[i - 1], plan->variables[i])) {
      ++groups.back();
    } else {
      groups.push_back(1);
    }
  }
  if (groups.size() < rank) plan = TRY(PlanOver(body, heroes, groups));
  CHECK(plan != nullptr, body.source().name());
  return plan->variables.back().reduced ? EmitRows(*plan, options) : EmitColumns(*plan, options);
}

}  // namespace hlo::gpu
