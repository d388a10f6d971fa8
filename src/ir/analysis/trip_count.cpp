#include "ir/analysis/trip_count.h"

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// `fusion` contains `inst`, or is null outside of fusions.
struct Place {
  const Instruction* inst;
  const Instruction* fusion = nullptr;
};

Place Operand(Place place, int64_t i) { return {&place.inst->operand(i), place.fusion}; }

// Follows copies, fusions and tuples to the place that computes the value. Ends, because each step goes to an operand
// or into a fusion, which holds no other fusion.
Place Resolve(Place place) {
  for (;;) {
    const Instruction& inst = *place.inst;
    if (inst.Is(Opcode::kCopy) || inst.Is(kView)) {
      if (inst.shape().type() != inst.operand(0).shape().type()) return place;  // The bits are another number.
      place = Operand(place, 0);
    } else if (inst.Is(Opcode::kFusion) && place.fusion == nullptr) {
      place = {&FusedComputation(inst).root(), &inst};
    } else if (inst.Is(Opcode::kParameter) && place.fusion != nullptr) {
      place = {&place.fusion->operand(inst.parameter_number())};
    } else if (inst.Is(Opcode::kGetTupleElement)) {
      const Place tuple = Resolve(Operand(place, 0));
      if (!tuple.inst->Is(Opcode::kTuple)) return {&inst, place.fusion};
      place = Operand(tuple, inst.tuple_index());
    } else {
      return place;
    }
  }
}

std::optional<int64_t> IntegerOf(Place place) {
  const Instruction& inst = *place.inst;
  if (!inst.Is(Opcode::kConstant) || !inst.shape().IsArray() || !IsInteger(inst.shape().type()) ||
      inst.shape().NumElements() != 1)
    return std::nullopt;
  const int64_t value = inst.literal().GetInt(0);
  // Unsigned values of 2^63 or more do not fit.
  if (value < 0 && !IsSigned(inst.shape().type())) return std::nullopt;
  return value;
}

// Index of the state element that the value is, or -1 for the whole state.
std::optional<int64_t> StateElement(Place place) {
  if (place.fusion != nullptr) return std::nullopt;
  if (place.inst->Is(Opcode::kParameter)) return -1;
  if (!place.inst->Is(Opcode::kGetTupleElement)) return std::nullopt;
  const Place tuple = Resolve(Operand(place, 0));
  return tuple.inst->Is(Opcode::kParameter) ? std::optional(place.inst->tuple_index()) : std::nullopt;
}

std::optional<Place> ElementOf(const Instruction& whole, int64_t i) {
  const Place tuple = Resolve({&whole});
  if (i < 0) return tuple;
  if (!tuple.inst->Is(Opcode::kTuple)) return std::nullopt;
  return Resolve(Operand(tuple, i));
}

struct Loop {
  const Instruction& init;
  const Instruction& next;

  std::optional<int64_t> Initial(int64_t i) const {
    const auto place = ElementOf(init, i);
    return place ? IntegerOf(*place) : std::nullopt;
  }
  std::optional<int64_t> Step(int64_t i) const {
    const auto place = ElementOf(next, i);
    if (!place) return std::nullopt;
    if (StateElement(*place) == i) return 0;
    const bool adds = place->inst->Is(Opcode::kAdd);
    if (!adds && !place->inst->Is(Opcode::kSubtract)) return std::nullopt;
    const Place left = Resolve(Operand(*place, 0)), right = Resolve(Operand(*place, 1));
    if (StateElement(left) == i) {
      const auto step = IntegerOf(right);
      if (step && !adds && *step == INT64_MIN) return std::nullopt;
      return step && !adds ? std::optional(-*step) : step;
    }
    return adds && StateElement(right) == i ? IntegerOf(left) : std::nullopt;
  }
  std::optional<int64_t> Constant(Place place) const {
    const auto element = StateElement(place);
    if (!element) return IntegerOf(place);
    return Step(*element) == 0 ? Initial(*element) : std::nullopt;
  }
};

ComparisonDirection Swapped(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt: return ComparisonDirection::kGt;
    case ComparisonDirection::kLe: return ComparisonDirection::kGe;
    case ComparisonDirection::kGt: return ComparisonDirection::kLt;
    case ComparisonDirection::kGe: return ComparisonDirection::kLe;
    default: return direction;
  }
}

