// Bounds of functions of one element, power, atan2, remainder and clamp: docs/comparison.md#elementwise-rules.
#include <algorithm>

#include "interp/functions.h"
#include "judge/bounds/elementwise.h"

namespace hlo::shadow {
namespace {

// The extremes over [a - e, a + e] in the domain are at the ends or equal to `between`.
Pair Between(const FloatFunction& function, const Finish& finish, Pair a, std::optional<double> between) {
  if (!IsDecided(a)) return {0, kUndetermined};
  const double value = function.f64(a.value);
  if (IsExact(a) || std::isnan(a.value)) return std::isfinite(value) ? Rounded(finish, value, 0) : Pair{value, 0};
  const double low = a.value - a.bound, high = a.value + a.bound;
  if (low < function.facts.domain.low || high > function.facts.domain.high) return {0, kUndetermined};
  double before = std::max(std::fabs(function.f64(low) - value), std::fabs(function.f64(high) - value));
  if (between) before = std::max(before, std::fabs(*between - value));
  return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
}

Pair Monotone(const FloatFunction& function, const Finish& finish, Pair a) { return Between(function, finish, a, {}); }

Pair Waves(const FloatFunction& function, const Finish& finish, Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  const double value = function.f64(a.value);
  if (!std::isfinite(value)) return {value, 0};
  return Rounded(finish, value, std::min(2.0, function.facts.slope * a.bound));
}

Pair RisesBetweenPoles(const FloatFunction& function, const Finish& finish, Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  // The value jumps at poles.
  const auto between = [&](double x) { return std::floor(x / function.facts.period + 0.5); };
  if (!IsExact(a) && between(a.value - a.bound * 1.0001) != between(a.value + a.bound * 1.0001))
    return {0, kUndetermined};
  return Monotone(function, finish, a);
}

Pair FallsThenRises(const FloatFunction& function, const Finish& finish, Pair a) {
  const bool meets_zero = std::fabs(a.value) <= a.bound;
  return Between(function, finish, a, meets_zero ? std::optional(function.f64(0)) : std::nullopt);
}

// 1 / (1 + exp(-x)) is 0 if exp overflows. In f64 this begins at results of 2^-1024, 50 bits above the smallest
// subnormal.
Pair Vanishes(const FloatFunction& function, const Finish& finish, Pair a) {
  const Pair x = Monotone(function, finish, a);
  const double next_to_nothing = std::max(finish.compute.least * 0x1p26, 2 / finish.compute.overflow);
  if (IsDecided(x) && std::isfinite(x.value) && x.value < next_to_nothing) return {x.value, x.bound + x.value};
  return x;
}

using CourseRule = Pair (*)(const FloatFunction& function, const Finish& finish, Pair a);
CourseRule RuleOf(Course course) {
  switch (course) {
    case Course::kMonotone: return Monotone;
    case Course::kVanishes: return Vanishes;
    case Course::kFallsThenRises: return FallsThenRises;
    case Course::kWaves: return Waves;
    case Course::kRisesBetweenPoles: return RisesBetweenPoles;
  }
  __builtin_unreachable();
}

// Increasing functions such as floor. The next integer may exceed a small format: the largest f6e2m3fn is 7.5.
template <double (*f)(double)>
Pair Steps(const Finish& finish, const Pair* in) {
  const Pair a = in[0];
  if (!IsDecided(a)) return {0, kUndetermined};
  if (!std::isfinite(a.value)) return {f(a.value), 0};
  const bool begins_inside = std::fabs(a.value) + a.bound < finish.overflow;
  const auto ended = [&](double x, double e) { return begins_inside ? AfterOverflow(finish, x, e) : Pair{x, e}; };
  if (IsExact(a)) return ended(f(a.value), 0);
  const double low = f(a.value - a.bound), high = f(a.value + a.bound);
  if (low == high) return ended(low, low == 0 ? kTiny : 0);
  const double value = finish.as_computed ? f(a.value) : low / 2 + high / 2;
  return ended(value, std::max(high - value, value - low) * kUp);
}

#define FLOAT_FUNCTION_OF_TWO(Name, of_x_and_y, ...) \
  double Name##Of(double x, double y) { return of_x_and_y; }
#include "interp/functions.def"

double SignOf(double x) { return std::isnan(x) ? x : std::copysign(x != 0 ? 1.0 : 0.0, x); }

// For a positive base, the power is monotone in each argument. A negative base needs an exact integer exponent, for
// which x^b is monotone on either side of 0.
Pair PowerRule(const Finish& finish, const Pair* in) {
  const Pair a = in[0], b = in[1];
  if (IsExact(b) && b.value == 0) return {1, 0};
  if (IsExact(a) && a.value == 1) return {1, 0};
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  const double value = PowerOf(a.value, b.value);
  if (IsExact(a) && IsExact(b)) return std::isfinite(value) ? Rounded(finish, value, 0) : Pair{value, 0};
  // pow(NaN, 0) and pow(1, NaN) are 1.
  if (std::isnan(value)) return {0, kUndetermined};
  const bool integer = IsExact(b) && b.value == std::trunc(b.value);
  if (!(a.value > a.bound) && !integer) return {0, kUndetermined};
  const bool meets_zero = !IsNonZero(a);
  if (meets_zero && b.value < 0) return {0, kUndetermined};
  double before = meets_zero ? std::fabs(value) : 0;
  for (const double x : {a.value - a.bound, a.value + a.bound}) {
    for (const double y : {b.value - b.bound, b.value + b.bound})
      before = std::max(before, std::fabs(PowerOf(x, y) - value));
  }
  return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
}

Pair Atan2Rule(const Finish& finish, const Pair* in) {
  const Pair y = in[0], x = in[1];
  if (!IsDecided(x) || !IsDecided(y)) return {0, kUndetermined};
  const double value = Atan2Of(y.value, x.value);
  if (std::isnan(value)) return {value, 0};
  // The branch cut is at y = 0, x <= 0. The sign of an exact zero y decides.
  if (!(IsExact(x) && IsExact(y)) && !IsNonZero(y) && x.value - x.bound <= 0) return {0, kUndetermined};
  double before = 0;
  for (const double dy : {-y.bound, y.bound}) {
    for (const double dx : {-x.bound, x.bound})
      before = std::max(before, std::fabs(Atan2Of(y.value + dy, x.value + dx) - value));
  }
  return std::isfinite(before) ? Rounded(finish, value, before) : Pair{0, kUndetermined};
}

// While the quotient is q, a - q b changes by at most ea + |q| eb. fmod is exact.
Pair RemainderRule(const Finish& finish, const Pair* in) {
  const Pair a = in[0], b = in[1];
  if (!IsDecided(a) || !IsDecided(b)) return {0, kUndetermined};
  const double value = RemainderOf(a.value, b.value);
  if (IsExact(a) && IsExact(b)) return {value, 0};
  // The remainder is certainly NaN if a is not finite, b is NaN, or b is exactly 0.
  if (std::isnan(value) && (IsExact(b) || std::isnan(b.value) || !std::isfinite(a.value))) return {value, 0};
  if (!IsNonZero(b)) return {0, kUndetermined};
  const double quotient = std::trunc(a.value / b.value);
  for (const double da : {-a.bound, a.bound}) {
    for (const double db : {-b.bound, b.bound}) {
      if (std::trunc((a.value + da) / (b.value + db)) != quotient) return {0, kUndetermined};
    }
  }
  return Rounded(finish, value, a.bound + std::fabs(quotient) * b.bound);
}

Pair ClampRule(const Finish&, const Pair* in) { return MinimumOf(in[2], MaximumOf(in[1], in[0])); }

struct Rule {
  Opcode opcode;
  Pair (*rule)(const Finish& finish, const Pair* in);
};
constexpr Rule kRules[] = {
    {Opcode::kAtan2, Atan2Rule},
    {Opcode::kCeil, Steps<std::ceil>},
    {Opcode::kClamp, ClampRule},
    {Opcode::kFloor, Steps<std::floor>},
    {Opcode::kPower, PowerRule},
    {Opcode::kRemainder, RemainderRule},
    {Opcode::kRoundNearestAfz, Steps<std::round>},
    {Opcode::kRoundNearestEven, Steps<std::nearbyint>},
    {Opcode::kSign, Steps<SignOf>},
};

}  // namespace

PairRule FunctionRule(Opcode opcode, const Finish& finish) {
  if (const FloatFunction* function = FloatFunctionOf(opcode)) {
    return
        [function, rule = RuleOf(function->course), finish](const Pair* in) { return rule(*function, finish, in[0]); };
  }
  const auto row = std::ranges::find(kRules, opcode, &Rule::opcode);
  if (row == std::end(kRules)) return nullptr;
  return [rule = row->rule, finish](const Pair* in) { return rule(finish, in); };
}

}  // namespace hlo::shadow
