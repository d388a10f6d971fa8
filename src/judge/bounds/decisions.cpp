// Comparisons, and, or, is-finite and select. Results are determined if bounds permit one outcome. Otherwise they are
// undetermined, or an interval with all outcomes (docs/comparison.md#decisions).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "judge/bounds/elementwise.h"

namespace hlo::shadow {
namespace {

// `order` is -1 for less, 0 for equal, 1 for greater and 2 for unordered.
bool Holds(ComparisonDirection direction, int order) {
  switch (direction) {
    case ComparisonDirection::kEq: return order == 0;
    case ComparisonDirection::kNe: return order != 0;
    case ComparisonDirection::kLt: return order == -1;
    case ComparisonDirection::kLe: return order == -1 || order == 0;
    case ComparisonDirection::kGt: return order == 1;
    case ComparisonDirection::kGe: return order == 1 || order == 0;
  }
  return false;
}

// Sign-magnitude order.
int TotalOrder(double a, double b) {
  const auto key = [](double x) {
    const int64_t bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  };
  const auto x = key(a), y = key(b);
  if (std::signbit(a) != std::signbit(b)) return std::signbit(a) ? -1 : 1;
  return x < y ? -1 : x > y;
}

}  // namespace

// A comparison is determined if the intervals are disjoint, both sides are exact, one side is certainly NaN, or both
// are the same instruction and not NaN. The total order also depends on the signs of NaNs and zeros, which another
// order of a sum may change (0 + -0).
Result<ShadowValue> Compare(Context& context, const Instruction& inst, Operands operands) {
  const CompareAttrs& attrs = inst.attrs<CompareAttrs>();
  const bool total = attrs.type == ComparisonType::kTotalOrder;
  const PrimitiveType type = inst.operand(0).shape().type();
  // The NaN of these formats has the bits of -0.
  const bool nan_is_zero = total && BitWidth(type) == 8 && FormatOf(type).specials == Specials::kFnuz;
  const bool any_sign[] = {total && !KeepsBitsOfNaN(context, inst.operand(0)),
                           total && !KeepsBitsOfNaN(context, inst.operand(1))};
  const bool any_zero = total && (AddsUpToZero(context, inst.operand(0)) || AddsUpToZero(context, inst.operand(1)));
  const bool itself = &inst.operand(0) == &inst.operand(1);
  const double overflow = RoundingTo(operands[0]->held, false).overflow;  // Larger numbers become NaN in some types.
  const int64_t count = inst.shape().NumElements();
  ShadowValue result;
  result.shape = inst.shape();
  result.exact = Literal::Uninitialized(inst.shape());
  Literal open = Literal(inst.shape());
  uint8_t* out = result.exact.mutable_data<uint8_t>().data();
  uint8_t* undecided = open.mutable_data<uint8_t>().data();
  const Reader left(*operands[0], &ShadowValue::bound, count), right(*operands[1], &ShadowValue::bound, count);
  std::atomic<bool> any_open = false;
  ForEachBlock(count, [&](int64_t begin, int64_t size) {
    const Lane a = left.At(begin), b = right.At(begin);
    for (int64_t i = 0; i < size; ++i) {
      const double x = nan_is_zero && std::isnan(a.value[i]) ? -0.0 : a.value[i];
      const double y = nan_is_zero && std::isnan(b.value[i]) ? -0.0 : b.value[i];
      const double bounds = a.bound[i] + b.bound[i];
      int order = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
      if (total) order = TotalOrder(x, y);
      out[begin + i] = Holds(attrs.direction, order);
      const bool nan = (std::isnan(x) && std::isfinite(a.bound[i])) || (std::isnan(y) && std::isfinite(b.bound[i]));
      const bool same = itself && (std::fabs(x) + bounds < overflow || (std::isinf(bounds) && !std::isnan(x)));
      const bool known = bounds == 0 || std::fabs(x - y) > bounds || (nan && !total) || same;
      const bool any = (any_sign[0] && std::isnan(x)) || (any_sign[1] && std::isnan(y)) ||
                       (any_zero && x == 0 && y == 0 && std::signbit(x) != std::signbit(y));
      if (known && !any) continue;
      undecided[begin + i] = 1;
      any_open = true;
    }
  });
  if (any_open) result.open = std::move(open);
  return result;
}

Result<ShadowValue> AndOr(Context&, const Instruction& inst, Operands operands) {
  const bool deciding = inst.Is(Opcode::kOr);
  const int64_t count = inst.shape().NumElements();
  ShadowValue result;
  result.shape = inst.shape();
  result.exact = Literal(inst.shape());
  Literal open(inst.shape());
  bool any_open = false;
  for (int64_t i = 0; i < count; ++i) {
    bool decided = false, any = false;
    for (const ShadowValue* operand : operands) {
      const int64_t at = operand->shape.NumElements() == 1 ? 0 : i;
      const bool is_open = operand->HasOpen() && operand->open.GetInt(at) != 0;
      any = any || is_open;
      decided = decided || (!is_open && (operand->exact.GetInt(at) != 0) == deciding);
    }
    result.exact.SetInt(i, decided == deciding);
    if (!any || decided) continue;
    open.SetInt(i, 1);
    any_open = true;
  }
  if (any_open) result.open = std::move(open);
  return result;
}

Result<ShadowValue> IsFiniteRule(Context&, const Instruction& inst, Operands operands) {
  const ShadowValue& x = *operands[0];
  const Rounding rounding = RoundingTo(x.held, false);
  ShadowValue result;
  result.shape = inst.shape();
  result.exact = Literal(inst.shape());
  Literal open(inst.shape());
  uint8_t* out = result.exact.mutable_data<uint8_t>().data();
  uint8_t* undecided = open.mutable_data<uint8_t>().data();
  const double* value = Values(x.value);
  const double* bound = BoundsOrNull(x.bound);
  bool any_open = false;
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const double e = bound ? bound[i] : 0;
    out[i] = std::isfinite(value[i]);
    undecided[i] = e != 0 && !(std::fabs(value[i]) + e < rounding.overflow);
    any_open = any_open || undecided[i] != 0;
  }
  if (any_open) result.open = std::move(open);
  return result;
}

