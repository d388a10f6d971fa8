#include "gpu/emitters/reducers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

const Computation& ReducerOf(const ReducedHero& hero) { return *hero.inst->attrs<ReduceAttrs>().to_apply; }

// Maxima and minima of 16-bit floats by their bits. Among floats of one sign, the bits as unsigned integers rise with
// the magnitude. The float maximum is the signed maximum if that is at least +0. Otherwise all are negative, and it is
// the unsigned minimum. The float minimum is the unsigned maximum if that is negative, otherwise the unsigned minimum.
// Bits beyond an infinity are NaN. Three integer operations replace about six on floats, because AVX2 has no comparison
// that respects NaN and the sign of zero.
constexpr Type kExtremes[] = {Type::kS16, Type::kU16, Type::kU16};
constexpr int64_t kNothing[] = {INT16_MIN, UINT16_MAX, 0};
constexpr int64_t kSign = 0x8000;

bool IsByBits(const ReducedHero& hero) {
  const auto simple = AsSimpleReducer(ReducerOf(hero));
  if (!simple || hero.types.size() != 1) return false;
  const bool is_extreme = simple->opcode == Opcode::kMaximum || simple->opcode == Opcode::kMinimum;
  return is_extreme && (hero.types[0] == Type::kBF16 || hero.types[0] == Type::kF16);
}

void AppendBits(Value value, std::vector<Value>* bits) {
  for (const Type type : kExtremes) bits->push_back(Bitcast(value, type));
}

std::vector<Value> CombineBits(std::span<const Value> a, std::span<const Value> b) {
  return {Max(a[0], b[0]), Min(a[1], b[1]), Max(a[2], b[2])};
}

}  // namespace

Reducers::Reducers(KernelBuilder& k, Emission& emission, std::vector<const ReducedHero*> heroes, bool by_bits)
    : k_(k), emission_(emission), heroes_(std::move(heroes)) {
  for (const ReducedHero* hero : heroes_) {
    by_bits_.push_back(by_bits && IsByBits(*hero));
    const auto simple = AsSimpleReducer(ReducerOf(*hero));
    has_identity_.push_back(by_bits_.back() || (simple && IdentityOf(k_, *simple, hero->accumulators[0]).has_value()));
  }
  counts_ = std::ranges::count(has_identity_, false) > 0;
}

std::vector<Type> Reducers::AccumulatorTypes() const {
  std::vector<Type> types;
  for (size_t h = 0; h < heroes_.size(); ++h) {
    if (by_bits_[h]) types.insert(types.end(), std::begin(kExtremes), std::end(kExtremes));
    else types.insert(types.end(), heroes_[h]->accumulators.begin(), heroes_[h]->accumulators.end());
  }
  if (counts_) types.push_back(kFlag);
  return types;
}

std::vector<Slot> Reducers::MakeSlots(int width) {
  std::vector<Slot> slots;
  for (const Type type : AccumulatorTypes()) slots.push_back(k_.MakeSlot(type, width));
  size_t next = 0;
  for (size_t h = 0; h < heroes_.size(); ++h) {
    const ReducedHero* const hero = heroes_[h];
    if (by_bits_[h]) {
      for (size_t i = 0; i < std::size(kExtremes); ++i, ++next)
        k_.Fill(slots[next], k_.Constant(kExtremes[i], kNothing[i]));
      continue;
    }
    const auto simple = AsSimpleReducer(ReducerOf(*hero));
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
  for (size_t h = 0; h < heroes_.size(); ++h) {
    if (by_bits_[h]) AppendBits(emission_.Emit(heroes_[h]->inputs[0]), &terms);
    else
      for (const NodeId input : heroes_[h]->inputs) emission_.EmitParts(input, &terms);
  }
  if (counts_) terms.push_back(k_.Constant(kFlag, int64_t{1}));
  return terms;
}

std::vector<Value> Reducers::Combine(std::span<const Value> a, std::span<const Value> b) {
  std::vector<Value> results;
  size_t next = 0;
  for (size_t h = 0; h < heroes_.size(); ++h) {
    if (by_bits_[h]) {
      const std::vector<Value> bits = CombineBits(a.subspan(next), b.subspan(next));
      results.insert(results.end(), bits.begin(), bits.end());
      next += bits.size();
      continue;
    }
    const ReducedHero& hero = *heroes_[h];
    const size_t arrays = hero.types.size();
    std::vector<Value> arguments(a.begin() + next, a.begin() + next + arrays);
    for (size_t i = 0; i < arrays; ++i) arguments.push_back(Convert(b[next + i], hero.accumulators[i]));
    auto folded = EmitScalarComputation(k_, ReducerOf(hero), arguments);
    for (size_t i = 0; i < arrays && !has_identity_[h]; ++i)
      folded[i] = Select(b.back() == 0, arguments[i], Select(a.back() == 0, arguments[arrays + i], folded[i]));
    next += arrays;
    results.insert(results.end(), folded.begin(), folded.end());
  }
  if (counts_) results.push_back(a.back() | b.back());
  return results;
}

KernelBuilder::CombineMany Reducers::Combiner() {
  return [this](std::span<const Value> a, std::span<const Value> b) { return Combine(a, b); };
}

Value Reducers::OfBits(size_t hero, std::span<const Value> totals) {
  const Type type = heroes_[hero]->types[0];
  std::vector<Value> initial;
  AppendBits(Convert(emission_.Emit(heroes_[hero]->initial[0]), type), &initial);
  const std::vector<Value> all = CombineBits(totals, initial);
  const int64_t infinity = type == Type::kBF16 ? 0x7f80 : 0x7c00, nan = infinity | infinity >> 1;
  const bool is_maximum = AsSimpleReducer(ReducerOf(*heroes_[hero]))->opcode == Opcode::kMaximum;
  const Value bits =
      is_maximum ? Select(all[0] >= 0, Bitcast(all[0], Type::kU16), all[1]) : Select(all[2] >= kSign, all[2], all[1]);
  const Value is_nan = (all[0] > infinity) | (all[2] > (kSign | infinity));
  return Bitcast(Select(is_nan, k_.Constant(Type::kU16, nan), bits), type);
}

void Reducers::Give(std::span<const Value> totals) {
  size_t next = 0;
  for (size_t h = 0; h < heroes_.size(); ++h) {
    const ReducedHero* const hero = heroes_[h];
    if (by_bits_[h]) {
      const std::vector<Value> values = {OfBits(h, totals.subspan(next))};
      for (const NodeId given : hero->given) emission_.Bind(given, values);
      next += std::size(kExtremes);
      continue;
    }
    const size_t arrays = hero->types.size();
    std::vector<Value> arguments = emission_.EmitParts(hero->initial);
    for (size_t i = 0; i < arrays; ++i) arguments[i] = Convert(arguments[i], hero->accumulators[i]);
    arguments.insert(arguments.end(), totals.begin() + next, totals.begin() + next + arrays);
    next += arrays;
    auto values = EmitScalarComputation(k_, ReducerOf(*hero), arguments);
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
