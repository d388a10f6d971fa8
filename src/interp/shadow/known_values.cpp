#include "interp/shadow/known_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "interp/count_trips.h"
#include "interp/dynamic.h"
#include "interp/interpreter.h"
#include "interp/shadow/rules.h"
#include "ir/batch_norm_expansion.h"
#include "ir/module.h"
#include "ir/taken_branch.h"
#include "ir/trip_count.h"

namespace hlo {
namespace {

// What is not the same everywhere is known up to this size: constant folding makes no larger constants.
constexpr int64_t kMostElements = 4096;
constexpr int64_t kMostOperandElements = 1 << 16;

// The operands whose elements the result consists of, whatever the others are; none: not a movement of splats.
std::vector<const Instruction*> MovedOperands(const Instruction& inst) {
  std::vector<const Instruction*> moved;
  if (inst.Is(Opcode::kSelect)) moved = {&inst.operand(1), &inst.operand(2)};
  if (inst.Is(Opcode::kCopy) || inst.Is(Opcode::kSort)) moved = {&inst.operand(0)};
  if (shadow::IsMovement(inst)) {
    for (int64_t i = 0; i < shadow::DataOperands(inst); ++i) moved.push_back(&inst.operand(i));
  }
  const auto adds = [](const PaddingDim& dim) { return dim.low > 0 || dim.high > 0 || dim.interior > 0; };
  if (inst.Is(Opcode::kPad) && std::ranges::none_of(inst.attrs<PadAttrs>().padding.dims, adds)) moved.pop_back();
  std::erase_if(moved, [](const Instruction* operand) { return operand->shape().NumElements() == 0; });
  return moved;
}

// What it is whatever decides between two that are one.
const Instruction& Undecided(const Instruction& inst) {
  const Instruction* same = &inst;
  while (same->Is(Opcode::kSelect) && &same->operand(1) == &same->operand(2)) same = &same->operand(1);
  return *same;
}

bool IsEvaluated(const Instruction& inst) {
  if (inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kCustomCall) ||
      inst.Is(Opcode::kRngBitGenerator))
    return false;
  return inst.operand_count() > 0 && !inst.Is(kSideEffect) && !inst.Is(kCollective) && !MayBeDynamic(inst);
}

// `inst` by itself, on parameters; on one element of each where `scalar`.
struct Alone {
  Module module{"alone"};
  Instruction* inst;

