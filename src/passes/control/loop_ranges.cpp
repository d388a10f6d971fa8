// Simplifies a loop body by two facts of each trip: the condition is true, and a counter is between its first and its
// last value.
//
//   implied  A comparison that follows from these facts becomes constant.
//   within   A clamp, minimum, maximum or remainder without effect is removed.
#include <algorithm>
#include <array>
#include <optional>

#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

using Wide = __int128;  // Holds sums and differences of 64-bit values.

// Includes both ends.
struct Range {
  Wide low, high;

  bool Within(const Range& other) const { return other.low <= low && high <= other.high; }
};

Range WholeOf(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return {0, 1};
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return {IsSigned(type) ? -(Wide(1) << bits) : 0, (Wide(1) << bits) - 1};
}

Range Hull(const Range& a, const Range& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Range Common(const Range& a, const Range& b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

// Bits of a set of possible orders of two values.
enum Order : unsigned { kLess = 1, kSame = 2, kMore = 4 };

unsigned OrdersOf(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq: return kSame;
    case ComparisonDirection::kNe: return kLess | kMore;
    case ComparisonDirection::kLt: return kLess;
    case ComparisonDirection::kLe: return kLess | kSame;
    case ComparisonDirection::kGt: return kMore;
    case ComparisonDirection::kGe: return kMore | kSame;
  }
  return kLess | kSame | kMore;
}
unsigned Swapped(unsigned orders) {
  return (orders & kSame) | ((orders & kLess) != 0 ? kMore : 0U) | ((orders & kMore) != 0 ? kLess : 0U);
}
// The result of a comparison that is true exactly for the orders `asked`. nullopt if it differs among the `possible`
// orders.
std::optional<bool> Outcome(unsigned possible, unsigned asked) {
  if ((possible & ~asked) == 0) return true;
  return (possible & asked) == 0 ? std::optional(false) : std::nullopt;
}

bool IsScalarInteger(const Instruction& inst) {
  return inst.shape().IsScalar() && (IsInteger(inst.shape().type()) || inst.shape().type() == PrimitiveType::kPred);
}

std::optional<Range> RangeOfConstant(const Instruction& inst) {
  if (!inst.Is(Opcode::kConstant) || !IsScalarInteger(inst)) return std::nullopt;
  const int64_t value = inst.literal().GetInt(0);
  const Wide exact = inst.shape().type() == PrimitiveType::kU64 ? Wide(static_cast<uint64_t>(value)) : Wide(value);
  return Range{exact, exact};
}

// A comparison of a state element with another element or a constant, true at the start of each trip.
struct Fact {
  int64_t element;
  unsigned orders;
  int64_t other = -1;
  std::optional<Range> bound;
};

class Ranges {
 public:
  explicit Ranges(const Loop& loop) : loop_(loop), ranges_(loop.body->place_limit()) {
    ReadFacts();
    trips_ = DerivedTripCount(*loop.loop);
  }

  bool Run(const PassContext& context) {
    bool changed = false;
    for (Instruction* inst : loop_.body->PostOrder()) {
      if (!IsScalarInteger(*inst)) continue;
      RangeOf(*inst) = Find(*inst);
      Instruction* const same = inst->IsRoot() || inst->IsDead() ? nullptr : Simpler(*inst);
      if (same == nullptr || !context.ConsumeFuel()) continue;
      const Range range = RangeOf(*inst);
      ranges_.resize(loop_.body->place_limit());
      RangeOf(*same) = range;
      inst->ReplaceAllUses(*same);
      changed = true;
    }
    return changed;
  }

 private:
  Range& RangeOf(const Instruction& inst) { return ranges_[inst.place()]; }

  std::optional<int64_t> ElementInCondition(const Instruction& inst) const {
    if (!inst.Is(Opcode::kGetTupleElement) || &inst.operand(0) != &loop_.condition->parameter(0)) return std::nullopt;
    return inst.tuple_index();
  }

  void ReadFacts() {
    std::vector<const Instruction*> worklist = {&loop_.condition->root()};
    while (!worklist.empty()) {
      const Instruction& inst = *worklist.back();
      worklist.pop_back();
      if (inst.Is(Opcode::kAnd) && facts_.size() < kMostFacts) {
        worklist.insert(worklist.end(), inst.operands().begin(), inst.operands().end());
      } else if (inst.Is(Opcode::kCompare) && IsScalarInteger(inst.operand(0))) {
        const unsigned orders = OrdersOf(inst.attrs<CompareAttrs>().direction);
        AddFact(inst.operand(0), orders, inst.operand(1));
        AddFact(inst.operand(1), Swapped(orders), inst.operand(0));
      }
    }
  }
  void AddFact(const Instruction& value, unsigned orders, const Instruction& other) {
    const auto element = ElementInCondition(value);
    if (!element) return;
    const auto second = ElementInCondition(other);
    const auto bound = second ? RangeOfConstant(loop_.init->operand(*second)) : RangeOfConstant(other);
    const bool known = bound && (!second || loop_.IsInvariant(*second));
    if (second || known) facts_.push_back({*element, orders, second.value_or(-1), known ? bound : std::nullopt});
  }

  // The range at the start of a trip.
  Range OfElement(int64_t i, PrimitiveType type) const {
    const Range whole = WholeOf(type);
    Range range = whole;
    const auto induction = InductionOf(*loop_.loop, i);
    if (induction && trips_ && *trips_ > 0) {
      const Wide last = induction->first + Wide(induction->step) * (*trips_ - 1);
      const Range counted = Hull({induction->first, induction->first}, {last, last});
      if (counted.Within(whole)) range = counted;
    }
    for (const Fact& fact : facts_) {
      if (fact.element != i) continue;
      // If a counter is less than another value in each trip, an increase by 1 does not overflow.
      if (induction && fact.orders == kLess && induction->step == 1)
        range = Common(range, {induction->first, whole.high - 1});
      if (induction && fact.orders == kMore && induction->step == -1)
        range = Common(range, {whole.low + 1, induction->first});
      if (!fact.bound) continue;
      if ((fact.orders & kMore) == 0) range.high = std::min(range.high, fact.bound->high - (fact.orders == kLess));
      if ((fact.orders & kLess) == 0) range.low = std::max(range.low, fact.bound->low + (fact.orders == kMore));
    }
    return range.low <= range.high ? range : whole;  // An empty range means that no trip starts.
  }

  Range Find(const Instruction& inst) {
    const Range whole = WholeOf(inst.shape().type());
    if (const auto element = loop_.ElementInBody(inst))
      return IsInteger(inst.shape().type()) ? OfElement(*element, inst.shape().type()) : whole;
    if (const auto constant = RangeOfConstant(inst)) return *constant;
    if (!std::ranges::all_of(inst.operands(), [](const auto* operand) { return IsScalarInteger(*operand); }))
      return whole;
    const Range range = Computed(inst, whole);
    return range.Within(whole) ? range : whole;  // Otherwise the result may wrap.
  }

  Range Computed(const Instruction& inst, const Range& whole) {
    const auto of = [&](int64_t i) { return RangeOf(inst.operand(i)); };
    switch (inst.opcode()) {
      case Opcode::kAdd: return IsPred(inst) ? whole : Range{of(0).low + of(1).low, of(0).high + of(1).high};
      case Opcode::kSubtract: return {of(0).low - of(1).high, of(0).high - of(1).low};
      case Opcode::kMultiply: return IsPred(inst) ? whole : Product(of(0), of(1), whole);
      case Opcode::kMaximum: return {std::max(of(0).low, of(1).low), std::max(of(0).high, of(1).high)};
      case Opcode::kMinimum: return {std::min(of(0).low, of(1).low), std::min(of(0).high, of(1).high)};
      case Opcode::kClamp: {
        const auto clamped = [&](Wide value, Wide low, Wide high) { return std::min(std::max(value, low), high); };
        return {clamped(of(1).low, of(0).low, of(2).low), clamped(of(1).high, of(0).high, of(2).high)};
      }
      case Opcode::kSelect: {
        const Range chosen = of(0);
        if (chosen.low == chosen.high) return of(chosen.low == 1 ? 1 : 2);
        return Hull(of(1), of(2));
      }
      case Opcode::kRemainder:
        if (of(0).low < 0 || of(1).low <= 0) return whole;
        return {0, std::min(of(0).high, of(1).high - 1)};
      case Opcode::kCompare: {
        const auto outcome = Compared(inst);
        return outcome ? Range{*outcome, *outcome} : whole;
      }
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kReshape: return of(0);
      default: return whole;
    }
  }
  static bool IsPred(const Instruction& inst) { return inst.shape().type() == PrimitiveType::kPred; }

  // A product of unsigned 64-bit factors may not fit into a signed 128-bit integer.
  static Range Product(const Range& a, const Range& b, const Range& whole) {
    constexpr Wide kMost = Wide(1) << 62;
    if (!a.Within({-kMost, kMost}) || !b.Within({-kMost, kMost})) return whole;
    const std::array<Wide, 4> corners = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return {std::ranges::min(corners), std::ranges::max(corners)};
  }

  std::optional<bool> Compared(const Instruction& inst) {
    const unsigned asked = OrdersOf(inst.attrs<CompareAttrs>().direction);
    const Instruction &a = inst.operand(0), &b = inst.operand(1);
    const Range left = RangeOf(a), right = RangeOf(b);
    unsigned possible = 0;
    if (left.low < right.high) possible |= kLess;
    if (left.high > right.low) possible |= kMore;
    if (left.low <= right.high && right.low <= left.high) possible |= kSame;
    const auto first = loop_.ElementInBody(a), second = loop_.ElementInBody(b);
    for (const Fact& fact : facts_) {
      if (first && second && fact.element == *first && fact.other == *second) possible &= fact.orders;
    }
    return Outcome(possible, asked);
  }

  // An operand or constant that equals `inst`, or null.
  Instruction* Simpler(Instruction& inst) {
    const auto of = [&](int64_t i) { return RangeOf(inst.operand(i)); };
    switch (inst.opcode()) {
      case Opcode::kCompare: {
        const Range outcome = RangeOf(inst);
        if (outcome.low != outcome.high) return nullptr;
        return &inst.computation().AddConstant(Literal::Scalar(PrimitiveType::kPred, int64_t(outcome.low)));
      }
      case Opcode::kClamp: return of(1).Within({of(0).high, of(2).low}) ? &inst.operand(1) : nullptr;
      case Opcode::kMaximum: return Extreme(inst, 0, 1);
      case Opcode::kMinimum: return Extreme(inst, 1, 0);
      case Opcode::kRemainder: return of(0).Within({0, of(1).low - 1}) ? &inst.operand(0) : nullptr;
      default: return nullptr;
    }
  }
  // Operand `larger` if operand 0 is never less than operand 1, `smaller` if never greater, else null.
  Instruction* Extreme(Instruction& inst, int larger, int smaller) {
    if (IsPred(inst)) return nullptr;
    const Range a = RangeOf(inst.operand(0)), b = RangeOf(inst.operand(1));
    if (a.low >= b.high) return &inst.operand(larger);
    return b.low >= a.high ? &inst.operand(smaller) : nullptr;
  }

  static constexpr size_t kMostFacts = 64;

  const Loop& loop_;
  std::vector<Range> ranges_;  // Indexed by place. Set only for scalar integers.
  std::vector<Fact> facts_;
  std::optional<int64_t> trips_;
};

}  // namespace

bool UseRanges(const Loop& loop, const PassContext& context) { return Ranges(loop).Run(context); }

}  // namespace hlo
