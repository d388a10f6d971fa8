#include "judge/reach/result_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/analysis/movement.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactIntegers = 0x1p53;  // f64 represents all integers up to this.
bool MayBeInfinite(const Bounds& a) { return a.low == -kInfinity || a.high == kInfinity; }

}  // namespace

Bounds AllOf(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return {0, 1};
  if (!IsInteger(type)) return {-kInfinity, kInfinity, true};
  const int bits = BitWidth(type);
  if (IsSigned(type)) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

Bounds Join(const Bounds& a, const Bounds& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

Bounds Computed(PrimitiveType type, double low, double high, bool nan) {
  if (low != low || high != high) return AllOf(type);
  if (!IsFloat(type)) {
    const Bounds all = AllOf(type);
    const bool exact = std::fabs(low) < kExactIntegers && std::fabs(high) < kExactIntegers;
    return exact && low >= all.low && high <= all.high ? Bounds{low, high} : all;
  }
  if (BitWidth(type) < 16) return AllOf(type);
  const double share = type == PrimitiveType::kF64 ? 1e-12 : type == PrimitiveType::kF32 ? 1e-6 : 0.25;
  const double largest = type == PrimitiveType::kF64 ? 1e300 : type == PrimitiveType::kF32 ? 1e37 : 100;
  const double least = type == PrimitiveType::kF64 ? 1e-300 : type == PrimitiveType::kF32 ? 1e-37 : 0.1;
  // Roundings do not change the sign of a result.
  const auto lower = [&](double x) {
    return x < -largest ? -kInfinity : x >= 0 ? std::max(0.0, x * (1 - share) - least) : x * (1 + share) - least;
  };
  return {lower(low), -lower(-high), nan};
}

namespace {

Bounds OfConstant(const Literal& literal) {
  Bounds bounds;
  for (int64_t i = 0; i < literal.shape().NumElements(); ++i) {
    const double x = literal.GetDouble(i);
    bounds = x != x ? Join(bounds, {kInfinity, -kInfinity, true}) : Join(bounds, {x, x});
  }
  return bounds;
}

bool NanOf(const Bounds& a, const Bounds& b) { return a.nan || b.nan || (MayBeInfinite(a) && MayBeInfinite(b)); }

Bounds Product(const Instruction& inst, const Bounds& a, const Bounds& b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const double ends[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)};
  const bool nan = a.nan || b.nan || MayBeInfinite(a) || MayBeInfinite(b);
  const bool is_square = &inst.operand(0) == &inst.operand(1);
  const double low = is_square ? a.low > 0 ? ends[0] : a.high < 0 ? ends[3] : 0 : *std::ranges::min_element(ends);
  return Computed(inst.shape().type(), low, *std::ranges::max_element(ends), nan);
}

Bounds Converted(const Bounds& a, PrimitiveType from, PrimitiveType to) {
  const Bounds all = AllOf(to);
  if (to == PrimitiveType::kPred)
    return {a.low > 0 || a.high < 0 ? 1.0 : 0.0, a.low == 0 && a.high == 0 && !a.nan ? 0.0 : 1.0};
  if (IsFloat(to)) {
    const bool is_small = std::fabs(a.low) <= 256 && std::fabs(a.high) <= 256;
    if (!IsFloat(from) && is_small && BitWidth(to) >= 16) return {a.low, a.high, a.nan};
    return Computed(to, a.low, a.high, a.nan);
  }
  if (IsFloat(from)) {  // Truncates and saturates. NaN becomes 0.
    if (a.nan)
      return {std::max(all.low, std::min(0.0, std::trunc(a.low))),
              std::min(all.high, std::max(0.0, std::trunc(a.high)))};
    return {std::clamp(std::trunc(a.low), all.low, all.high), std::clamp(std::trunc(a.high), all.low, all.high)};
  }
  return a.low >= all.low && a.high <= all.high ? a : all;
}

Bounds Compared(const Instruction& inst, const Bounds& a, const Bounds& b) {
  using D = ComparisonDirection;
  const CompareAttrs& attrs = inst.attrs<CompareAttrs>();
  if (attrs.type == ComparisonType::kTotalOrder) return {0, 1};
  const bool may_be_nan = a.nan || b.nan;
  const auto of = [&](bool may_hold, bool may_fail) {
    return Bounds{may_fail || may_be_nan ? 0.0 : 1.0, may_hold ? 1.0 : 0.0};
  };
  const bool is_same = &inst.operand(0) == &inst.operand(1);
  switch (attrs.direction) {
    case D::kEq: return of(a.low <= b.high && b.low <= a.high, !is_same && !(a.low == a.high && a == b));
    case D::kNe:
      return {a.low <= b.high && b.low <= a.high ? 0.0 : 1.0,
              may_be_nan || (!is_same && !(a.low == a.high && a == b)) ? 1.0 : 0.0};
    case D::kLt: return of(!is_same && a.low < b.high, is_same || a.high >= b.low);
    case D::kLe: return of(a.low <= b.high, !is_same && a.high > b.low);
    case D::kGt: return of(!is_same && a.high > b.low, is_same || a.low <= b.high);
    case D::kGe: return of(a.high >= b.low, !is_same && a.low < b.high);
  }
  return {0, 1};
}

Bounds OfArithmetic(const Instruction& inst, const Bounds& a, const Bounds& b) {
  const PrimitiveType type = inst.shape().type();
  const Bounds all = AllOf(type);
  const bool is_pred = type == PrimitiveType::kPred;
  switch (inst.opcode()) {
    case Opcode::kMaximum: return {std::max(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
    case Opcode::kMinimum: return {std::min(a.low, b.low), std::min(a.high, b.high), a.nan || b.nan};
    case Opcode::kAnd:
    case Opcode::kOr:
      if (is_pred && inst.Is(Opcode::kAnd)) return {std::min(a.low, b.low), std::min(a.high, b.high)};
      if (is_pred) return {std::max(a.low, b.low), std::max(a.high, b.high)};
      if (!inst.Is(Opcode::kAnd) || (a.low < 0 && b.low < 0)) return all;
      return {0, a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high)};
    case Opcode::kNot: return is_pred ? Bounds{1 - a.high, 1 - a.low} : Computed(type, -1 - a.high, -1 - a.low, false);
    case Opcode::kAdd: return is_pred ? all : Computed(type, a.low + b.low, a.high + b.high, NanOf(a, b));
    case Opcode::kSubtract: return Computed(type, a.low - b.high, a.high - b.low, NanOf(a, b));
    case Opcode::kMultiply: return is_pred ? all : Product(inst, a, b);
    case Opcode::kNegate:
      return IsFloat(type) ? Bounds{-a.high, -a.low, a.nan} : Computed(type, -a.high, -a.low, false);
    case Opcode::kAbs: {
      const double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, most = std::max(-a.low, a.high);
      return IsFloat(type) ? Bounds{least, most, a.nan} : Computed(type, least, most, false);
    }
    case Opcode::kDivide:
      if (!IsInteger(type) || b.low < 1) return all;
      return {a.low < 0 ? a.low : 0, a.high < 0 ? 0 : std::trunc(a.high / b.low)};
    case Opcode::kRemainder:
      if (!IsInteger(type) || b.low < 1) return all;
      return {a.low < 0 ? -(b.high - 1) : 0, a.high < 0 ? 0 : std::min(a.high, b.high - 1)};
    case Opcode::kShiftRightLogical:
      if (b.low != b.high || b.low < 1 || b.low >= BitWidth(type)) return all;
      return {0, std::ldexp(1.0, BitWidth(type) - static_cast<int>(b.low)) - 1};
    case Opcode::kPopulationCount:
    case Opcode::kCountLeadingZeros: return {0, static_cast<double>(BitWidth(type))};
    case Opcode::kSign: return {a.low >= 0 ? 0.0 : -1.0, a.high <= 0 ? 0.0 : 1.0, a.nan};
    case Opcode::kFloor: return {std::floor(a.low), std::floor(a.high), a.nan};
    case Opcode::kCeil: return {std::ceil(a.low), std::ceil(a.high), a.nan};
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven: return {std::floor(a.low), std::ceil(a.high), a.nan};
    case Opcode::kExp:
    case Opcode::kExp2: return {0, kInfinity, a.nan};
    case Opcode::kSqrt: return {-0.0, kInfinity, a.nan || a.low < 0};
    case Opcode::kLogistic: return {0, 1, a.nan};
    case Opcode::kTanh:
    case Opcode::kErf: return {-1, 1, a.nan};
    case Opcode::kSin:
    case Opcode::kCos: return {-1, 1, a.nan || MayBeInfinite(a)};
    case Opcode::kIsFinite:
      return {a.nan || MayBeInfinite(a) ? 0.0 : 1.0, a.low == a.high && MayBeInfinite(a) ? 0.0 : 1.0};
    case Opcode::kGetDimensionSize:
      return {0, static_cast<double>(inst.operand(0).shape().dim(inst.attrs<OneDimensionAttrs>().dimension.value))};
    default: return all;
  }
}

}  // namespace

Bounds BoundsOfResult(const Instruction& inst, std::span<const Bounds> operands) {
  const PrimitiveType type = inst.shape().type();
  const Bounds all = AllOf(type);
  const Bounds none, &a = operands.empty() ? none : operands[0], &b = operands.size() > 1 ? operands[1] : none;
  for (const Instruction* operand : inst.operands()) {
    if (IsComplex(operand->shape().type())) return all;
  }
  if (IsMovement(inst)) {
    Bounds joined;
    for (const Bounds& operand : operands.first(static_cast<size_t>(DataOperands(inst))))
      joined = Join(joined, operand);
    return joined;
  }
  switch (inst.opcode()) {
    case Opcode::kConstant: return OfConstant(inst.literal());
    case Opcode::kIota: {
      const auto size = static_cast<double>(inst.shape().dim(inst.attrs<IotaAttrs>().iota_dimension));
      return Computed(type, 0, std::max(0.0, size - 1), false);
    }
    case Opcode::kDynamicReshape: return a;
    case Opcode::kSelect: {
      Bounds chosen;
      if (a.high > 0) chosen = Join(chosen, b);
      if (a.low < 1) chosen = Join(chosen, operands[2]);
      return chosen;
    }
    case Opcode::kConvert: return Converted(a, inst.operand(0).shape().type(), type);
    case Opcode::kCompare: return Compared(inst, a, b);
    case Opcode::kClamp: {
      const Bounds& high = operands[2];
      return {std::min(std::max(a.low, b.low), high.low), std::min(std::max(a.high, b.high), high.high),
              a.nan || b.nan || high.nan};
    }
    default: return OfArithmetic(inst, a, b);
  }
}

}  // namespace hlo
