// Bounds of elementwise operations. Source of the rules: spec/testing.md 5.1, 5.3 and 6.
//
// Each rule gives the exact function of the exact values (`value`) and how far the function can move while its
// arguments move within their bounds (`before`). `Rounded` then adds what rounding the result costs. Blocks of elements
// go through plain loops that the compiler vectorises; an element that is infinite, NaN, undetermined or may overflow
// fails the loop's check and is done again by the careful rule.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "base/check.h"
#include "base/parallel.h"
#include "interp/shadow_rules.h"

namespace hlo::shadow {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kGrain = 1 << 14;  // A multiple of kBlock.
constexpr double kTiny = std::numeric_limits<double>::denorm_min();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Consecutive elements of an operand.
struct Lane {
  const double* value;
  const double* bound;
};
using BlockRule = std::function<void(const Lane* operands, double* value, double* bound, int64_t count)>;
using PairRule = std::function<Pair(const Pair* operands)>;

// |t - value| for a result whose exact value is within `before` of `value`: R(|value| + before) for each rounding, and
// the f64 rounding of `value` itself.
inline double WithRounding(const Finish& finish, double value, double before) {
  const double size = (std::fabs(value) + before) * kUp;
  const double steps = HalfStep(finish.compute, size) + HalfStep(finish.target, size);
  return (before + steps + std::fabs(value) * kOwn) * kUp;
}

Pair Rounded(const Finish& finish, double value, double before) {
  return AfterOverflow(finish, value, WithRounding(finish, value, before));
}

bool IsExact(Pair x) { return x.bound == 0; }
bool IsDecided(Pair x) { return std::isfinite(x.bound); }
bool IsNonZero(Pair x) { return std::fabs(x.value) > x.bound; }

// ---- Arithmetic
// ------------------------------------------------------------------------------------------------------

// (a+da) + (b+db) - (a+b) = da + db.
struct AddRule {
  static double Value(double a, double b) { return a + b; }
  static double Before(double, double ea, double, double eb) { return ea + eb; }
};
struct SubtractRule {
  static double Value(double a, double b) { return a - b; }
  static double Before(double, double ea, double, double eb) { return ea + eb; }
};
// (a+da)(b+db) - ab = a db + b da + da db.
struct MultiplyRule {
  static double Value(double a, double b) { return a * b; }
  static double Before(double a, double ea, double b, double eb) {
    return std::fabs(a) * eb + std::fabs(b) * ea + ea * eb;
  }
};
// (a+da)/(b+db) - a/b = (b da - a db) / (b (b+db)), and |b+db| >= |b| - eb, which must be positive.
struct DivideRule {
  static double Value(double a, double b) { return a / b; }
  static double Before(double a, double ea, double b, double eb) {
    const double size = std::fabs(b);
    const double before = (std::fabs(a) * eb + size * ea) / (size * (size - eb));
    return size > eb ? before : kUndetermined;
  }
};

// Where an exact infinity or zero meets a bounded value, the result is exact as long as the other operand's sign is
// known.
Pair CarefulArithmetic(Opcode opcode, Pair a, Pair b, double value, double before, const Finish& finish) {
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  const bool special = !std::isfinite(a.value) || !std::isfinite(b.value);
  if (std::isfinite(value) && !special) {
    return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
  }
  if (IsExact(a) && IsExact(b)) return {value, 0};
  if (std::isnan(a.value) || std::isnan(b.value)) return {value, 0};
  const bool additive = opcode == Opcode::kAdd || opcode == Opcode::kSubtract;
  if (special && additive) return {value, 0};
  if (special && opcode == Opcode::kMultiply) {
    const Pair other = std::isinf(a.value) ? b : a;
    return IsNonZero(other) ? Pair{value, 0} : Pair{0, kUndetermined};
  }
  if (opcode == Opcode::kDivide && std::isinf(a.value)) return IsNonZero(b) ? Pair{value, 0} : Pair{0, kUndetermined};
  if (opcode == Opcode::kDivide && std::isinf(b.value)) return {0, IsNonZero(a) ? 0 : kTiny};
  if (opcode == Opcode::kDivide && b.value == 0 && IsExact(b) && IsNonZero(a)) return {value, 0};
  return {0, kUndetermined};
}

// Has a type that is rounded to like this the number x, below its overflow?
bool Holds(const Rounding& rounding, double x) {
  if (rounding.relative == 0) return true;
  const double steps = x / (2 * HalfStep(rounding, std::fabs(x)));
  return steps == std::nearbyint(steps);
}

// Is `value`, which f64 makes of two exact numbers, the exact result, and one that the types have? Then nothing is
// rounded, by whatever type it passes, in an fma or without.
bool IsExactResult(Opcode opcode, double a, double b, double value, const Finish& finish) {
  if (!Holds(finish.compute, value) || !Holds(finish.target, value)) return false;
  switch (opcode) {
    case Opcode::kSubtract: b = -b; [[fallthrough]];
    case Opcode::kAdd: {  // Knuth's error of a sum.
      const double part = value - a;
      return (a - (value - part)) + (b - part) == 0;
    }
    case Opcode::kMultiply:
      if (a == 0 || b == 0) return true;
      return std::fabs(value) > 0x1p-900 && std::fma(a, b, -value) == 0;
    case Opcode::kDivide:
      if (a == 0) return b != 0;
      return std::fabs(value) > 0x1p-900 && std::fabs(a) > 0x1p-900 && std::fma(value, b, -a) == 0;
    default: return false;
  }
}

template <class Rule>
BlockRule Arithmetic(Opcode opcode, const Finish& finish) {
  return [opcode, finish](const Lane* in, double* value, double* bound, int64_t count) {
    const double *a = in[0].value, *ea = in[0].bound, *b = in[1].value, *eb = in[1].bound;
    const Finish f = finish;
    int64_t fine = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double v = Rule::Value(a[i], b[i]);
      const double e = WithRounding(f, v, Rule::Before(a[i], ea[i], b[i], eb[i]));
      value[i] = v;
      bound[i] = e;
      fine += std::fabs(v) + e < f.overflow ? 1 : 0;
    }
    for (int64_t i = 0; f.nearest && i < count; ++i) {
      if (ea[i] == 0 && eb[i] == 0 && std::fabs(value[i]) < f.overflow &&
          IsExactResult(opcode, a[i], b[i], value[i], f))
        bound[i] = 0;
    }
    if (fine == count) return;
    for (int64_t i = 0; i < count; ++i) {
      if (std::fabs(value[i]) + bound[i] < f.overflow) continue;
      const Pair x = CarefulArithmetic(opcode, {a[i], ea[i]}, {b[i], eb[i]}, Rule::Value(a[i], b[i]),
                                       Rule::Before(a[i], ea[i], b[i], eb[i]), f);
      value[i] = x.value;
      bound[i] = x.bound;
    }
  };
}

