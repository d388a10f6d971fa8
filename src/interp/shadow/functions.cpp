// Bounds of functions of one element (and of power, atan2, remainder and clamp): how far each can move while its
// arguments move within their bounds: docs/comparison.md#elementwise-rules.
#include <algorithm>

#include "interp/shadow/elementwise.h"

namespace hlo::shadow {
namespace {

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

// Where e^-x overflows, the result does not underflow yet.
double Logistic(double x) {
  const double e = std::exp(-x);
  return std::isinf(e) ? std::exp(x) : 1 / (1 + e);
}

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
Pair Steps(double (*f)(double), const Finish& finish, Pair a) {
  if (!IsDecided(a)) return {0, kUndetermined};
  if (IsExact(a) || !std::isfinite(a.value)) return {f(a.value), 0};
  const double low = f(a.value - a.bound), high = f(a.value + a.bound);
  if (low == high) return {low, low == 0 ? kTiny : 0};
  const double value = finish.as_computed ? f(a.value) : (low + high) / 2;
  return {value, std::max(high - value, value - low) * kUp};
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

}  // namespace

PairRule FunctionRule(Opcode opcode, const Finish& f) {
  const auto monotone = [&](Function function) -> PairRule {
    return [function, f](const Pair* in) { return Monotone(function, f, in[0]); };
  };
  const auto steps = [&](double (*function)(double)) -> PairRule {
    return [function, f](const Pair* in) { return Steps(function, f, in[0]); };
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

}  // namespace hlo::shadow