// How often first, first + step, ... satisfies the comparison with `bound` before it fails, without wrapping (see
// Fits). nullopt if it never fails.
std::optional<int64_t> Count(int64_t first, int64_t step, ComparisonDirection direction, int64_t bound) {
  __int128 distance = static_cast<__int128>(bound) - first, stride = step;
  switch (direction) {
    case ComparisonDirection::kEq:
      return distance != 0 ? std::optional(0) : step != 0 ? std::optional(1) : std::nullopt;
    case ComparisonDirection::kNe:
      if (distance == 0) return 0;
      if (step == 0 || distance % stride != 0 || distance / stride < 0) return std::nullopt;
      return static_cast<int64_t>(distance / stride);
    case ComparisonDirection::kGe:
    case ComparisonDirection::kGt: distance = -distance, stride = -stride; [[fallthrough]];
    case ComparisonDirection::kLe:
    case ComparisonDirection::kLt: break;
  }
  if (direction == ComparisonDirection::kLe || direction == ComparisonDirection::kGe) ++distance;
  if (distance <= 0) return 0;
  if (stride <= 0) return std::nullopt;
  const __int128 count = (distance + stride - 1) / stride;
  return count <= INT64_MAX ? std::optional(static_cast<int64_t>(count)) : std::nullopt;
}

// Whether the type can represent the counter after the loop.
bool Fits(PrimitiveType type, int64_t first, int64_t step, int64_t count) {
  const __int128 last = static_cast<__int128>(step) * count + first;
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  const __int128 low = IsSigned(type) ? -(static_cast<__int128>(1) << bits) : 0;
  return low <= last && last < static_cast<__int128>(1) << bits;
}

}  // namespace

std::optional<int64_t> TripCount(const Instruction& inst) {
  if (ConfigValue(inst, "known_trip_count")) {
    int64_t known;
    if (const auto n = ConfigValue(inst, "n"); n && ParseInt(*n, &known) && known >= 0) return known;
  }
  return DerivedTripCount(inst);
}

std::optional<int64_t> ElementOfState(const Instruction& value) {
  if (!value.Is(Opcode::kGetTupleElement) || !value.operand(0).Is(Opcode::kParameter)) return std::nullopt;
  return value.tuple_index();
}

std::optional<Induction> InductionOf(const Instruction& inst, int64_t i) {
  if (!IsInteger(inst.shape().element(i).type())) return std::nullopt;
  const Loop loop{inst.operand(0), inst.attrs<WhileAttrs>().body->root()};
  const auto first = loop.Initial(i), step = loop.Step(i);
  if (!first || !step) return std::nullopt;
  return Induction{*first, *step};
}

std::optional<int64_t> DerivedTripCount(const Instruction& inst) {
  const auto& attrs = inst.attrs<WhileAttrs>();
  const Loop loop{inst.operand(0), attrs.body->root()};
  const Place compare = Resolve({&attrs.condition->root()});
  if (!compare.inst->Is(Opcode::kCompare)) return std::nullopt;
  const Place left = Resolve(Operand(compare, 0)), right = Resolve(Operand(compare, 1));
  const ComparisonDirection direction = compare.inst->attrs<CompareAttrs>().direction;
  const auto from = [&](Place counter, Place limit, ComparisonDirection kept) -> std::optional<int64_t> {
    const auto element = StateElement(counter);
    const auto bound = loop.Constant(limit);
    if (!element || !bound) return std::nullopt;
    const auto first = loop.Initial(*element), step = loop.Step(*element);
    if (!first || !step) return std::nullopt;
    const auto count = Count(*first, *step, kept, *bound);
    return count && Fits(counter.inst->shape().type(), *first, *step, *count) ? count : std::nullopt;
  };
  const auto count = from(left, right, direction);
  return count ? count : from(right, left, Swapped(direction));
}

std::vector<Runs> RunsOf(const Instruction& caller) {
  std::vector<Runs> runs;
  for (const Computation* called : CalledComputations(caller)) runs.push_back({called, 1});
  // The condition runs once more than the body.
  if (caller.Is(Opcode::kWhile)) {
    const auto trips = static_cast<double>(TripCount(caller).value_or(1));
    for (Runs& each : runs) each.times = each.computation == caller.attrs<WhileAttrs>().condition ? trips + 1 : trips;
  }
  return runs;
}

}  // namespace hlo