// The larger of two values moves by no more than the larger of their bounds; when they cannot meet, by the winner's.
// Nothing is rounded. 0 and -0 may come out as either.
Pair MaximumOf(Pair a, Pair b) {
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  if (std::isnan(a.value)) return a;
  if (std::isnan(b.value)) return b;
  const bool left = a.value > b.value;
  const Pair& winner = left ? a : b;
  if (std::fabs(a.value - b.value) > a.bound + b.bound) return winner;
  const bool zeros = a.value == 0 && b.value == 0 && std::signbit(a.value) != std::signbit(b.value);
  return {winner.value, std::max({a.bound, b.bound, zeros ? kTiny : 0})};
}

Pair MinimumOf(Pair a, Pair b) {
  const Pair x = MaximumOf({-a.value, a.bound}, {-b.value, b.bound});
  return {-x.value, x.bound};
}

template <bool kMinimum>
BlockRule Extreme() {
  return [](const Lane* in, double* value, double* bound, int64_t count) {
    const double *a = in[0].value, *ea = in[0].bound, *b = in[1].value, *eb = in[1].bound;
    int64_t fine = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool left = kMinimum ? a[i] < b[i] : a[i] > b[i];
      const double distance = std::fabs(a[i] - b[i]);
      const double either = ea[i] > eb[i] ? ea[i] : eb[i];
      value[i] = left ? a[i] : b[i];
      bound[i] = distance > ea[i] + eb[i] ? (left ? ea[i] : eb[i]) : either;
      // False for NaN, for anything undetermined, and for equal zeros.
      fine += distance + ea[i] + eb[i] > 0 ? 1 : 0;
    }
    if (fine == count) return;
    for (int64_t i = 0; i < count; ++i) {
      const Pair x{a[i], ea[i]}, y{b[i], eb[i]};
      const Pair z = kMinimum ? MinimumOf(x, y) : MaximumOf(x, y);
      value[i] = z.value;
      bound[i] = z.bound;
    }
  };
}

