#include "gpu/emitters/reducers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::Slot;
using kernel::Type;
using kernel::Value;

const Computation& ReducerOf(const ReducedHero& hero) { return *hero.inst->attrs<ReduceAttrs>().to_apply; }

}  // namespace

Reducers::Reducers(kernel::KernelBuilder& k, Emission& emission, const std::string& fault,
                   std::vector<const ReducedHero*> heroes)
    : k_(k), emission_(emission), fault_(fault), heroes_(std::move(heroes)) {
  for (const ReducedHero* hero : heroes_) {
    const auto simple = AsSimpleReducer(ReducerOf(*hero));
    has_identity_.push_back(simple && IdentityOf(k_, *simple, hero->accumulators[0]).has_value());
  }
  counts_ = std::ranges::count(has_identity_, false) > 0;
}

std::vector<Type> Reducers::AccumulatorTypes() const {
  std::vector<Type> types;
  for (const ReducedHero* hero : heroes_)
    types.insert(types.end(), hero->accumulators.begin(), hero->accumulators.end());
  if (counts_) types.push_back(kFlag);
  return types;
}

std::vector<Slot> Reducers::MakeSlots(int width) {
  std::vector<Slot> slots;
  for (const Type type : AccumulatorTypes()) slots.push_back(k_.MakeSlot(type, width));
  size_t next = 0;
  for (const ReducedHero* hero : heroes_) {
    const auto simple = AsSimpleReducer(ReducerOf(*hero));
    // Without a known identity anything, which is not read.
    for (const Type type : hero->accumulators) {
      const auto identity = simple ? IdentityOf(k_, *simple, type) : std::nullopt;
      k_.Fill(slots[next++], identity ? *identity : k_.Bits(type, 0));
    }
  }
  if (counts_) k_.Fill(slots[next], k_.Constant(kFlag, int64_t{0}));
  return slots;
}

std::vector<Value> Reducers::Terms() {
  std::vector<Value> terms;
  for (const ReducedHero* hero : heroes_) {
    for (const NodeId input : hero->inputs) emission_.EmitParts(input, &terms);
  }
  if (counts_) terms.push_back(k_.Constant(kFlag, int64_t{1}));
  return terms;
}

std::vector<Value> Reducers::Combine(std::span<const Value> a, std::span<const Value> b) {
  std::vector<Value> results;
  size_t next = 0;
  for (size_t h = 0; h < heroes_.size(); ++h) {
    const ReducedHero& hero = *heroes_[h];
    const size_t arrays = hero.types.size();
    std::vector<Value> arguments(a.begin() + next, a.begin() + next + arrays);
    for (size_t i = 0; i < arrays; ++i) arguments.push_back(Convert(b[next + i], hero.accumulators[i]));
    auto folded = EmitScalarComputation(k_, ReducerOf(hero), arguments, fault_);
    for (size_t i = 0; i < arrays && !has_identity_[h]; ++i)
      folded[i] = Select(b.back() == 0, arguments[i], Select(a.back() == 0, arguments[arrays + i], folded[i]));
    next += arrays;
    results.insert(results.end(), folded.begin(), folded.end());
  }
  if (counts_) results.push_back(a.back() | b.back());
  return results;
}

kernel::KernelBuilder::CombineMany Reducers::Combiner() {
  return [this](std::span<const Value> a, std::span<const Value> b) { return Combine(a, b); };
}

void Reducers::Give(std::span<const Value> totals) {
  size_t next = 0;
  for (const ReducedHero* hero : heroes_) {
    const size_t arrays = hero->types.size();
    std::vector<Value> arguments = emission_.EmitParts(hero->initial);
    for (size_t i = 0; i < arrays; ++i) arguments[i] = Convert(arguments[i], hero->accumulators[i]);
    arguments.insert(arguments.end(), totals.begin() + next, totals.begin() + next + arrays);
    next += arrays;
    auto values = EmitScalarComputation(k_, ReducerOf(*hero), arguments, fault_);
    for (size_t i = 0; i < values.size(); ++i) values[i] = Convert(values[i], hero->types[i]);
    for (const NodeId given : hero->given) emission_.Bind(given, values);
  }
}

void AddChain(const ReducedHero& hero, int64_t chain, int64_t terms, PrecisionPlan& precision) {
  const PrimitiveType type = hero.inst->operand(0).shape().type();
  if (!IsFloat(type)) return;
  const auto simple = AsSimpleReducer(ReducerOf(hero));
  const bool adds = simple && simple->opcode == Opcode::kAdd;
  precision.instructions[hero.inst->id()].sum =
      SumPlan{.accumulator = hero.accumulators[0] == hero.types[0] ? type : PrimitiveType::kF32,
              .longest_chain = adds ? chain : terms};
}

}  // namespace hlo::gpu