  Alone(const Instruction& from, bool scalar) {
    Computation& entry = module.AddComputation("entry");
    const auto shape_of = [&](const Shape& shape) { return scalar ? Shape(shape.type(), {}) : shape; };
    std::vector<Instruction*> operands;
    for (int64_t i = 0; i < from.operand_count(); ++i)
      operands.push_back(&entry.AddParameter(i, shape_of(from.operand(i).shape())));
    inst = &entry.AddClone(from, shape_of(from.shape()), operands);
    entry.SetRoot(*inst);
    module.SetEntry(entry);
  }
};

// Parts of complex numbers. A product's, (ac - bd) + (ad + bc)i, may cancel: they are off by roundings of its size
// |a + bi| |c + di|, which is that of the result, whatever is left of them.
Literal FewComplexRoundings(const Literal& literal) {
  const ShadowValue split = shadow::SplitComplex(hlo::ToShadow(literal));
  const ShadowValue &real = split.elements[0], &imaginary = split.elements[1];
  const shadow::Rounding rounding = shadow::RoundingTo(real.shape.type(), false);
  Literal bound = shadow::Zeros(real.shape);
  auto bounds = bound.mutable_data<double>();
  for (size_t i = 0; i < bounds.size(); ++i) {
    const double size = std::hypot(shadow::Values(real.value)[i], shadow::Values(imaginary.value)[i]);
    bounds[i] = std::isfinite(size) ? 4 * shadow::HalfUlp(rounding, size) : 0;
  }
  return bound;
}

// Four half steps of its type, for each element: what a few operations in another order may round differently. No bytes
// for what is not rounded.
Literal FewRoundings(const Literal& literal) {
  if (IsComplex(literal.shape().type())) return FewComplexRoundings(literal);
  if (!IsFloat(literal.shape().type())) return Literal();
  Literal bound = shadow::NewBuffer(literal.shape());
  const shadow::Rounding rounding = shadow::RoundingTo(literal.shape().type(), false);
  auto bounds = bound.mutable_data<double>();
  for (size_t i = 0; i < bounds.size(); ++i) {
    const double x = literal.GetDouble(static_cast<int64_t>(i));
    bounds[i] = std::isfinite(x) ? 4 * shadow::HalfUlp(rounding, std::fabs(x)) : 0;
  }
  return bound;
}

// A conversion that every element survives as the number it was rounds nothing, in whatever types it is done.
bool ConvertsExactly(const Instruction& inst, const Literal& operand, const Literal& value) {
  if (!inst.Is(Opcode::kConvert) || IsComplex(operand.shape().type())) return false;
  constexpr double kMostInDouble = 0x1p53;  // Beyond it GetDouble rounds a 64-bit integer.
  for (int64_t i = 0; i < value.shape().NumElements(); ++i) {
    const double x = operand.GetDouble(i);
    if (!(std::fabs(x) <= kMostInDouble) || value.GetDouble(i) != x) return false;
  }
  return true;
}

// A complex number's bound is that of each of its parts.
ShadowValue ToShadow(const Literal& value, const Literal& bound) {
  ShadowValue shadow = hlo::ToShadow(value);
  if (shadow.IsFloat()) shadow.bound = bound;
  if (!IsComplex(value.shape().type()) || bound.byte_size() == 0) return shadow;
  ShadowValue split = shadow::SplitComplex(shadow);
  for (ShadowValue& part : split.elements) part.bound = bound;
  return split;
}

// Raises each bound to that of a value of the rule, and how far that value is from `is`.
void WidenTo(const ShadowValue& rule, const std::function<double(int64_t)>& is, std::span<double> bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    const double value = is(static_cast<int64_t>(i)), v = rule.value.data<double>()[i];
    const double other = value == v ? 0 : std::fabs(value - v);
    const double wide = ((rule.HasBound() ? rule.bound.data<double>()[i] : 0) + other) * shadow::kUp;
    if (std::isfinite(wide)) bounds[i] = std::max(bounds[i], wide);
  }
}

// How far from `value`, which the interpreter made of the operands in the declared types, any other evaluation may be:
// all of them, and the one in f64, lie within the shadow's bound e of its v, and so within e + |value - v|. This is
// what a sum needs, whose roundings grow with its terms. Where the shadow knows no bound (a sum of so many terms that
// they may all be lost), the one in f64 is; where it decides on what is not decided, the few roundings are left.
void WidenByRule(const Instruction& alone, std::span<const ShadowValue> operands, const Literal& value,
                 Literal* bound) {
  auto shadow = EvaluateShadowOf(alone, operands);
  // Complex arithmetic has rules in f64 alone: what it made of the operands there is what nobody rounded.
  if (!shadow && IsComplex(value.shape().type())) shadow = EvaluateShadowOf(alone, operands, {.widened = true});
  if (!shadow) return;
  auto bounds = bound->mutable_data<double>();
  if (!IsComplex(value.shape().type())) {
    const auto is = [&](int64_t i) { return value.GetDouble(i); };
    WidenTo(*shadow, is, bounds);
    if (!shadow::AnyUndetermined(*shadow)) return;
    if (const auto in_f64 = EvaluateShadowOf(alone, operands, {.widened = true})) WidenTo(*in_f64, is, bounds);
    return;
  }
  const ShadowValue split = shadow::SplitComplex(*shadow);
  WidenTo(split.elements[0], [&](int64_t i) { return value.GetComplex(i).real(); }, bounds);
  WidenTo(split.elements[1], [&](int64_t i) { return value.GetComplex(i).imag(); }, bounds);
}

}  // namespace

KnownValues::KnownValues(const Module& module, const std::function<bool(const Literal&)>& written,
                         std::function<bool(const Instruction&)> open)
    : open_(std::move(open)) {
  const std::vector<Computation*> order = module.PostOrder();
  for (const Computation* computation : order) {
    for (const Instruction* inst : computation->Instructions()) {
      for (const Computation* callee : CalledComputations(*inst)) callers_[callee].push_back(inst);
      if (!inst->Is(Opcode::kConstant) || !inst->shape().IsArray() || inst->shape().NumElements() == 0) continue;
      const bool made = !written(inst->literal());
      Literal bound = made ? FewRoundings(inst->literal()) : Literal();
      known_.emplace(inst, Made(inst->literal(), std::move(bound), made));
    }
  }
  for (auto computation = order.rbegin(); computation != order.rend(); ++computation) Visit(**computation);
}