// ---- Functions
// -------------------------------------------------------------------------------------------------------

// A function that is monotone on [low, high] and undefined outside. While the argument stays inside, its extremes over
// [a - e, a + e] lie at the ends.
struct Function {
  double (*f)(double);
  double low = -kInfinity;
  double high = kInfinity;
};

Pair Monotone(const Function& function, const Finish& finish, Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  const double value = function.f(a.value);
  if (IsExact(a) || std::isnan(a.value)) return std::isfinite(value) ? Rounded(finish, value, 0) : Pair{value, 0};
  const double low = a.value - a.bound, high = a.value + a.bound;
  if (low < function.low || high > function.high) return {0, kUndetermined};
  const double before = std::max(std::fabs(function.f(low) - value), std::fabs(function.f(high) - value));
  return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
}

double Rsqrt(double x) { return 1 / std::sqrt(x); }
double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Bounded slope 1; the values stay in [-1, 1].
Pair SineLike(double (*f)(double), const Finish& finish, Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  const double value = f(a.value);
  if (!std::isfinite(value)) return {value, 0};
  return Rounded(finish, value, std::min(2.0, a.bound));
}

Pair TanRule(const Finish& finish, Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  const auto period = [](double x) { return std::floor(x / M_PI + 0.5); };  // Poles where this jumps.
  if (!IsExact(a) && period(a.value - a.bound * 1.0001) != period(a.value + a.bound * 1.0001))
    return {0, kUndetermined};
  return Monotone({std::tan}, finish, a);
}

// Falls, then rises: the least value over an interval around 0 is 1.
Pair CoshRule(const Finish& finish, Pair a) {
  const Pair ends = Monotone({std::cosh}, finish, a);
  if (!IsDecided(a) || !IsDecided(ends) || std::fabs(a.value) > a.bound) return ends;
  return {ends.value, ends.bound + (std::cosh(a.value) - 1)};
}

// 1 / (1 + exp(-x)) literally gives 0 where exp overflows, although the exact value is a small number yet.
Pair LogisticRule(const Finish& finish, Pair a) {
  const Pair x = Monotone({Logistic}, finish, a);
  if (IsDecided(x) && std::isfinite(x.value) && x.value < finish.compute.least * 0x1p26)
    return {x.value, x.bound + x.value};
  return x;
}

// floor and its like, for increasing step functions: decided when both ends agree, else anything between.
Pair Steps(double (*f)(double), Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  if (IsExact(a) || !std::isfinite(a.value)) return {f(a.value), 0};
  const double low = f(a.value - a.bound), high = f(a.value + a.bound);
  if (low == high) return {low, low == 0 ? kTiny : 0};
  return {(low + high) / 2, (high - low) / 2 * kUp};
}

double SignOf(double x) { return std::isnan(x) ? x : std::copysign(x != 0 ? 1.0 : 0.0, x); }
double RoundToEven(double x) { return std::nearbyint(x); }

// Monotone in each argument for a positive base, so the extremes lie at the corners. A negative base needs an exact
// integer exponent; then x^b is monotone on either side of 0.
Pair PowerRule(const Finish& finish, const Pair* in) {
  const Pair a = in[0], b = in[1];
  if (IsExact(b) && b.value == 0) return {1, 0};
  if (IsExact(a) && a.value == 1) return {1, 0};
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  const double value = std::pow(a.value, b.value);
  if (IsExact(a) && IsExact(b)) return std::isfinite(value) ? Rounded(finish, value, 0) : Pair{value, 0};
  const bool integer = IsExact(b) && b.value == std::trunc(b.value);
  if (!(a.value > a.bound) && !integer) return {0, kUndetermined};
  const bool meets_zero = !IsNonZero(a);
  if (meets_zero && b.value < 0) return {0, kUndetermined};
  double before = meets_zero ? std::fabs(value) : 0;
  for (const double x : {a.value - a.bound, a.value + a.bound}) {
    for (const double y : {b.value - b.bound, b.value + b.bound})
      before = std::max(before, std::fabs(std::pow(x, y) - value));
  }
  return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
}

