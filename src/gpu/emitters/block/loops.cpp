#include "gpu/emitters/block/state.h"

#include <algorithm>

#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

Homes MakeState(BlockState& block, const Instruction& loop, const Homes& init) {
  Homes state;
  for (size_t i = 0; i < init.size(); ++i) {
    if (const auto filled = block.filled.find(static_cast<int64_t>(i)); filled != block.filled.end()) {
      state.emplace_back(MakeFilled(block, filled->second));
      continue;
    }
    if (IsPassedOn(loop, static_cast<int64_t>(i)) || std::holds_alternative<std::monostate>(init[i])) {
      state.push_back(init[i]);
    } else if (std::holds_alternative<Array>(init[i])) {
      const bool is_shared = block.columns && block.space.recurrent->state[i] == RecurrentLoop::Element::kColumns;
      const Array array = MakeArray(block, loop.shape().element(static_cast<int64_t>(i)), is_shared);
      Copy(block, init[i], array);
      state.emplace_back(array);
    } else {
      state.emplace_back(block.k.MakeVariable(ValueOf(init[i])));
    }
  }
  return state;
}

// All elements of the state change at once. If a copy overwrites the source of another copy, a third array saves this
// source first.
void SetState(BlockState& block, const Instruction& loop, const Homes& state, const Homes& next) {
  struct Move {
    Array to, from;
    const Shape* shape;
  };
  std::vector<std::pair<Variable, Value>> values;
  std::vector<Move> moves;
  for (size_t i = 0; i < state.size(); ++i) {
    const auto element = static_cast<int64_t>(i);
    if (IsPassedOn(loop, element)) continue;
    if (const auto* variable = std::get_if<Variable>(&state[i])) values.emplace_back(*variable, ValueOf(next[i]));
    const auto* array = std::get_if<Array>(&state[i]);
    if (array == nullptr || std::get<Array>(next[i]) == *array) continue;
    moves.push_back({*array, std::get<Array>(next[i]), &loop.shape().element(element)});
  }
  for (Move& move : moves) {
    if (std::ranges::none_of(moves, [&](const Move& other) { return other.to == move.from; })) continue;
    const Array third = MakeArray(block, *move.shape);
    Copy(block, move.from, third);
    move.from = third;
  }
  for (const Move& move : moves) Copy(block, move.from, move.to);
  for (const auto& [variable, value] : values) variable.Set(value);
}

void LoadWeights(BlockState& block, const Homes& state) {
  const RecurrentLoop& recurrent = *block.space.recurrent;
  int64_t most_sums = 0;
  for (const RecurrentLoop::Product& product : recurrent.products) {
    ClusterProduct& own =
        block.products.try_emplace(&product, block.k, *block.columns, product, product.terms).first->second;
    const Instruction& weights = WithoutNames(product.call->operand(product.weights));
    const Home home = weights.Is(Opcode::kConstant) ? HomeOf(block, weights.literal()) : state[weights.tuple_index()];
    own.LoadWeights(std::get<Array>(home), static_cast<int>(block.request.plan.vector));
    most_sums = std::max(most_sums, own.SumElements());
  }
  block.sums = block.k.Shared("sums", Type::kF32, most_sums);
  for (const Instruction* value : recurrent.gathered)
    block.gathered.emplace(
        value, block.k.Shared("gathered", KernelTypeOf(value->shape().type()), value->shape().NumElements()));
}

Homes EmitWhile(BlockState& block, const Instruction& loop, const Homes& init) {
  const auto& attrs = loop.attrs<WhileAttrs>();
  const auto number = std::ssize(block.kernel.loops);
  block.kernel.loops.push_back(&loop);
  const Homes state = MakeState(block, loop, init);
  const Variable goes_on = block.k.MakeVariable(block.k.Constant(Type::kPred, 0));
  const Variable made = block.k.MakeVariable(block.k.Constant(Type::kS64, 0));
  const Value most = block.depth == 0 ? block.outermost_trips : block.most_trips;
  ++block.depth;
  block.k.While(
      [&] {
        Known known = {{attrs.condition->parameters()[0], state}};
        EmitComputation(block, *attrs.condition, known);
        goes_on.Set(ValueOf(known.at(&attrs.condition->root())[0]));
        return goes_on.Get() & (made.Get() < most) & ~block.stopped.Get();
      },
      [&] {
        Known known = {{attrs.body->parameters()[0], state}};
        block.states.push_back(&state);
        EmitComputation(block, *attrs.body, known);
        block.states.pop_back();
        SetState(block, loop, state, known.at(&attrs.body->root()));
        made.Set(made.Get() + 1);
      });
  --block.depth;
  if (block.depth == 0) block.trips.Store(kTripsMade, made.Get());
  block.k.If(goes_on.Get() & (made.Get() >= block.most_trips) & ~block.stopped.Get(), [&] {
    block.trips.Store(kEndless, block.k.Constant(Type::kS64, number + 1));
    block.stopped.Set(block.k.Constant(Type::kPred, 1));
  });
  return state;
}

Homes EmitTrips(BlockState& block, const Instruction& loop, const Homes& init) {
  block.kernel.loops.push_back(&loop);
  const Homes state = MakeState(block, loop, init);
  LoadWeights(block, state);
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  const Value wanted = block.k.Constant(Type::kS64, block.space.recurrent->trips),
              made = Min(wanted, block.outermost_trips);
  block.k.Loop(block.k.Index(0), Convert(made, Type::kIndex), 1, [&](Value) {
    Known known = {{body.parameters()[0], state}};
    block.states.push_back(&state);
    EmitComputation(block, body, known);
    block.states.pop_back();
    SetState(block, loop, state, known.at(&body.root()));
  });
  block.k.If(block.columns->rank() == 0, [&] {
    block.trips.Store(kTripsMade, made);
    block.k.If(wanted > block.most_trips, [&] { block.trips.Store(kEndless, block.k.Constant(Type::kS64, 1)); });
  });
  return state;
}

}  // namespace

Homes EmitLoop(BlockState& block, const Instruction& loop, const Homes& init) {
  return block.columns ? EmitTrips(block, loop, init) : EmitWhile(block, loop, init);
}

void OpenTrips(BlockState& block) {
  if (block.columns) {
    block.kernel.buffers.push_back({.kind = KernelBuffer::Kind::kTrips, .bytes = kTripFields * int64_t{8}});
    const Array limits = block.k.Input("limits", Type::kS64, kTripFields);
    block.most_trips = limits.Load(int64_t{kMostTrips});
    block.outermost_trips = Min(limits.Load(int64_t{kStopAfter}), block.most_trips);
  }
  block.kernel.buffers.push_back({.kind = KernelBuffer::Kind::kTrips, .bytes = kTripFields * int64_t{8}});
  block.trips = block.k.InOut("trips", Type::kS64, kTripFields);
  if (block.columns) return;
  block.most_trips = block.trips.Load(int64_t{kMostTrips});
  block.outermost_trips = Min(block.trips.Load(int64_t{kStopAfter}), block.most_trips);
  block.stopped = block.k.MakeVariable(block.k.Constant(Type::kPred, 0));
}

}  // namespace hlo::gpu
