// Rules of algsimp that hold for floats except for rounding, overflow and underflow. Unlike XLA's, they need
// algsimp{rounding=true}.
#include <cmath>

#include "ir/opcode_set.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

// Whether `inst` has the types of a rule's row. Some rules have two rows: one that rounds (kRounds), for floats and
// complex numbers, and an exact one for integers.
template <bool kRounds>
bool IsOfRow(const Instruction& inst) {
  const PrimitiveType type = inst.shape().type();
  return (kRounds ? IsFloat(type) || IsComplex(type) : IsInteger(type)) && IsStaticOfOneType(inst);
}

bool IsReal(const Instruction& inst) { return IsIeee(inst.shape().type()) && IsStaticOfOneType(inst); }

// Whether reciprocal and products are far from subnormal numbers, which devices may flush to zero.
bool IsFarFromLimits(double value, PrimitiveType type) {
  const double most = type == PrimitiveType::kF16 ? 0x1p13 : 0x1p125;
  return std::fabs(value) <= most && std::fabs(value) >= 1 / most;
}

Instruction* Reciprocal(Instruction& inst, Instruction* x) {
  Instruction& one = inst.computation().AddConstant(Literal::Scalar(x->shape().type(), 1.0));
  Instruction* ones =
      x->shape().IsScalar() ? &one : Step(inst, Opcode::kBroadcast, x->shape(), {&one}, DimensionsAttrs{});
  return Step(inst, Opcode::kDivide, x->shape(), {ones, x});
}

template <bool kRounds>
Result<Instruction*> AddConstants(Instruction& inst, const PassContext&) {
  Instruction *x, *c, *d;
  if (!IsOfRow<kRounds>(inst)) return nullptr;
  if (!m::Add(m::Add(m::Any(&x), m::AnyConstant(&c)), m::AnyConstant(&d))(&inst) || m::AnyConstant()(x)) return nullptr;
  return Replace(inst, Opcode::kAdd, {x, Replace(inst, Opcode::kAdd, {c, d})});
}

template <bool kRounds>
Result<Instruction*> AddToConstantLess(Instruction& inst, const PassContext&) {
  Instruction *x, *c, *d;
  if (!IsOfRow<kRounds>(inst)) return nullptr;
  if (!m::Add(m::Subtract(m::AnyConstant(&c), m::Any(&x)), m::AnyConstant(&d))(&inst) || m::AnyConstant()(x))
    return nullptr;
  return Replace(inst, Opcode::kSubtract, {Replace(inst, Opcode::kAdd, {c, d}), x});
}

// c and d must be broadcast along the same dimensions.
Result<Instruction*> AddToConvolution(Instruction& inst, const PassContext&) {
  Instruction *x, *c, *d;
  if (!IsOfRow<true>(inst)) return nullptr;
  if (!m::Add(m::Add(m::Convolution(&x), m::Broadcast(&c)), m::Broadcast(&d))(&inst)) return nullptr;
  const bool constants = c->operand(0).Is(Opcode::kConstant) && d->operand(0).Is(Opcode::kConstant);
  if (!constants || c->operand(0).shape() != d->operand(0).shape() || c->dimensions() != d->dimensions())
    return nullptr;
  Instruction* sum = Step(inst, Opcode::kAdd, c->operand(0).shape(), {&c->operand(0), &d->operand(0)});
  return Replace(inst, Opcode::kAdd, {x, Replace(inst, Opcode::kBroadcast, {sum}, c->attributes())});
}

// a * c + b * c => (a + b) * c, if the products have no other users. For floats, c must be a power of two.
template <bool kRounds>
Result<Instruction*> FactorOut(Instruction& inst, const PassContext&) {
  Instruction *p, *q;
  if (!IsOfRow<kRounds>(inst)) return nullptr;
  if (!m::Add(m::OneUse(m::Multiply(&p)), m::OneUse(m::Multiply(&q)))(&inst)) return nullptr;
  for (int i = 0; i < 4; ++i) {
    Instruction &c = p->operand(i / 2), &a = p->operand(1 - i / 2), &d = q->operand(i % 2), &b = q->operand(1 - i % 2);
    if (&c != &d) continue;
    int exponent;
    const auto value = NumberOf(c);
    if (kRounds && (!value || std::fabs(std::frexp(*value, &exponent)) != 0.5)) continue;
    return Replace(inst, Opcode::kMultiply, {Replace(inst, Opcode::kAdd, {&a, &b}), &c});
  }
  return nullptr;
}