Pair Atan2Rule(const Finish& finish, const Pair* in) {
  const Pair y = in[0], x = in[1];
  if (!IsDecided(x) || !IsDecided(y)) return {0, kUndetermined};
  const double value = std::atan2(y.value, x.value);
  if (std::isnan(value)) return {value, 0};
  // The cut runs along y = 0, x <= 0; at an exact zero the sign of y decides, and is known.
  if (!(IsExact(x) && IsExact(y)) && !IsNonZero(y) && x.value - x.bound <= 0) return {0, kUndetermined};
  double before = 0;
  for (const double dy : {-y.bound, y.bound}) {
    for (const double dx : {-x.bound, x.bound})
      before = std::max(before, std::fabs(std::atan2(y.value + dy, x.value + dx) - value));
  }
  return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
}

// fmod is exact. While the whole quotient stays the same number q, a - q b moves by ea + |q| eb.
Pair RemainderRule(const Finish& finish, const Pair* in) {
  const Pair a = in[0], b = in[1];
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  const double value = std::fmod(a.value, b.value);
  if ((IsExact(a) && IsExact(b)) || std::isnan(value)) return {value, 0};
  if (!IsNonZero(b)) return {0, kUndetermined};
  const double quotient = std::trunc(a.value / b.value);
  for (const double da : {-a.bound, a.bound}) {
    for (const double db : {-b.bound, b.bound}) {
      if (std::trunc((a.value + da) / (b.value + db)) != quotient) return {0, kUndetermined};
    }
  }
  return Rounded(finish, value, a.bound + std::fabs(quotient) * b.bound);
}

// The rule of an opcode that takes one element at a time, or null.
PairRule ScalarRule(Opcode opcode, const Finish& f) {
  const auto monotone = [&](Function function) -> PairRule {
    return [function, f](const Pair* in) { return Monotone(function, f, in[0]); };
  };
  const auto steps = [&](double (*function)(double)) -> PairRule {
    return [function](const Pair* in) { return Steps(function, in[0]); };
  };
  switch (opcode) {
    case Opcode::kExp: return monotone({std::exp});
    case Opcode::kExp2: return monotone({std::exp2});
    case Opcode::kExpm1: return monotone({std::expm1});
    case Opcode::kLog: return monotone({std::log, 0});
    case Opcode::kLog2: return monotone({std::log2, 0});
    case Opcode::kLog1p: return monotone({std::log1p, -1});
    case Opcode::kSqrt: return monotone({std::sqrt, 0});
    case Opcode::kRsqrt: return monotone({Rsqrt, kTiny});
    case Opcode::kCbrt: return monotone({std::cbrt});
    case Opcode::kTanh: return monotone({std::tanh});
    case Opcode::kErf: return monotone({std::erf});
    case Opcode::kSinh: return monotone({std::sinh});
    case Opcode::kAsin: return monotone({std::asin, -1, 1});
    case Opcode::kAcos: return monotone({std::acos, -1, 1});
    case Opcode::kAsinh: return monotone({std::asinh});
    case Opcode::kAcosh: return monotone({std::acosh, 1});
    case Opcode::kAtanh: return monotone({std::atanh, -1, 1});
    case Opcode::kLogistic: return [f](const Pair* in) { return LogisticRule(f, in[0]); };
    case Opcode::kCosh: return [f](const Pair* in) { return CoshRule(f, in[0]); };
    case Opcode::kTan: return [f](const Pair* in) { return TanRule(f, in[0]); };
    case Opcode::kSin: return [f](const Pair* in) { return SineLike(std::sin, f, in[0]); };
    case Opcode::kCos: return [f](const Pair* in) { return SineLike(std::cos, f, in[0]); };
    case Opcode::kFloor: return steps(std::floor);
    case Opcode::kCeil: return steps(std::ceil);
    case Opcode::kRoundNearestAfz: return steps(std::round);
    case Opcode::kRoundNearestEven: return steps(RoundToEven);
    case Opcode::kSign: return steps(SignOf);
    case Opcode::kPower: return [f](const Pair* in) { return PowerRule(f, in); };
    case Opcode::kAtan2: return [f](const Pair* in) { return Atan2Rule(f, in); };
    case Opcode::kRemainder: return [f](const Pair* in) { return RemainderRule(f, in); };
    case Opcode::kClamp: return [](const Pair* in) { return MinimumOf(in[2], MaximumOf(in[1], in[0])); };
    default: return nullptr;
  }
}