// Of a splat one element, with the largest bound of all.
KnownValues::Known KnownValues::Made(Literal value, Literal bound, bool rounded) {
  if (!value.IsSplat()) return {std::move(value), std::move(bound), false, rounded, {}};
  Known known{Literal::Uninitialized(Shape(value.shape().type(), {})), Literal(), true, rounded, {}};
  std::memcpy(known.value.mutable_raw(), value.raw(), static_cast<size_t>(known.value.byte_size()));
  if (bound.byte_size() != 0)
    known.bound = Literal::Scalar(PrimitiveType::kF64, std::ranges::max(bound.data<double>()));
  return known;
}

// f8e8m0fnu has no 0 (its bytes of 0 are another number): arithmetic makes a NaN there, and 0 in f64.
KnownValues::Known KnownValues::Zero(PrimitiveType type) {
  Literal zero = IsFloat(type) ? Literal::Scalar(type, 0.0) : Literal(Shape(type, {}));
  const bool rounded = IsFloat(type) && !zero.IsAll(0);
  return {std::move(zero), Literal(), true, rounded, {}};
}

const KnownValues::Known* KnownValues::Get(const Instruction& inst) const {
  const auto it = known_.find(&inst);
  return it == known_.end() ? nullptr : &it->second;
}

std::optional<ShadowValue> KnownValues::Rounded(const Instruction& inst) const {
  const Known* known = Get(inst);
  return known != nullptr && known->rounded ? Value(inst) : std::nullopt;
}

std::optional<ShadowValue> KnownValues::Value(const Instruction& inst) const {
  const Known* known = inst.shape().IsArray() ? Get(inst) : nullptr;
  if (known == nullptr) return std::nullopt;
  // Complex arithmetic is done in parts on both sides, and never exactly.
  const bool is_exact_complex = IsComplex(inst.shape().type()) && known->bound.byte_size() == 0;
  ShadowValue value = ToShadow(known->value, is_exact_complex ? FewRoundings(known->value) : known->bound);
  if (known->splat) return Splat(value, inst.shape());
  value.shape = inst.shape();
  return value;
}

void KnownValues::TakeFolded(const std::function<bool(const Literal&)>& made) {
  for (auto& [inst, known] : known_) {
    if (!inst->shape().IsArray() || known.bound.byte_size() == 0 || IsComplex(inst->shape().type())) continue;
    bool says_nothing = false;
    for (int64_t i = 0; i < known.value.shape().NumElements() && !says_nothing; ++i)
      says_nothing = known.bound.GetDouble(i) > kSaysNothing * std::fabs(known.value.GetDouble(i));
    if (says_nothing && made(known.value)) known.bound = FewRoundings(known.value);
  }
}

void KnownValues::ForEachExact(const std::function<void(const Literal&)>& f) const {
  for (const auto& [inst, known] : known_) {
    if (inst->shape().IsArray() && !known.rounded) f(known.value);
  }
}

void KnownValues::Visit(const Computation& computation) {
  if (!visited_.insert(&computation).second) return;
  struct Frame {
    std::vector<Instruction*> order;
    size_t next = 0;
  };
  std::vector<Frame> frames;
  frames.push_back({computation.PostOrder()});
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == frame.order.size()) {
      frames.pop_back();
      continue;
    }
    const Instruction& inst = *frame.order[frame.next];
    // What is called goes first, and then the call itself.
    const Callee callee = known_.contains(&inst) ? Callee() : CalleeOf(inst);
    if (callee.computation != nullptr && visited_.insert(callee.computation).second) {
      PassArguments(inst, callee);
      frames.push_back({callee.computation->PostOrder()});
      continue;
    }
    ++frame.next;
    if (known_.contains(&inst)) continue;
    auto known = Find(inst);
    if (!known) continue;
    if (open_ && !follows_ && open_(inst)) left_open_ = true;
    else known_.emplace(&inst, std::move(*known));
  }
}