// Whether c * d may be computed: for floats it must be far from 0 and infinity.
template <bool kRounds>
bool MayMultiply(const Instruction& c, const Instruction& d) {
  if (ScalarOf(c) == nullptr || ScalarOf(d) == nullptr) return false;
  if (!kRounds) return true;
  const auto x = NumberOf(c), y = NumberOf(d);
  return x && y && IsIeee(c.shape().type()) && IsFarFromLimits(*x * *y, c.shape().type());
}

template <bool kRounds>
Result<Instruction*> MultiplyConstants(Instruction& inst, const PassContext&) {
  Instruction *x, *y, *c, *d, *p, *q;
  if (!IsOfRow<kRounds>(inst)) return nullptr;
  if (m::Multiply(m::Multiply(&p, m::Any(&x), m::AnyConstant(&c)), m::AnyConstant(&d))(&inst)) {
    if (m::AnyConstant()(x) || !MayMultiply<kRounds>(*c, *d)) return nullptr;
    return Replace(inst, Opcode::kMultiply, {x, Replace(inst, Opcode::kMultiply, {c, d})});
  }
  if (!m::Multiply(m::OneUse(m::Multiply(&p, m::Any(&x), m::AnyConstant(&c))),
                   m::OneUse(m::Multiply(&q, m::Any(&y), m::AnyConstant(&d))))(&inst))
    return nullptr;
  if (m::AnyConstant()(x) || m::AnyConstant()(y) || !MayMultiply<kRounds>(*c, *d)) return nullptr;
  return Replace(inst, Opcode::kMultiply,
                 {Replace(inst, Opcode::kMultiply, {x, y}), Replace(inst, Opcode::kMultiply, {c, d})});
}

template <bool kRounds>
Result<Instruction*> ScaleTheSmaller(Instruction& inst, const PassContext&) {
  Instruction *x, *c, *b;
  if (!IsOfRow<kRounds>(inst)) return nullptr;
  if (!m::Multiply(m::OneUse(m::Multiply(m::Any(&x), m::AnyConstant(&c))), m::Broadcast(&b))(&inst)) return nullptr;
  if (ScalarOf(*c) == nullptr || m::AnyConstant()(b) || m::AnyConstant()(x) || x->Is(Opcode::kBroadcast))
    return nullptr;
  Instruction& small = b->operand(0);
  if (small.shape().NumElements() >= inst.shape().NumElements()) return nullptr;
  if (kRounds && (!NumberOf(*c) || !IsIeee(c->shape().type()) || !IsFarFromLimits(*NumberOf(*c), c->shape().type())))
    return nullptr;
  Instruction* factor = &c->operand(0);
  if (!small.shape().IsScalar()) factor = Step(inst, Opcode::kBroadcast, small.shape(), {factor}, DimensionsAttrs{});
  Instruction* scaled = Step(inst, Opcode::kMultiply, small.shape(), {&small, factor});
  return Replace(inst, Opcode::kMultiply, {x, Replace(inst, Opcode::kBroadcast, {scaled}, b->attributes())});
}

Result<Instruction*> MultiplyExponentials(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!IsReal(inst) || !m::Multiply(m::Exp(m::Any(&a)), m::Exp(m::Any(&b)))(&inst)) return nullptr;
  return Replace(inst, Opcode::kExp, {Replace(inst, Opcode::kAdd, {a, b})});
}

// x if `inst` is root(x) * root(x) and x is neither negative nor -0, else null.
Instruction* UnderSquaredRoot(const Instruction& inst, Opcode root) {
  Instruction& factor = inst.operand(0);
  if (!IsReal(inst) || &factor != &inst.operand(1) || !factor.Is(root)) return nullptr;
  Instruction& x = factor.operand(0);
  return NeverNegative(x) && NeverNegativeZero(x) && x.shape() == inst.shape() ? &x : nullptr;
}