BlockRule Blocks(const PairRule& rule, int64_t operands) {
  return [rule, operands](const Lane* in, double* value, double* bound, int64_t count) {
    Pair pairs[3];
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < operands; ++k) pairs[k] = {in[k].value[i], in[k].bound[i]};
      const Pair x = rule(pairs);
      value[i] = x.value;
      bound[i] = x.bound;
    }
  };
}

BlockRule RuleOf(Opcode opcode, int64_t operands, const Finish& finish) {
  switch (opcode) {
    case Opcode::kAdd: return Arithmetic<AddRule>(opcode, finish);
    case Opcode::kSubtract: return Arithmetic<SubtractRule>(opcode, finish);
    case Opcode::kMultiply: return Arithmetic<MultiplyRule>(opcode, finish);
    case Opcode::kDivide: return Arithmetic<DivideRule>(opcode, finish);
    case Opcode::kMaximum: return Extreme<false>();
    case Opcode::kMinimum: return Extreme<true>();
    default: break;
  }
  const PairRule rule = ScalarRule(opcode, finish);
  return rule ? Blocks(rule, operands) : nullptr;
}

// ---- Driving the rules
// -----------------------------------------------------------------------------------------------

alignas(64) constexpr double kNoBounds[kBlock] = {};

// Elements [begin, begin + count) of an operand, which may be one scalar for all.
class Reader {
 public:
  Reader(const ShadowValue& from, const Literal ShadowValue::* bound, int64_t count)
      : value_(Values(from.value)),
        bound_(BoundsOrNull(from.*bound)),
        scalar_(count != 1 && from.shape.NumElements() == 1) {
    if (bound_ == nullptr && bound == &ShadowValue::likely) bound_ = BoundsOrNull(from.bound);
    if (!scalar_) return;
    std::fill_n(values_, kBlock, value_[0]);
    std::fill_n(bounds_, kBlock, bound_ ? bound_[0] : 0);
  }

  Lane At(int64_t begin) const {
    if (scalar_) return {values_, bounds_};
    return {value_ + begin, bound_ ? bound_ + begin : kNoBounds};
  }

 private:
  const double* value_;
  const double* bound_;
  bool scalar_;
  alignas(64) double values_[kBlock];
  alignas(64) double bounds_[kBlock];
};

void ForEachBlock(int64_t count, const std::function<void(int64_t begin, int64_t size)>& body) {
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kBlock) body(begin, std::min(kBlock, end - begin));
  });
}

void ApplyTo(const BlockRule& rule, Operands operands, const Literal ShadowValue::* part, int64_t count, double* value,
             double* bound) {
  std::vector<Reader> readers;
  readers.reserve(operands.size());
  for (const ShadowValue* operand : operands) readers.emplace_back(*operand, part, count);
  ForEachBlock(count, [&](int64_t begin, int64_t size) {
    Lane lanes[3];
    alignas(64) double discarded[kBlock];
    for (size_t k = 0; k < readers.size(); ++k) lanes[k] = readers[k].At(begin);
    rule(lanes, value ? value + begin : discarded, bound + begin, size);
  });
}

// Value and bound, and once more with the operands' likely bounds where there are some.
ShadowValue Apply(const BlockRule& rule, const Instruction& inst, Operands operands, PrimitiveType held) {
  ShadowValue result;
  result.shape = inst.shape();
  result.held = held;
  result.value = NewBuffer(inst.shape());
  result.bound = NewBuffer(inst.shape());
  const int64_t count = inst.shape().NumElements();
  ApplyTo(rule, operands, &ShadowValue::bound, count, result.value.mutable_data<double>().data(),
          result.bound.mutable_data<double>().data());
  if (std::ranges::any_of(operands, [](const ShadowValue* operand) { return operand->HasLikely(); })) {
    result.likely = NewBuffer(inst.shape());
    ApplyTo(rule, operands, &ShadowValue::likely, count, nullptr, result.likely.mutable_data<double>().data());
  }
  return result;
}

// Drops a bound that is 0 everywhere: exactness spreads through maxima and clamps.
void DropZeroBound(ShadowValue& value) {
  if (std::ranges::all_of(value.bound.data<double>(), [](double e) { return e == 0; }))
    value.bound = value.likely = Literal();
}