std::optional<KnownValues::Known> KnownValues::Find(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
    case Opcode::kConditional: {
      const Callee called = CalleeOf(inst);
      return called.computation == nullptr ? std::nullopt : OfCallee(*called.computation);
    }
    case Opcode::kWhile: return OfLoop(inst);
    case Opcode::kOptimizationBarrier: {
      const Known* operand = Get(inst.operand(0));
      return operand == nullptr ? std::nullopt : std::optional(*operand);
    }
    case Opcode::kTuple: {
      Known tuple;
      for (const Instruction* operand : inst.operands()) {
        const Known* element = Get(*operand);
        tuple.elements.push_back(element == nullptr ? std::nullopt : std::optional(*element));
      }
      return tuple;
    }
    case Opcode::kGetTupleElement: {
      const Known* tuple = Get(inst.operand(0));
      return tuple == nullptr ? std::nullopt : tuple->elements[inst.tuple_index()];
    }
    case Opcode::kSort: {
      // Whatever the order is, what is the same everywhere stays so.
      const auto same = [&](const Instruction* operand) { return SameEverywhere({&operand, 1}); };
      if (MayBeDynamic(inst) || inst.shape().IsArray()) break;
      Known sorted;
      for (const Instruction* operand : inst.operands()) sorted.elements.push_back(same(operand));
      return sorted;
    }
    default: break;
  }
  if (!inst.shape().IsArray() || inst.shape().NumElements() == 0) return std::nullopt;
  // Along a dimension of size 1 it is 0.
  if (inst.Is(Opcode::kIota) && inst.shape().dim(inst.attrs<IotaAttrs>().iota_dimension) == 1)
    return Zero(inst.shape().type());
  if (auto moved = Moved(inst)) return moved;
  if (auto decided = ByIdentity(inst)) return decided;
  if (auto evaluated = Evaluated(inst)) return evaluated;
  // A body that makes the same of everything, or of what it is given everywhere.
  return inst.Is(Opcode::kMap) ? OfCallee(*CalleeOf(inst).computation) : std::nullopt;
}

KnownValues::Callee KnownValues::CalleeOf(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kMap: return {CalledComputations(inst)[0], 0, true};
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return {ExpansionOf(inst), 0, true};
    case Opcode::kWhile: return {inst.attrs<WhileAttrs>().body, 0, TripsOf(inst) == 1};
    case Opcode::kConditional: {
      const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
      const Known* selector = Get(inst.operand(0));
      if (selector == nullptr || !selector->splat) return {};
      const int64_t taken = TakenBranch(selector->value, std::ssize(branches));
      return {branches[taken], taken + 1, true};
    }
    default: return {};
  }
}

// What a pass puts in its place, whose steps round as the declared types do.
const Computation* KnownValues::ExpansionOf(const Instruction& inst) {
  const auto [found, is_new] = expansions_.emplace(&inst, nullptr);
  if (!is_new) return found->second == nullptr ? nullptr : &found->second->entry();
  auto module = std::make_unique<Module>("expansion");
  Computation& entry = module->AddComputation("entry");
  std::vector<Instruction*> operands;
  for (const Instruction* operand : inst.operands())
    operands.push_back(&entry.AddParameter(std::ssize(operands), operand->shape()));
  Instruction& copy = entry.AddClone(inst, operands);
  Instruction* const expanded = ExpandBatchNorm(copy);
  if (expanded == nullptr) return nullptr;
  entry.SetRoot(*expanded);
  entry.Remove(copy);
  module->SetEntry(entry);
  callers_[&entry] = {&inst};
  expansions_[&inst] = std::move(module);
  return &entry;
}

// Of a loop whose state is known at its start.
std::optional<int64_t> KnownValues::TripsOf(const Instruction& loop) {
  const auto [found, is_new] = trips_.emplace(&loop, std::nullopt);
  if (is_new) {
    found->second = CountTrips(loop, kMostInterpretedTrips, ScalarKnown());
  }
  return found->second;
}

std::function<const Literal*(const Instruction&)> KnownValues::ScalarKnown() const {
  return [this](const Instruction& inst) {
    const Known* known = inst.shape().IsScalar() ? Get(inst) : nullptr;
    return known == nullptr ? nullptr : &known->value;
  };
}

// What `caller` passes as parameter i of `callee`, where that is known: a map passes the elements one by one.
const KnownValues::Known* KnownValues::Passed(const Instruction& caller, const Computation& callee, int64_t i) {
  const Callee called = CalleeOf(caller);
  if (called.computation != &callee || !called.once) return nullptr;
  const Known* known = Get(caller.operand(called.first + i));
  return known != nullptr && caller.Is(Opcode::kMap) && !known->splat ? nullptr : known;
}