Pair HullOf(Pair a, Pair b, std::optional<double> picked) {
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  const bool same =
      SameNumber(a.value, b.value) && (std::isnan(a.value) || std::signbit(a.value) == std::signbit(b.value));
  if (same && IsExact(a) && IsExact(b)) return a;
  const double low = std::fmin(a.value - a.bound, b.value - b.bound);
  const double high = std::fmax(a.value + a.bound, b.value + b.bound);
  const double value = picked ? *picked : low + (high - low) / 2;
  const double bound = std::fmax(high - value, value - low) * kUp;
  if (std::isnan(a.value) || std::isnan(b.value) || !std::isfinite(bound)) return {0, kUndetermined};
  return {value, bound + kTiny};
}

namespace {

// An element is undetermined if the selected operand is, or if the predicate is and the outcomes differ.
Result<ShadowValue> SelectOfIntegers(Context& context, const Instruction& inst, Operands operands) {
  ShadowValue picked = *operands[0];
  picked.open = Literal();
  ShadowValue sides[] = {*operands[1], *operands[2]};
  for (ShadowValue& side : sides) side.open = Literal();
  const ShadowValue* const decided[] = {&picked, &sides[0], &sides[1]};
  ShadowValue result = TRY(ThroughInterpreter(context, inst, decided));
  const int64_t width = ByteWidth(inst.shape().type());
  const auto is_open = [](const ShadowValue& x, int64_t i) { return x.HasOpen() && x.open.GetInt(i) != 0; };
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const int64_t p = operands[0]->shape.NumElements() == 1 ? 0 : i;
    const bool first = picked.exact.GetInt(p) != 0;
    bool open = is_open(*operands[first ? 1 : 2], i);
    if (is_open(*operands[0], p)) {
      open = open || is_open(*operands[first ? 2 : 1], i) ||
             std::memcmp(sides[0].exact.raw() + i * width, sides[1].exact.raw() + i * width, width) != 0;
    }
    if (!open) continue;
    if (!result.HasOpen()) result.open = Literal(inst.shape().WithType(PrimitiveType::kPred));
    result.open.SetInt(i, 1);
  }
  return result;
}

ShadowValue SelectOfFloats(const Instruction& inst, Operands operands, bool as_computed) {
  const ShadowValue& pred = *operands[0];
  const int64_t count = inst.shape().NumElements();
  const bool scalar = pred.shape.NumElements() == 1;
  const uint8_t* picks = pred.exact.data<uint8_t>().data();
  const uint8_t* open = pred.HasOpen() ? pred.open.data<uint8_t>().data() : nullptr;
  const auto select = [&](const Literal ShadowValue::* part, double* value, double* bound) {
    const Reader on_true(*operands[1], part, count), on_false(*operands[2], part, count);
    ForEachBlock(count, [&](int64_t begin, int64_t size) {
      const Lane a = on_true.At(begin), b = on_false.At(begin);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t p = scalar ? 0 : begin + i;
        const Lane& from = picks[p] != 0 ? a : b;
        Pair x{from.value[i], from.bound[i]};
        if (open != nullptr && open[p] != 0)
          x = HullOf({a.value[i], a.bound[i]}, {b.value[i], b.bound[i]},
                     as_computed ? std::optional(x.value) : std::nullopt);
        if (value) value[begin + i] = x.value;
        if (bound) bound[begin + i] = x.bound;
      }
    });
  };
  ShadowValue result;
  result.shape = inst.shape();
  result.held = WidestHeld(operands.subspan(1));
  result.value = NewBuffer(inst.shape());
  double* value = result.value.mutable_data<double>().data();
  const bool bounded = operands[1]->HasBound() || operands[2]->HasBound() || open != nullptr;
  if (bounded) result.bound = NewBuffer(inst.shape());
  select(&ShadowValue::bound, value, bounded ? result.bound.mutable_data<double>().data() : nullptr);
  if (operands[1]->HasLikely() || operands[2]->HasLikely()) {
    result.likely = NewBuffer(inst.shape());
    select(&ShadowValue::likely, nullptr, result.likely.mutable_data<double>().data());
  }
  return result;
}

}  // namespace

Result<ShadowValue> Select(Context& context, const Instruction& inst, Operands operands) {
  if (!hlo::IsFloat(inst.shape().type())) return SelectOfIntegers(context, inst, operands);
  return SelectOfFloats(inst, operands, context.options.widened);
}

}  // namespace hlo::shadow