PrimitiveType WidestHeld(Operands operands) {
  PrimitiveType held = operands[0]->held;
  for (const ShadowValue* operand : operands) {
    if (BitWidth(operand->held) > BitWidth(held)) held = operand->held;
  }
  return held;
}

// ---- Decisions
// -------------------------------------------------------------------------------------------------------

bool Holds(ComparisonDirection direction, int order) {  // order: -1 less, 0 equal, 1 greater, 2 unordered.
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

// Sign-magnitude order of -NaN < -inf < ... < -0 < 0 < ... < NaN.
int TotalOrder(double a, double b) {
  const auto key = [](double x) {
    const int64_t bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  };
  const auto x = key(a), y = key(b);
  if (std::signbit(a) != std::signbit(b)) return std::signbit(a) ? -1 : 1;
  return x < y ? -1 : x > y;
}

// Decided when the intervals do not meet, or when both sides are exact. The total order has NaNs of either sign at
// either end, so it wants their bits.
ShadowValue Compare(const Context& context, const Instruction& inst, Operands operands) {
  const CompareAttrs& attrs = inst.attrs<CompareAttrs>();
  const bool total = attrs.type == ComparisonType::kTotalOrder;
  const bool any_sign[] = {total && !KeepsBitsOfNaN(context, inst.operand(0)),
                           total && !KeepsBitsOfNaN(context, inst.operand(1))};
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
      const double x = a.value[i], y = b.value[i], bounds = a.bound[i] + b.bound[i];
      int order = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
      if (total) order = TotalOrder(x, y);
      out[begin + i] = Holds(attrs.direction, order);
      const bool decided = bounds == 0 || std::fabs(x - y) > bounds || (order == 2 && std::isfinite(bounds));
      const bool any = (any_sign[0] && std::isnan(x)) || (any_sign[1] && std::isnan(y));
      if (decided && !any) continue;
      undecided[begin + i] = 1;
      any_open = true;
    }
  });
  if (any_open) result.open = std::move(open);
  return result;
}

