// Bounds of add, subtract, multiply, divide, maximum and minimum. Rules: docs/comparison.md#elementwise-rules.
//
// Loops over blocks are vectorised. CarefulArithmetic recomputes special elements and possible overflows.
#include <algorithm>

#include "judge/bounds/elementwise.h"

namespace hlo::shadow {
namespace {

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

// (a+da)/(b+db) - a/b = (da - a/b db) / (b+db), and |b+db| >= |b| - eb, which must be positive. Other forms, with
// products b b or a/b eb, may overflow or underflow in f64.
struct DivideRule {
  static double Value(double a, double b) { return a / b; }
  static double Before(double a, double ea, double b, double eb) {
    const double size = std::fabs(b);
    const double before = std::fabs(a / b) * (eb / (size - eb)) + ea / (size - eb);
    return size > eb ? before : kUndetermined;
  }
};

// The result for infinities, NaNs and overflows. Unlike a sum, a product or quotient with an infinity or zero needs the
// other operand's sign.
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
  if (opcode == Opcode::kDivide && std::isinf(b.value)) return {value, IsNonZero(a) ? 0 : kTiny};
  if (opcode == Opcode::kDivide && b.value == 0 && IsExact(b) && IsNonZero(a)) return {value, 0};
  return {0, kUndetermined};
}

// Whether `value` is exact in the compute type and the result's type. Then nothing is rounded, with or without an fma.
bool IsExactResult(Opcode opcode, double a, double b, double value, const Finish& finish) {
  if (!Holds(finish.compute, value) || !Holds(finish.target, value)) return false;
  switch (opcode) {
    case Opcode::kSubtract: b = -b; [[fallthrough]];
    case Opcode::kAdd: {  // Knuth's two-sum gives the error.
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

// Rounds certainly finite results to f32, and returns their number.
template <class Rule>
int64_t GridOfSingles(const Finish& finish, const Lane* in, double* value, double* bound, int64_t count) {
  const double *a = in[0].value, *ea = in[0].bound, *b = in[1].value, *eb = in[1].bound;
  const double overflow = finish.overflow;
  int64_t fine = 0, zeros = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double v = Rule::Value(a[i], b[i]), before = Rule::Before(a[i], ea[i], b[i], eb[i]), e = bound[i];
    const double slack = before == 0 ? 0 : (before + 4 * kOwn * (std::fabs(v) + before)) * kUp;
    const double low = static_cast<float>(v - slack), high = static_cast<float>(v + slack);
    const double middle = low == high ? low : low / 2 + high / 2;
    const double up = high - middle, down = middle - low, rounded = (up < down ? down : up) * kUp;
    const bool is_finite = std::fabs(v) + e < overflow;
    value[i] = is_finite ? middle : v;
    bound[i] = is_finite ? rounded : e;
    fine += is_finite ? 1 : 0;
    zeros += middle == 0 && slack != 0 ? 1 : 0;
  }
  for (int64_t i = 0; zeros > 0 && i < count; ++i) {
    if (value[i] != 0 || bound[i] != 0) continue;
    const Pair x = OnGrid(finish, Rule::Value(a[i], b[i]), Rule::Before(a[i], ea[i], b[i], eb[i]));
    value[i] = x.value;
    bound[i] = x.bound;
  }
  return fine;
}

template <Opcode opcode, class Rule>
BlockRule Arithmetic(const Finish& finish) {
  return [finish](const Lane* in, double* value, double* bound, int64_t count) {
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
    if (f.on_grid && f.nearest && f.target.relative == 0) {
      fine = GridOfSingles<Rule>(f, in, value, bound, count);
    } else if (f.on_grid) {
      for (int64_t i = 0; i < count; ++i) {
        if (!(std::fabs(value[i]) + bound[i] < f.overflow)) continue;
        const Pair x = OnGrid(f, value[i], Rule::Before(a[i], ea[i], b[i], eb[i]));
        value[i] = x.value;
        bound[i] = x.bound;
      }
    }
    for (int64_t i = 0; f.nearest && !f.on_grid && i < count; ++i) {
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

}  // namespace

// Changes within bounds move the larger value by at most the larger bound. The maximum of 0 and -0 may be either.
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

namespace {

template <bool kMinimum>
BlockRule Extreme(const Finish&) {
  return [](const Lane* in, double* value, double* bound, int64_t count) {
    const double *a = in[0].value, *ea = in[0].bound, *b = in[1].value, *eb = in[1].bound;
    int64_t fine = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool left = kMinimum ? a[i] < b[i] : a[i] > b[i];
      const double distance = std::fabs(a[i] - b[i]);
      const double either = ea[i] > eb[i] ? ea[i] : eb[i];
      value[i] = left ? a[i] : b[i];
      bound[i] = distance > ea[i] + eb[i] ? (left ? ea[i] : eb[i]) : either;
      // False for NaN, undetermined elements and equal zeros.
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

struct Rule {
  Opcode opcode;
  BlockRule (*make)(const Finish& finish);
};
constexpr Rule kRules[] = {
    {Opcode::kAdd, Arithmetic<Opcode::kAdd, AddRule>},
    {Opcode::kDivide, Arithmetic<Opcode::kDivide, DivideRule>},
    {Opcode::kMaximum, Extreme<false>},
    {Opcode::kMinimum, Extreme<true>},
    {Opcode::kMultiply, Arithmetic<Opcode::kMultiply, MultiplyRule>},
    {Opcode::kSubtract, Arithmetic<Opcode::kSubtract, SubtractRule>},
};

}  // namespace

BlockRule ArithmeticRule(Opcode opcode, const Finish& finish) {
  const auto row = std::ranges::find(kRules, opcode, &Rule::opcode);
  return row == std::end(kRules) ? nullptr : row->make(finish);
}

}  // namespace hlo::shadow