// What all who call `callee` pass alike is known inside.
void KnownValues::PassArguments(const Instruction& caller, const Callee& called) {
  const Computation& callee = *called.computation;
  for (size_t k = 0; k < callee.parameters().size(); ++k) {
    const auto i = static_cast<int64_t>(k);
    const Known* mine = Passed(caller, callee, i);
    if (mine == nullptr) continue;
    const std::vector<const Instruction*>& callers = callers_[&callee];
    const bool alike =
        callers.size() == 1 || (mine->elements.empty() && std::ranges::all_of(callers, [&](const Instruction* other) {
                                  const Known* theirs = other == &caller ? mine : Passed(*other, callee, i);
                                  return theirs != nullptr && theirs->elements.empty() &&
                                         mine->splat == theirs->splat && mine->value.BitEquals(theirs->value);
                                }));
    if (alike) known_.emplace(&callee.parameter(i), *mine);
  }
}

std::optional<KnownValues::Known> KnownValues::OfCallee(const Computation& callee) const {
  const Known* result = Get(callee.root());
  return result == nullptr ? std::nullopt : std::optional(*result);
}

// Outside, an element that the body hands on is what the loop began with; one that it makes of such a one, or that each
// trip computes anew from nothing that changes, is that, once there was a trip; and counters are followed. Passes have
// the same law (while_simplifier.cpp, UseLastValues): tests/loop_laws_test.cpp holds them to each other.
std::optional<KnownValues::Known> KnownValues::OfLoop(const Instruction& loop) {
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  const auto trips = TripsOf(loop);
  if (trips == 1) return OfCallee(body);
  const Known* init = Get(loop.operand(0));
  if (trips == 0) return init == nullptr ? std::nullopt : std::optional(*init);
  if (init == nullptr || !body.root().Is(Opcode::kTuple)) return std::nullopt;
  const auto handed_on = [&](int64_t i) { return ElementOfState(body.root().operand(i)); };
  Known result;
  for (int64_t i = 0; i < body.root().operand_count(); ++i) {
    const auto from = handed_on(i);
    const Known* anew = trips ? Get(body.root().operand(i)) : nullptr;
    if (from && (*from == i || (trips && handed_on(*from) == from))) {
      result.elements.push_back(init->elements[*from]);
      continue;
    }
    if (anew != nullptr) {
      result.elements.push_back(*anew);
      continue;
    }
    auto counted = trips ? ScalarAfter(loop, i, *trips, ScalarKnown()) : std::nullopt;
    // Only integers are followed without rounding.
    const bool exact = counted && !IsFloat(counted->shape().type()) && !IsComplex(counted->shape().type());
    result.elements.push_back(exact ? std::optional(Made(std::move(*counted), Literal(), false)) : std::nullopt);
  }
  std::vector<size_t> left;
  for (size_t i = 0; i < result.elements.size(); ++i) {
    if (!result.elements[i]) left.push_back(i);
  }
  const auto followed = trips && !left.empty() ? Followed(loop, *trips, *init, left) : std::nullopt;
  for (const size_t i : left) {
    if (followed) result.elements[i] = followed->elements[i];
  }
  return result;
}