ShadowValue IsFiniteRule(const Instruction& inst, const ShadowValue& x, const Rounding& rounding) {
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

// An undecided predicate leaves anything between the two outcomes.
Pair HullOf(Pair a, Pair b) {
  const double low = std::min(a.value - a.bound, b.value - b.bound),
               high = std::max(a.value + a.bound, b.value + b.bound);
  const double middle = low + (high - low) / 2;
  const double bound = std::max(high - middle, middle - low) * kUp;
  if (!std::isfinite(bound) || !IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  return {middle, bound + kTiny};
}

// Undecided only where the two outcomes differ, or the chosen one is undecided itself.
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

ShadowValue Select(const Instruction& inst, Operands operands) {
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
        if (open != nullptr && open[p] != 0) x = HullOf({a.value[i], a.bound[i]}, {b.value[i], b.bound[i]});
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

// ---- Conversions
// -----------------------------------------------------------------------------------------------------

// Does every number of `from` have its place in `to`?
bool Includes(PrimitiveType to, PrimitiveType from) {
  const Rounding a = RoundingTo(to, false), b = RoundingTo(from, false);
  return a.relative <= b.relative && a.least <= b.least && a.overflow >= b.overflow;
}

ShadowValue FloatToFloat(Context& context, const Instruction& inst, const ShadowValue& x) {
  const PrimitiveType held = context.Held(inst);
  if (context.options.widened || Includes(held, x.held)) {
    ShadowValue result = x;
    result.shape = inst.shape();
    return result;
  }
  Finish finish = context.FinishOf(inst, 0.5);
  finish.compute = kNoRounding;  // One rounding, straight to the target.
  finish.target = RoundingTo(held, context.ftz());
  const auto rule = [finish](const Pair* in) -> Pair {
    if (!IsDecided(in[0])) return {0, kUndetermined};
    if (!std::isfinite(in[0].value)) return {in[0].value, 0};
    return Rounded(finish, in[0].value, in[0].bound);
  };
  const ShadowValue* operands[] = {&x};
  const double overflow = finish.overflow;
  const PairRule careful = rule;
  return Apply(
      [finish, overflow, careful](const Lane* in, double* value, double* bound, int64_t count) {
        const double *a = in[0].value, *ea = in[0].bound;
        int64_t fine = 0;
        for (int64_t i = 0; i < count; ++i) {
          const double size = (std::fabs(a[i]) + ea[i]) * kUp;
          value[i] = a[i];
          bound[i] = (ea[i] + HalfStep(finish.target, size)) * kUp;
          fine += std::fabs(a[i]) + bound[i] < overflow ? 1 : 0;
        }
        for (int64_t i = 0; fine != count && i < count; ++i) {
          const Pair pair{a[i], ea[i]};
          const Pair y = careful(&pair);
          value[i] = y.value;
          bound[i] = y.bound;
        }
      },
      inst, operands, held);
}

ShadowValue IntegerToFloat(Context& context, const Instruction& inst, const ShadowValue& x) {
  const PrimitiveType held = context.Held(inst);
  const Rounding target = RoundingTo(held, context.ftz()), single = RoundingTo(PrimitiveType::kF32, false);
  const double whole = 1 / target.relative;  // Integers below this are representable.
  ShadowValue result;
  result.shape = inst.shape();
  result.held = held;
  result.value = NewBuffer(inst.shape());
  result.bound = NewBuffer(inst.shape());
  double* value = result.value.mutable_data<double>().data();
  double* bound = result.bound.mutable_data<double>().data();
  const bool is_u64 = x.shape.type() == PrimitiveType::kU64;
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const int64_t n = x.exact.GetInt(i);
    value[i] = is_u64 ? static_cast<double>(static_cast<uint64_t>(n)) : static_cast<double>(n);
    const double size = std::fabs(value[i]);
    double e = size < whole ? 0 : HalfStep(target, size) + size * kOwn;
    // 64-bit integers may go through f32 on their way to a narrower type.
    if (size >= 0x1p24 && BitWidth(held) < 32) e += HalfStep(single, size);
    if (x.HasOpen() && x.open.GetInt(i) != 0) e = kUndetermined;
    bound[i] = e * kUp;
  }
  DropZeroBound(result);
  return result;
}

// Truncates and saturates; NaN becomes 0. Undetermined where an integer boundary lies within the bound.
ShadowValue FloatToInteger(const Instruction& inst, const ShadowValue& x) {
  const PrimitiveType type = inst.shape().type();
  const int bits = BitWidth(type);
  const double highest = std::ldexp(1.0, IsSigned(type) ? bits - 1 : bits);
  const double lowest = IsSigned(type) ? -highest : 0;
  const auto convert = [&](double v) -> int64_t {
    if (std::isnan(v)) return 0;
    if (v >= highest)
      return static_cast<int64_t>(IsSigned(type) ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits));
    if (v <= lowest) return IsSigned(type) ? static_cast<int64_t>(~uint64_t{0} << (bits - 1)) : 0;
    return v >= 0x1p63 ? static_cast<int64_t>(static_cast<uint64_t>(v)) : static_cast<int64_t>(v);
  };
  ShadowValue result;
  result.shape = inst.shape();
  result.exact = Literal(inst.shape());
  Literal open(inst.shape().WithType(PrimitiveType::kPred));
  auto undecided = open.mutable_data<uint8_t>();
  const double* value = Values(x.value);
  const double* bound = BoundsOrNull(x.bound);
  bool any_open = false;
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const double e = bound ? bound[i] : 0;
    if (type == PrimitiveType::kPred) {
      result.exact.SetInt(i, value[i] != 0);
      undecided[i] = e != 0 && !(std::fabs(value[i]) > e);
    } else {
      result.exact.SetInt(i, convert(value[i]));
      undecided[i] = e != 0 && !(std::isfinite(e) && convert(value[i] - e) == convert(value[i] + e));
    }
    any_open = any_open || undecided[i] != 0;
  }
  if (any_open) result.open = std::move(open);
  return result;
}