Result<Instruction*> SquareOfInverseRoot(Instruction& inst, const PassContext&) {
  Instruction* x = UnderSquaredRoot(inst, Opcode::kRsqrt);
  return x == nullptr ? nullptr : Reciprocal(inst, x);
}

Result<Instruction*> SquareOfRoot(Instruction& inst, const PassContext&) {
  return UnderSquaredRoot(inst, Opcode::kSqrt);
}

Result<Instruction*> DivideByExponential(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!IsReal(inst) || !m::Divide(m::Any(&a), m::Exp(m::Any(&b)))(&inst)) return nullptr;
  if (a->Is(Opcode::kExp)) return Replace(inst, Opcode::kExp, {Replace(inst, Opcode::kSubtract, {&a->operand(0), b})});
  return Replace(inst, Opcode::kMultiply, {a, Replace(inst, Opcode::kExp, {Replace(inst, Opcode::kNegate, {b})})});
}

Result<Instruction*> DivideByPower(Instruction& inst, const PassContext&) {
  Instruction *a, *b, *c;
  if (!IsReal(inst) || !m::Divide(m::Any(&a), m::OneUse(m::Power(m::Any(&b), m::Any(&c))))(&inst)) return nullptr;
  Instruction* power = Replace(inst, Opcode::kPower, {b, Replace(inst, Opcode::kNegate, {c})});
  return Replace(inst, Opcode::kMultiply, {a, power});
}

Result<Instruction*> DivideByRoot(Instruction& inst, const PassContext&) {
  Instruction &a = inst.operand(0), &root = inst.operand(1);
  if (!IsReal(inst) || !m::OneUse(m::Any())(&root)) return nullptr;
  if (!root.Is(Opcode::kSqrt) && !root.Is(Opcode::kRsqrt)) return nullptr;
  Instruction* factor = Replace(inst, root.Is(Opcode::kSqrt) ? Opcode::kRsqrt : Opcode::kSqrt, {&root.operand(0)});
  return Replace(inst, Opcode::kMultiply, {&a, factor});
}

// constant_folding computes 1 / c, so that the judge can compare both sides as real numbers.
Result<Instruction*> DivideByConstant(Instruction& inst, const PassContext&) {
  Instruction& c = inst.operand(1);
  const auto value = NumberOf(c);
  if (!IsReal(inst) || !value || !IsFarFromLimits(*value, inst.shape().type()) || m::AnyConstant()(&inst.operand(0)))
    return nullptr;
  Instruction* factor = c.Is(Opcode::kBroadcast)
                            ? Replace(inst, Opcode::kBroadcast, {Reciprocal(inst, &c.operand(0))}, c.attributes())
                            : Reciprocal(inst, &c);
  return Replace(inst, Opcode::kMultiply, {&inst.operand(0), factor});
}

Result<Instruction*> DivideQuotients(Instruction& inst, const PassContext&) {
  Instruction &p = inst.operand(0), &q = inst.operand(1);
  if (!IsOfRow<true>(inst)) return nullptr;
  const auto times = [&](Instruction& x, Instruction& y) { return Replace(inst, Opcode::kMultiply, {&x, &y}); };
  if (p.Is(Opcode::kDivide) && q.Is(Opcode::kDivide)) {
    return Replace(inst, Opcode::kDivide, {times(p.operand(0), q.operand(1)), times(p.operand(1), q.operand(0))});
  }
  if (p.Is(Opcode::kDivide)) return Replace(inst, Opcode::kDivide, {&p.operand(0), times(p.operand(1), q)});
  if (q.Is(Opcode::kDivide)) return Replace(inst, Opcode::kDivide, {times(p, q.operand(1)), &q.operand(0)});
  return nullptr;
}