// Trip by trip, each with what the one before it left, as long as any of the elements `wanted` is known or one more
// element has become so (the input wanders out of a state that hands it on): as passes fold a loop that they unrolled.
// What is known inside for all trips is again, afterwards.
std::optional<KnownValues::Known> KnownValues::Followed(const Instruction& loop, int64_t trips, const Known& init,
                                                        const std::vector<size_t>& wanted) {
  constexpr int64_t kMostSteps = 10'000;  // As while_loop_unroller's copies.
  if (trips > kMostInterpretedTrips) return std::nullopt;
  const Computation& body = *loop.attrs<WhileAttrs>().body;
  std::vector<const Computation*> inside = {&body};
  for (size_t i = 0; i < inside.size(); ++i) {
    for (const Instruction* inst : inside[i]->Instructions()) {
      for (const Computation* callee : CalledComputations(*inst)) {
        if (std::ranges::find(inside, callee) == inside.end()) inside.push_back(callee);
      }
    }
  }
  int64_t steps = 0;
  for (const Computation* computation : inside) steps += computation->InstructionCount();
  if (steps * trips > kMostSteps) return std::nullopt;

  std::vector<std::pair<const Instruction*, Known>> before;
  std::unordered_set<const Instruction*> followed;
  const auto forget = [&](bool keep) {
    for (const Computation* computation : inside) {
      visited_.erase(computation);
      for (const Instruction* inst : computation->Instructions()) {
        trips_.erase(inst);
        const auto known = inst->Is(Opcode::kConstant) ? known_.end() : known_.find(inst);
        if (known == known_.end()) continue;
        if (keep) before.emplace_back(inst, std::move(known->second));
        else followed.insert(inst);
        known_.erase(known);
      }
    }
  };
  const bool outer = std::exchange(follows_, true);
  forget(true);
  std::optional<Known> state = init;
  for (int64_t trip = 0; state && trip < trips; ++trip) {
    const Known& given = known_.emplace(&body.parameter(0), std::move(*state)).first->second;
    Visit(body);
    const Known& next = *Get(body.root());  // A tuple always is known, if none of its elements.
    bool goes_on = std::ranges::any_of(wanted, [&](size_t i) { return next.elements[i].has_value(); });
    for (size_t i = 0; i < next.elements.size(); ++i) goes_on = goes_on || (next.elements[i] && !given.elements[i]);
    state = goes_on ? std::optional(next) : std::nullopt;
    forget(false);
  }
  follows_ = outer;
  for (auto& [inst, known] : before) known_.emplace(inst, std::move(known));
  visited_.insert(inside.begin(), inside.end());
  if (state) followed_.merge(followed);
  return state;
}

std::optional<KnownValues::Known> KnownValues::SameEverywhere(std::span<const Instruction* const> operands) const {
  std::optional<Known> same;
  for (const Instruction* operand : operands) {
    const Known* known = Get(*operand);
    if (known == nullptr || !known->splat) return std::nullopt;
    if (!same) {
      same = *known;
      continue;
    }
    if (!same->value.BitEquals(known->value)) return std::nullopt;
    same->rounded = same->rounded || known->rounded;
    if (known->bound.byte_size() == 0) continue;
    if (same->bound.byte_size() == 0 || same->bound.GetDouble(0) < known->bound.GetDouble(0))
      same->bound = known->bound;
  }
  return same;
}

std::optional<KnownValues::Known> KnownValues::Moved(const Instruction& inst) const {
  if (MayBeDynamic(inst)) return std::nullopt;
  // A slice of all that there is starts at 0, whatever its indices say.
  const bool updates = inst.Is(Opcode::kDynamicUpdateSlice);
  const Instruction* const slice = updates ? &inst.operand(1) : &inst;
  if ((updates || inst.Is(Opcode::kDynamicSlice)) && Compatible(slice->shape(), inst.operand(0).shape())) {
    const Known* whole = Get(inst.operand(updates ? 1 : 0));
    return whole == nullptr ? std::nullopt : std::optional(*whole);
  }
  const Known* selector = inst.Is(Opcode::kSelect) ? Get(inst.operand(0)) : nullptr;
  if (selector == nullptr || !selector->splat) return SameEverywhere(MovedOperands(inst));
  const Instruction* selected[] = {&inst.operand(selector->value.GetInt(0) != 0 ? 1 : 2)};
  auto moved = SameEverywhere(selected);
  if (moved) moved->rounded = moved->rounded || selector->rounded;
  return moved;
}