ShadowValue ReducePrecision(Context& context, const Instruction& inst, Operands operands) {
  // Of what is known exactly the rounding is known too.
  if (!operands[0]->HasBound()) {
    auto exact = ThroughInterpreter(context, inst, operands);
    if (exact && !exact->HasBound()) {
      exact->held = operands[0]->held;
      return std::move(*exact);
    }
  }
  const ReducePrecisionAttrs& attrs = inst.attrs<ReducePrecisionAttrs>();
  const Rounding own = RoundingTo(context.options.widened ? PrimitiveType::kF64 : inst.shape().type(), context.ftz());
  const Rounding reduced = RoundingTo(std::min<int>(attrs.exponent_bits, 11), std::min<int>(attrs.mantissa_bits, 52));
  Finish finish = context.FinishOf(inst, 0.5);
  finish.compute = kNoRounding;
  finish.target = {std::max(own.relative, reduced.relative), std::max(own.least, reduced.least), 0};
  finish.overflow = std::min(own.overflow, reduced.overflow);
  const auto rule = [finish](const Pair* in) -> Pair {
    if (!IsDecided(in[0])) return {0, kUndetermined};
    if (!std::isfinite(in[0].value)) return {in[0].value, 0};
    return Rounded(finish, in[0].value, in[0].bound);
  };
  return Apply(Blocks(rule, 1), inst, operands, operands[0]->held);
}

ShadowValue NegateOrAbs(const Instruction& inst, const ShadowValue& x) {
  ShadowValue result = x;
  result.shape = inst.shape();
  result.value = NewBuffer(inst.shape());
  double* out = result.value.mutable_data<double>().data();
  const double* in = Values(x.value);
  const bool negate = inst.Is(Opcode::kNegate);
  ForEachBlock(inst.shape().NumElements(), [&](int64_t begin, int64_t size) {
    for (int64_t i = begin; i < begin + size; ++i) out[i] = negate ? -in[i] : std::fabs(in[i]);
  });
  return result;
}

}  // namespace

bool IsElementwiseRule(const Instruction& inst) {
  if (!inst.Is(kElementwise)) return false;
  const auto is_float = [](const Shape& shape) { return hlo::IsFloat(shape.type()); };
  for (const Instruction* operand : inst.operands()) {
    if (IsComplex(operand->shape().type())) return false;
  }
  if (IsComplex(inst.shape().type())) return false;
  switch (inst.opcode()) {
    case Opcode::kConvert:
    case Opcode::kCopy: return is_float(inst.shape()) || is_float(inst.operand(0).shape());
    case Opcode::kCompare:
    case Opcode::kIsFinite: return is_float(inst.operand(0).shape());
    case Opcode::kSelect: return inst.shape().IsArray();
    case Opcode::kNegate:
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
    case Opcode::kReducePrecision: return is_float(inst.shape());
    default: return is_float(inst.shape()) && RuleOf(inst.opcode(), inst.operand_count(), {}) != nullptr;
  }
}

Result<ShadowValue> Elementwise(Context& context, const Instruction& inst, Operands operands) {
  switch (inst.opcode()) {
    case Opcode::kCompare: return Compare(context, inst, operands);
    case Opcode::kIsFinite: return IsFiniteRule(inst, *operands[0], RoundingTo(operands[0]->held, false));
    case Opcode::kSelect:
      if (!hlo::IsFloat(inst.shape().type())) return SelectOfIntegers(context, inst, operands);
      return Select(inst, operands);
    case Opcode::kNegate:
    case Opcode::kAbs: return NegateOrAbs(inst, *operands[0]);
    case Opcode::kReal: return *operands[0];
    case Opcode::kImag: return ToShadow(Literal(inst.shape()));
    case Opcode::kReducePrecision: return ReducePrecision(context, inst, operands);
    case Opcode::kConvert:
    case Opcode::kCopy:
      if (!hlo::IsFloat(inst.shape().type())) return FloatToInteger(inst, *operands[0]);
      if (!operands[0]->IsFloat()) return IntegerToFloat(context, inst, *operands[0]);
      return FloatToFloat(context, inst, *operands[0]);
    default: break;
  }
  const InstructionPlan* plan = context.PlanOf(inst);
  double ulps = DefaultUlps(inst.opcode(), context.Computed(inst));
  if (plan != nullptr && plan->ulps && !context.options.widened) ulps = *plan->ulps;
  const BlockRule rule = RuleOf(inst.opcode(), inst.operand_count(), context.FinishOf(inst, ulps));
  switch (inst.opcode()) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide: {
      ShadowValue result = Apply(rule, inst, operands, context.Held(inst));
      DropZeroBound(result);
      return result;
    }
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kSign: {  // Nothing is rounded.
      ShadowValue result = Apply(rule, inst, operands, WidestHeld(operands));
      DropZeroBound(result);
      return result;
    }
    default: return Apply(rule, inst, operands, context.Held(inst));
  }
}

}  // namespace hlo::shadow