// a / broadcast(b) => a * broadcast(1 / b). If `of_choices`, a must be a converted predicate and b a scalar.
Result<Instruction*> DivideByRepeated(Instruction& inst, bool of_choices) {
  Instruction &a = inst.operand(0), &b = inst.operand(1);
  if (!IsReal(inst) || !b.Is(Opcode::kBroadcast) || m::AnyConstant()(&b) || m::AnyConstant()(&a)) return nullptr;
  Instruction& small = b.operand(0);
  if (small.shape().NumElements() >= inst.shape().NumElements()) return nullptr;
  if (of_choices &&
      (!small.shape().IsScalar() || !a.Is(Opcode::kConvert) || a.operand(0).shape().type() != PrimitiveType::kPred))
    return nullptr;
  Instruction* factor = Replace(inst, Opcode::kBroadcast, {Reciprocal(inst, &small)}, b.attributes());
  return Replace(inst, Opcode::kMultiply, {&a, factor});
}
Result<Instruction*> DivideChoice(Instruction& inst, const PassContext&) { return DivideByRepeated(inst, true); }
Result<Instruction*> DivideByBroadcast(Instruction& inst, const PassContext&) { return DivideByRepeated(inst, false); }

// A.pow.1b has the exact cases.
Result<Instruction*> PowerOfFewFactors(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  const auto exponent = NumberOf(inst.operand(1));
  if (!IsReal(inst)) return nullptr;
  if (exponent == -1.0) return Reciprocal(inst, &x);
  if (exponent != 2.0 && exponent != 3.0) return nullptr;
  Instruction* square = Replace(inst, Opcode::kMultiply, {&x, &x});
  return exponent == 2.0 ? square : Replace(inst, Opcode::kMultiply, {square, &x});
}

// pow(exp(a), c) => exp(a * c). c must be finite and not 0: pow(1, inf), pow(1, nan) and pow(inf, 0) are 1.
Result<Instruction*> PowerOfExponential(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!IsReal(inst) || !m::Power(m::Exp(m::Any(&a)), m::Any(&b))(&inst)) return nullptr;
  const auto exponent = NumberOf(*b);
  if (!exponent || !std::isfinite(*exponent) || *exponent == 0) return nullptr;
  return Replace(inst, Opcode::kExp, {Replace(inst, Opcode::kMultiply, {a, b})});
}

// pow(x, 0.5) => sqrt(x). x must be neither negative nor -0: pow(-inf, 0.5) is inf, and pow(-0, 0.5) is 0.
Result<Instruction*> PowerToRoot(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  if (!IsReal(inst) || NumberOf(inst.operand(1)) != 0.5 || !NeverNegative(x) || !NeverNegativeZero(x)) return nullptr;
  return Replace(inst, Opcode::kSqrt, {&x});
}

Result<Instruction*> RootOfSquare(Instruction& inst, const PassContext&) {
  Instruction *x, *y;
  if (!IsReal(inst) || !m::Sqrt(m::Multiply(m::Any(&x), m::Any(&y)))(&inst) || x != y) return nullptr;
  return Replace(inst, Opcode::kAbs, {x});
}

Result<Instruction*> RootOfInverseSquare(Instruction& inst, const PassContext&) {
  Instruction *x, *exponent;
  if (!IsReal(inst) || !m::Rsqrt(m::Power(m::Any(&x), m::Any(&exponent)))(&inst) || NumberOf(*exponent) != -2.0)
    return nullptr;
  return Replace(inst, Opcode::kAbs, {x});
}

// rsqrt(1 / x) => sqrt(x), where x is neither negative nor -0.
Result<Instruction*> RootOfInverse(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!IsReal(inst) || !m::Rsqrt(m::Divide(m::ConstantOf(1), m::Any(&x)))(&inst)) return nullptr;
  return NeverNegative(*x) && NeverNegativeZero(*x) ? Replace(inst, Opcode::kSqrt, {x}) : nullptr;
}

Result<Instruction*> LogOfExponential(Instruction& inst, const PassContext&) {
  Instruction* x;
  return IsReal(inst) && m::Log(m::Exp(m::Any(&x)))(&inst) && x->shape() == inst.shape() ? x : nullptr;
}