// What the same is whatever x is: passes know it, and fold what follows.
std::optional<KnownValues::Known> KnownValues::ByIdentity(const Instruction& inst) const {
  const auto all = [&](int64_t number) {
    return Known{Literal::Scalar(inst.shape().type(), number), Literal(), true, false, {}};
  };
  const auto is = [&](int64_t i, int64_t number) {
    const Known* known = Get(inst.operand(i));
    return known != nullptr && known->splat && known->value.IsAll(static_cast<double>(number));
  };
  const auto is_whole = [](const Instruction& x) {
    return IsInteger(x.shape().type()) || x.shape().type() == PrimitiveType::kPred;
  };
  const auto is_empty = [](const Instruction& x) { return x.shape().IsArray() && x.shape().NumElements() == 0; };
  const bool twice = inst.operand_count() == 2 && is_whole(inst.operand(0)) &&
                     &Undecided(inst.operand(0)) == &Undecided(inst.operand(1));
  switch (inst.opcode()) {
    case Opcode::kXor: return twice ? std::optional(all(0)) : std::nullopt;
    case Opcode::kSubtract: return twice && IsInteger(inst.shape().type()) ? std::optional(all(0)) : std::nullopt;
    case Opcode::kAnd:
    case Opcode::kMultiply: return is_whole(inst) && (is(0, 0) || is(1, 0)) ? std::optional(all(0)) : std::nullopt;
    case Opcode::kOr: {
      const int64_t ones = inst.shape().type() == PrimitiveType::kPred ? 1 : -1;
      const bool exact = ones == 1 || IsSigned(inst.shape().type());
      return exact && (is(0, ones) || is(1, ones)) ? std::optional(all(ones)) : std::nullopt;
    }
    case Opcode::kCompare: {
      const ComparisonDirection direction = inst.attrs<CompareAttrs>().direction;
      const bool above = IsUnsigned(inst.operand(0).shape().type()) && is(1, 0);
      const bool below = IsUnsigned(inst.operand(0).shape().type()) && is(0, 0);
      if ((twice || above) && direction == ComparisonDirection::kGe) return all(1);
      if ((twice || above) && direction == ComparisonDirection::kLt) return all(0);
      if ((twice || below) && direction == ComparisonDirection::kLe) return all(1);
      if ((twice || below) && direction == ComparisonDirection::kGt) return all(0);
      if (!twice) return std::nullopt;
      return all(direction == ComparisonDirection::kEq ? 1 : 0);
    }
    case Opcode::kImag:
      if (!IsFloat(inst.operand(0).shape().type())) return std::nullopt;
      return Zero(inst.shape().type());
    case Opcode::kPower:
      if (!IsFloat(inst.shape().type()) || !is(1, 0)) return std::nullopt;
      return Known{Literal::Scalar(inst.shape().type(), 1.0), Literal(), true, false, {}};
    case Opcode::kDot:
    case Opcode::kConvolution:
      if (!is_empty(inst.operand(0)) && !is_empty(inst.operand(1))) return std::nullopt;
      return Zero(inst.shape().type());
    case Opcode::kReduce: {
      const Known* init = is_empty(inst.operand(0)) ? Get(inst.operand(1)) : nullptr;
      return init != nullptr ? std::optional(*init) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<KnownValues::Known> KnownValues::Evaluated(const Instruction& inst) const {
  if (!IsEvaluated(inst)) return std::nullopt;
  const bool pointwise = inst.Is(kElementwise) || inst.Is(Opcode::kMap);
  bool splats = pointwise, rounded_before = false;
  for (const Instruction* operand : inst.operands()) {
    const Known* known = Get(*operand);
    if (known == nullptr || !operand->shape().IsArray()) return std::nullopt;
    splats = splats && known->splat;
    rounded_before = rounded_before || known->rounded;
  }
  if (!splats && inst.shape().NumElements() > kMostElements) return std::nullopt;
  std::vector<Literal> values;
  std::vector<ShadowValue> shadows;
  for (const Instruction* operand : inst.operands()) {
    const Known& known = *Get(*operand);
    const bool expand = known.splat && !splats;
    if (expand && operand->shape().NumElements() > kMostOperandElements) return std::nullopt;
    values.push_back(expand ? Splat(known.value, operand->shape()) : known.value);
    shadows.push_back(ToShadow(known.value, known.bound));
    if (expand) shadows.back() = Splat(shadows.back(), operand->shape());
  }
  const Alone alone(inst, splats);
  Result<Literal> value = Evaluate(*alone.inst, values);
  if (!value || !Compatible(value->shape(), alone.inst->shape())) return std::nullopt;
  const bool rounds = (pointwise || !shadow::IsMovement(inst)) && !ConvertsExactly(inst, values[0], *value);
  const bool rounded = rounded_before || rounds;
  Literal bound;
  if (rounded) bound = FewRoundings(*value);
  if (bound.byte_size() != 0) WidenByRule(*alone.inst, shadows, *value, &bound);
  return Made(std::move(*value), std::move(bound), rounded);
}

}  // namespace hlo