// log(pow(a, c)) => c * log(a). c must be finite and not 0: pow(1, inf) and pow(inf, 0) are 1. Odd powers of negative
// numbers have no logarithm.
Result<Instruction*> LogOfPower(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!IsReal(inst) || !m::Log(m::Power(m::Any(&a), m::Any(&b)))(&inst)) return nullptr;
  const auto exponent = NumberOf(*b);
  if (!exponent || !std::isfinite(*exponent) || *exponent == 0) return nullptr;
  const bool is_even = std::fmod(*exponent, 2) == 0;
  if (!is_even && !(NeverNegative(*a) && NeverNegativeZero(*a))) return nullptr;
  Instruction* size = NeverNegative(*a) ? a : Replace(inst, Opcode::kAbs, {a});
  return Replace(inst, Opcode::kMultiply, {b, Replace(inst, Opcode::kLog, {size})});
}

// The operand x of an rsqrt must never be -0: rsqrt(-0) is -inf.
Result<Instruction*> LogOfRoot(Instruction& inst, const PassContext&) {
  Instruction& root = inst.operand(0);
  if (!IsReal(inst) || (!root.Is(Opcode::kSqrt) && !root.Is(Opcode::kRsqrt))) return nullptr;
  if (root.Is(Opcode::kRsqrt) && !NeverNegativeZero(root.operand(0))) return nullptr;
  return Replace(
      inst, Opcode::kMultiply,
      {Replace(inst, Opcode::kLog, {&root.operand(0)}), ConstantLike(inst, root.Is(Opcode::kSqrt) ? 0.5 : -0.5)});
}

// Not exact: a kernel's f may decrease within its error.
Result<Instruction*> ExtremeOfMonotone(Instruction& inst, const PassContext&) {
  Instruction &f = inst.operand(0), &g = inst.operand(1);
  if (!IsReal(inst) || f.opcode() != g.opcode() || &f == &g || !m::OneUse(m::Any())(&f) || !m::OneUse(m::Any())(&g))
    return nullptr;
  constexpr OpcodeSet kNeverFall = {Opcode::kTanh, Opcode::kErf, Opcode::kLogistic, Opcode::kCbrt};
  if (!kNeverFall.Has(f.opcode())) return nullptr;
  return Replace(inst, f.opcode(), {Replace(inst, inst.opcode(), {&f.operand(0), &g.operand(0)})}, f.attributes());
}

constexpr Preserves kPrecision = Preserves::kChangesPrecision;

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.add.3a",  Opcode::kAdd,      AddConstants<false>,      Preserves::kExact,        "(x + c) + d => x + (c + d), for integers"},
    {"A.add.10",  Opcode::kAdd,      AddToConvolution,         Preserves::kReassociates, "(convolution + c) + d => convolution + (c + d), by channel"},
    {"A.add.3b",  Opcode::kAdd,      AddConstants<true>,       Preserves::kReassociates, "(x + c) + d => x + (c + d)"},
    {"A.add.4a",  Opcode::kAdd,      AddToConstantLess<false>, Preserves::kExact,        "(c - x) + d => (c + d) - x, for integers"},
    {"A.add.4b",  Opcode::kAdd,      AddToConstantLess<true>,  Preserves::kReassociates, "(c - x) + d => (c + d) - x"},
    {"A.add.7a",  Opcode::kAdd,      FactorOut<false>,         Preserves::kExact,        "a * c + b * c => (a + b) * c, for integers"},
    {"A.add.7b",  Opcode::kAdd,      FactorOut<true>,          Preserves::kReassociates, "a * c + b * c => (a + b) * c, for c = 2^k"},
    {"A.mul.5a",  Opcode::kMultiply, MultiplyConstants<false>, Preserves::kExact,        "(x * c) * d => x * (c * d); (x * c) * (y * d) => (x * y) * (c * d); for integers"},
    {"A.mul.5b",  Opcode::kMultiply, MultiplyConstants<true>,  Preserves::kReassociates, "(x * c) * d => x * (c * d); (x * c) * (y * d) => (x * y) * (c * d)"},
    {"A.mul.6a",  Opcode::kMultiply, ScaleTheSmaller<false>,   Preserves::kExact,        "(x * c) * broadcast(b) => x * broadcast(b * c), for integers"},
    {"A.mul.6b",  Opcode::kMultiply, ScaleTheSmaller<true>,    Preserves::kReassociates, "(x * c) * broadcast(b) => x * broadcast(b * c)"},
    {"A.mul.7",   Opcode::kMultiply, MultiplyExponentials,     kPrecision,               "exp(a) * exp(b) => exp(a + b)"},
    {"A.mul.8",   Opcode::kMultiply, SquareOfInverseRoot,      kPrecision,               "rsqrt(x) * rsqrt(x) => 1 / x, where x is never negative"},
    {"A.mul.9",   Opcode::kMultiply, SquareOfRoot,             kPrecision,               "sqrt(x) * sqrt(x) => x, where x is never negative"},
    {"A.div.3",   Opcode::kDivide,   DivideByExponential,      kPrecision,               "exp(a) / exp(b) => exp(a - b); a / exp(b) => a * exp(-b)"},
    {"A.div.4",   Opcode::kDivide,   DivideByPower,            kPrecision,               "a / pow(b, c) => a * pow(b, -c)"},
    {"A.div.5",   Opcode::kDivide,   DivideByRoot,             kPrecision,               "a / sqrt(b) => a * rsqrt(b); a / rsqrt(b) => a * sqrt(b)"},
    {"A.div.6b",  Opcode::kDivide,   DivideByConstant,         kPrecision,               "x / c => x * (1 / c)"},
    {"A.div.7",   Opcode::kDivide,   DivideQuotients,          Preserves::kReassociates, "(a / b) / c => a / (b * c); a / (b / c) => (a * c) / b"},
    {"A.div.8",   Opcode::kDivide,   DivideChoice,             kPrecision,               "convert(p) / broadcast(y) => convert(p) * broadcast(1 / y), for a predicate p"},
    {"A.div.9",   Opcode::kDivide,   DivideByBroadcast,        kPrecision,               "a / broadcast(b) => a * broadcast(1 / b)"},
    {"A.pow.1c",  Opcode::kPower,    PowerOfFewFactors,        kPrecision,               "pow(x, 3) => x * x * x; pow(x, 2) => x * x; pow(x, -1) => 1 / x"},
    {"A.pow.2",   Opcode::kPower,    PowerOfExponential,       kPrecision,               "pow(exp(a), c) => exp(a * c), for a finite c other than 0"},
    {"A.pow.3",   Opcode::kPower,    PowerToRoot,              kPrecision,               "pow(x, 0.5) => sqrt(x), where x is never negative"},
    {"A.sqrt.1",  Opcode::kSqrt,     RootOfSquare,             kPrecision,               "sqrt(x * x) => abs(x)"},
    {"A.rsqrt.1", Opcode::kRsqrt,    RootOfInverseSquare,      kPrecision,               "rsqrt(pow(x, -2)) => abs(x)"},
    {"A.rsqrt.2", Opcode::kRsqrt,    RootOfInverse,            kPrecision,               "rsqrt(1 / x) => sqrt(x), where x is never negative"},
    {"A.log.1",   Opcode::kLog,      LogOfExponential,         kPrecision,               "log(exp(x)) => x"},
    {"A.log.2",   Opcode::kLog,      LogOfPower,               kPrecision,               "log(pow(a, c)) => c * log(a), for a finite c other than 0, where a is never negative; c * log(abs(a)) for even c"},
    {"A.log.3",   Opcode::kLog,      LogOfRoot,                kPrecision,               "log(sqrt(x)) => 0.5 * log(x); log(rsqrt(x)) => -0.5 * log(x)"},
    {"A.max.5",   Opcode::kMaximum,  ExtremeOfMonotone,        kPrecision,               "max(f(x), f(y)) => f(max(x, y)), for f that never falls"},
    {"A.min.5",   Opcode::kMinimum,  ExtremeOfMonotone,        kPrecision,               "min(f(x), f(y)) => f(min(x, y)), for f that never falls"},
};
// clang-format on

}  // namespace

std::span<const Rule> RoundingRules() { return kRules; }

}  // namespace hlo
