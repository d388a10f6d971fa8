// Rules of algsimp for sums, products, powers and conversions.
#include <cmath>
#include <unordered_map>

#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {

bool HoldsAllOf(PrimitiveType to, PrimitiveType from) {
  if (from == to) return true;
  // s1 holds only 0 and -1, and f8e8m0fnu has no 0.
  if (from == PrimitiveType::kPred)
    return (IsInteger(to) && to != PrimitiveType::kS1) || (IsFloat(to) && to != PrimitiveType::kF8E8M0FNU);
  if (IsInteger(from) && IsInteger(to)) {
    if (IsSigned(from) && IsUnsigned(to)) return false;
    return BitWidth(to) > BitWidth(from) || (BitWidth(to) == BitWidth(from) && IsSigned(from) == IsSigned(to));
  }
  const auto is_ieee = [](PrimitiveType t) {
    return t == PrimitiveType::kF16 || t == PrimitiveType::kBF16 || t == PrimitiveType::kF32 ||
           t == PrimitiveType::kF64;
  };
  if (is_ieee(from) && is_ieee(to)) return BitWidth(to) > BitWidth(from);
  if (IsInteger(from) && to == PrimitiveType::kF64) return BitWidth(from) <= 32;
  if (IsInteger(from) && to == PrimitiveType::kF32) return BitWidth(from) <= 16;
  return false;
}

namespace {
namespace m = match;

bool IsNumberWithoutZeroSign(PrimitiveType type) { return IsInteger(type); }

Result<Instruction*> ConstantToTheRight(Instruction& inst, const PassContext&) {
  if (!inst.Is(kCommutative) || inst.operand_count() != 2) return nullptr;
  if (!m::AnyConstant()(&inst.operand(0)) || m::AnyConstant()(&inst.operand(1))) return nullptr;
  return Replace(inst, inst.opcode(), {&inst.operand(1), &inst.operand(0)}, inst.attributes());
}

bool IsNegativeZero(const Instruction& constant) {
  const auto number = NumberOf(constant);
  return number == 0.0 && std::signbit(*number);
}

Result<Instruction*> AddZero(Instruction& inst, const PassContext&) {
  Instruction *x, *zero;
  if (!m::Add(m::Any(&x), m::AnyConstant(&zero))(&inst) || !zero->IsConstantOf(0)) return nullptr;
  if (x->shape() != inst.shape()) return nullptr;
  const bool neutral = IsNumberWithoutZeroSign(inst.shape().type()) ||
                       (IsFloat(inst.shape().type()) && (IsNegativeZero(*zero) || NeverNegativeZero(*x)));
  return neutral ? x : nullptr;
}

// x - 0 => x needs +0 for floats: -0 - +0 is -0.
Result<Instruction*> SubtractZero(Instruction& inst, const PassContext&) {
  Instruction *x, *zero;
  if (!m::Subtract(m::Any(&x), m::AnyConstant(&zero))(&inst) || !zero->IsConstantOf(0)) return nullptr;
  if (x->shape() != inst.shape() || IsComplex(inst.shape().type()) || !NeverNegativeZero(*zero)) return nullptr;
  return x;
}

// Only for integers: infinity - infinity is NaN.
Result<Instruction*> SubtractSelf(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kSubtract) || &inst.operand(0) != &inst.operand(1) || !IsInteger(inst.shape().type()) ||
      !IsStatic(inst))
    return nullptr;
  return ConstantLike(inst, 0);
}

// Holds because integers wrap.
Result<Instruction*> CancelIntegers(Instruction& inst, const PassContext&) {
  if (!IsInteger(inst.shape().type())) return nullptr;
  Instruction *x, *y, *difference;
  if (m::Add(m::Any(&x), m::Subtract(&difference))(&inst) && &difference->operand(1) == x)
    return &difference->operand(0);
  if (m::Subtract(m::Add(m::Any(&x), m::Any(&y)), m::Any(&difference))(&inst)) {
    if (difference == x) return y;
    if (difference == y) return x;
  }
  if (m::Subtract(m::Any(&x), m::Subtract(&difference))(&inst) && &difference->operand(0) == x)
    return &difference->operand(1);
  Instruction* sum;
  if (!m::Subtract(m::Any(&x), m::Add(&sum, m::Any(), m::Any()))(&inst)) return nullptr;
  for (int64_t i = 0; i < 2; ++i) {
    if (&sum->operand(i) == x) return Replace(inst, Opcode::kNegate, {&sum->operand(1 - i)});
  }
  return nullptr;
}

// Not for complex numbers, because infinity * 0i is NaN.
Result<Instruction*> MultiplyByOne(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Multiply(m::Any(&x), m::ConstantOf(1))(&inst) || IsComplex(inst.shape().type())) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

// For floats, 0 would lose NaN, infinity and the sign of zero.
Result<Instruction*> MultiplyByZero(Instruction& inst, const PassContext&) {
  Instruction* zero;
  if (!m::Multiply(m::Any(), m::AnyConstant(&zero))(&inst) || !zero->IsConstantOf(0)) return nullptr;
  return IsInteger(inst.shape().type()) && zero->shape() == inst.shape() ? zero : nullptr;
}

// Not for complex numbers: abs(a) * abs(a) is not a * a.
Result<Instruction*> MultiplySigns(Instruction& inst, const PassContext&) {
  Instruction *a, *b, *c;
  if (!inst.Is(Opcode::kMultiply) || inst.operand(0).operand_count() == 0) return nullptr;
  const PrimitiveType type = inst.operand(0).operand(0).shape().type();
  if (IsComplex(type) || !HasNegatives(type)) return nullptr;
  if (m::Multiply(m::Negate(m::Any(&a)), m::Negate(m::Any(&b)))(&inst)) return Replace(inst, Opcode::kMultiply, {a, b});
  if (m::Multiply(m::Abs(&b, m::Any(&a)), m::Abs(&c))(&inst) && b == c) return Replace(inst, Opcode::kMultiply, {a, a});
  return nullptr;
}

Result<Instruction*> DivideByOne(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Divide(m::Any(&x), m::ConstantOf(1))(&inst) || IsComplex(inst.shape().type())) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

// x / 2^k and x * 2^-k are the same real number, rounded once. 2^-k must be normal, because a device may flush
// subnormal numbers to zero.
Result<Instruction*> DivideByPowerOfTwo(Instruction& inst, const PassContext&) {
  Instruction *x, *constant;
  if (!m::Divide(m::Any(&x), m::ScalarConstant(&constant))(&inst)) return nullptr;
  const PrimitiveType type = inst.shape().type();
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF64 && type != PrimitiveType::kBF16 &&
      type != PrimitiveType::kF16)
    return nullptr;
  const double value = constant->literal().GetDouble(0);
  int exponent;
  if (!std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5) return nullptr;
  if (std::abs(exponent) > (type == PrimitiveType::kF16 ? 13 : 125)) return nullptr;
  return Replace(inst, Opcode::kMultiply, {x, ConstantLike(inst, 1 / value)});
}

Result<Instruction*> RemainderTwice(Instruction& inst, const PassContext&) {
  Instruction* inner;
  if (!m::Remainder(m::Remainder(&inner), m::Any())(&inst)) return nullptr;
  return &inner->operand(1) == &inst.operand(1) ? inner : nullptr;
}

Result<Instruction*> NegateTwice(Instruction& inst, const PassContext&) {
  Instruction* x;
  return m::Negate(m::Negate(m::Any(&x)))(&inst) && HasNegatives(inst.shape().type()) ? x : nullptr;
}

// abs(x) => x, where x is never -0: abs(-0) is +0.
Result<Instruction*> AbsOfNonNegative(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Abs(m::Any(&x))(&inst) || x->shape() != inst.shape()) return nullptr;
  return NeverNegative(*x) && NeverNegativeZero(*x) ? x : nullptr;
}

// pow(x, 0) => 1 also for NaN.
Result<Instruction*> PowerOfOneOrZero(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (IsComplex(inst.shape().type())) return nullptr;
  if (m::Power(m::Any(&x), m::ConstantOf(1))(&inst)) return x;
  if (m::Power(m::Any(&x), m::ConstantOf(0))(&inst)) return ConstantLike(inst, 1);
  return nullptr;
}

// For f16, bf16 and f32, pow(x, 2) and x * x round the same number once, because powers are computed in a wider type.
// So do pow(x, -1) and 1 / x.
Result<Instruction*> PowerOfSmallNumber(Instruction& inst, const PassContext&) {
  Instruction& x = inst.operand(0);
  const PrimitiveType type = inst.shape().type();
  if (!IsStaticOfOneType(inst)) return nullptr;
  const auto number = NumberOf(inst.operand(1));
  const auto integer = IntegerOf(inst.operand(1));
  const bool is_narrow = IsIeee(type) && type != PrimitiveType::kF64;
  if (is_narrow && number == -1.0) return Replace(inst, Opcode::kDivide, {ConstantLike(inst, 1), &x});
  const bool square = integer == 2 || (is_narrow && number == 2.0);
  if (!square && integer != 3) return nullptr;
  Instruction* product = Replace(inst, Opcode::kMultiply, {&x, &x});
  return square ? product : Replace(inst, Opcode::kMultiply, {product, &x});
}

Result<Instruction*> ExponentialOfZero(Instruction& inst, const PassContext&) {
  if (!IsFloat(inst.shape().type()) || NumberOf(inst.operand(0)) != 0.0) return nullptr;
  return ConstantLike(inst, 1);
}

// x - c and x + (-c) get one form. The sign of a zero result is unchanged.
Result<Instruction*> SubtractConstant(Instruction& inst, const PassContext&) {
  Instruction &x = inst.operand(0), &c = inst.operand(1);
  if (!m::AnyConstant()(&c) || m::AnyConstant()(&x) || !IsStaticOfOneType(inst) || !HasNegatives(inst.shape().type()) ||
      inst.shape().type() == PrimitiveType::kPred)
    return nullptr;
  return Replace(inst, Opcode::kAdd, {&x, Replace(inst, Opcode::kNegate, {&c})});
}

// convert(p) * y => select(p, y, 0). For floats, y must be a finite constant without a sign, so that 0 * y is +0.
Result<Instruction*> MultiplyByPredicate(Instruction& inst, const PassContext&) {
  Instruction *p, *y;
  const PrimitiveType type = inst.shape().type();
  if (!IsStaticOfOneType(inst) || !m::Multiply(m::Convert(m::Any(&p)), m::Any(&y))(&inst) ||
      p->shape().type() != PrimitiveType::kPred || !SameDims(p->shape(), inst.shape()) ||
      !HoldsAllOf(type, p->shape().type()))
    return nullptr;
  const auto value = NumberOf(*y);
  const bool is_plain = value && std::isfinite(*value) && !std::signbit(*value);
  return IsInteger(type) || is_plain ? Replace(inst, Opcode::kSelect, {p, y, ConstantLike(inst, 0)}) : nullptr;
}

// max(x, -inf) is x also for NaN.
Result<Instruction*> ExtremeOfBound(Instruction& inst, const PassContext&) {
  for (int i = 0; i < 2; ++i) {
    Instruction& x = inst.operand(1 - i);
    if (IsNeutral(inst.operand(i), inst.opcode()) && x.shape() == inst.shape()) return &x;
  }
  return nullptr;
}

Result<Instruction*> IdempotentOp(Instruction& inst, const PassContext&) {
  return &inst.operand(0) == &inst.operand(1) ? &inst.operand(0) : nullptr;
}

Result<Instruction*> ClampTwice(Instruction& inst, const PassContext&) {
  Instruction* inner;
  if (!m::Clamp(m::Any(), m::Clamp(&inner), m::Any())(&inst)) return nullptr;
  return &inner->operand(0) == &inst.operand(0) && &inner->operand(2) == &inst.operand(2) ? inner : nullptr;
}

Result<Instruction*> ConvertToSame(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Convert(m::Any(&x))(&inst)) return nullptr;
  return x->shape() == inst.shape() ? x : nullptr;
}

// Not from integer to float to integer: a value that does not fit saturates, whereas a direct conversion wraps.
Result<Instruction*> ConvertTwice(Instruction& inst, const PassContext&) {
  Instruction *middle, *x;
  if (!m::Convert(m::Convert(&middle, m::Any(&x)))(&inst)) return nullptr;
  const PrimitiveType from = x->shape().type(), through = middle->shape().type(), to = inst.shape().type();
  if (!HoldsAllOf(through, from)) return nullptr;
  // A predicate counts as an integer: 1 does not fit s1.
  const bool is_whole = IsInteger(from) || from == PrimitiveType::kPred;
  if (is_whole && IsFloat(through) && IsInteger(to) && !HoldsAllOf(to, from)) return nullptr;
  return Replace(inst, Opcode::kConvert, {x});
}

// All types must have the same width.
Result<Instruction*> BitcastConvertTwice(Instruction& inst, const PassContext&) {
  Instruction *middle, *x;
  if (inst.Is(Opcode::kBitcastConvert) && inst.operand(0).shape() == inst.shape()) return &inst.operand(0);
  if (!m::BitcastConvert(m::BitcastConvert(&middle, m::Any(&x)))(&inst)) return nullptr;
  if (!SameDims(x->shape(), inst.shape()) || !SameDims(middle->shape(), inst.shape())) return nullptr;
  return Replace(inst, Opcode::kBitcastConvert, {x});
}

Result<Instruction*> ReduceToOwnPrecision(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kReducePrecision)) return nullptr;
  const auto& attrs = inst.attrs<ReducePrecisionAttrs>();
  const auto is = [&](PrimitiveType type, int64_t exponent, int64_t mantissa) {
    return inst.shape().type() == type && attrs.exponent_bits == exponent && attrs.mantissa_bits == mantissa;
  };
  const bool own = is(PrimitiveType::kF16, 5, 10) || is(PrimitiveType::kBF16, 8, 7) || is(PrimitiveType::kF32, 8, 23) ||
                   is(PrimitiveType::kF64, 11, 52);
  return own ? &inst.operand(0) : nullptr;
}

// Operands must have the result's dimensions and the parameters' types, because elementwise instructions do not mix
// them.
Result<Instruction*> MapOfElementwise(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kMap) || !IsStatic(inst)) return nullptr;
  const Computation& body = *inst.attrs<MapAttrs>().to_apply;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& shape = inst.operand(i).shape();
    if (!SameDims(shape, inst.shape()) || shape.type() != body.parameter(i).shape().type()) return nullptr;
  }
  if (body.root().shape().type() != inst.shape().type()) return nullptr;
  // A fused computation must not contain unused instructions.
  std::vector<Instruction*> order = body.PostOrder();
  std::vector<bool> needed(body.place_limit());
  needed[body.root().place()] = true;
  for (size_t i = order.size(); i-- > 0;) {
    if (!needed[order[i]->place()]) continue;
    for (const Instruction* operand : order[i]->operands()) needed[operand->place()] = true;
  }
  std::erase_if(order, [&](const Instruction* inner) { return !needed[inner->place()]; });
  for (const Instruction* inner : order) {
    if (!inner->Is(kElementwise) && !inner->Is(Opcode::kParameter) && !inner->Is(Opcode::kConstant)) return nullptr;
  }
  std::unordered_map<const Instruction*, Instruction*> values;
  for (const Instruction* inner : order) {
    const Shape shape = inst.shape().WithType(inner->shape().type());
    if (inner->Is(Opcode::kParameter)) {
      values[inner] = &inst.operand(inner->parameter_number());
    } else if (inner->Is(Opcode::kConstant)) {
      Instruction& scalar = inst.computation().AddConstant(inner->literal());
      values[inner] = shape.IsScalar() ? &scalar : Step(inst, Opcode::kBroadcast, shape, {&scalar}, DimensionsAttrs{});
    } else {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inner->operands()) operands.push_back(values.at(operand));
      values[inner] = Step(inst, inner->opcode(), shape, operands, inner->attributes());
    }
  }
  return values.at(&body.root());
}

// Real and imag accept real numbers, hence the comparison of shapes.
Result<Instruction*> ComplexParts(Instruction& inst, const PassContext&) {
  Instruction *r, *i;
  if (m::Real(m::Complex(m::Any(&r), m::Any()))(&inst)) return r;
  if (m::Imag(m::Complex(m::Any(), m::Any(&i)))(&inst)) return i;
  if (m::Complex(m::Real(m::Any(&r)), m::Imag(m::Any(&i)))(&inst) && r == i && r->shape() == inst.shape()) return r;
  return nullptr;
}

Result<Instruction*> PartsOfReal(Instruction& inst, const PassContext&) {
  if (inst.operand(0).shape() != inst.shape()) return nullptr;
  if (inst.Is(Opcode::kReal)) return &inst.operand(0);
  return IsStatic(inst) ? ConstantLike(inst, 0) : nullptr;
}

Result<Instruction*> ConvertConstant(Instruction& inst, const PassContext&) {
  Instruction& c = inst.operand(0);
  const PrimitiveType from = c.shape().type(), to = inst.shape().type();
  if (ScalarOf(c) == nullptr || BitWidth(to) >= BitWidth(from)) return nullptr;
  if (!(IsFloat(from) && IsFloat(to)) && !(IsInteger(from) && IsInteger(to))) return nullptr;
  const Literal& value = *ScalarOf(c);
  Instruction& narrow = inst.computation().AddConstant(IsFloat(from) ? Literal::Scalar(to, value.GetDouble(0))
                                                                     : Literal::Scalar(to, value.GetInt(0)));
  return inst.shape().IsScalar() ? &narrow : Replace(inst, Opcode::kBroadcast, {&narrow}, DimensionsAttrs{});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.add.2",   kCommutative,             ConstantToTheRight,   Preserves::kExact, "f(c, x) => f(x, c), for commutative f, so that equal trees look equal"},
    {"A.add.1",   Opcode::kAdd,             AddZero,              Preserves::kExact, "x + 0 => x; of floats x + -0, and x + 0 where x is never -0"},
    {"A.sub.2",   Opcode::kSubtract,        SubtractZero,         Preserves::kExact, "x - 0 => x"},
    {"A.sub.1",   Opcode::kSubtract,        SubtractSelf,         Preserves::kExact, "x - x => 0, for integers"},
    {"A.sub.3",   Opcode::kSubtract,        SubtractConstant,     Preserves::kExact, "x - c => x + (-c)"},
    {"A.add.5",   Opcode::kAdd,             CancelIntegers,       Preserves::kExact, "x + (y - x) => y, for integers"},
    {"A.sub.4",   Opcode::kSubtract,        CancelIntegers,       Preserves::kExact, "(x + y) - x => y; x - (x - y) => y; x - (x + y) => -y; for integers"},
    {"A.mul.1",   Opcode::kMultiply,        MultiplyByOne,        Preserves::kExact, "x * 1 => x"},
    {"A.mul.2",   Opcode::kMultiply,        MultiplyByZero,       Preserves::kExact, "x * 0 => 0, for integers"},
    {"A.mul.3",   Opcode::kMultiply,        MultiplySigns,        Preserves::kExact, "(-a) * (-b) => a * b; abs(a) * abs(a) => a * a"},
    {"A.mul.4",   Opcode::kMultiply,        MultiplyByPredicate,  Preserves::kExact, "convert(p) * y => select(p, y, 0), for a predicate p, and integers or a constant y"},
    {"A.div.1",   Opcode::kDivide,          DivideByOne,          Preserves::kExact, "x / 1 => x"},
    {"A.div.6a",  Opcode::kDivide,          DivideByPowerOfTwo,   Preserves::kExact, "x / 2^k => x * 2^-k"},
    {"A.rem.4",   Opcode::kRemainder,       RemainderTwice,       Preserves::kExact, "(a % b) % b => a % b"},
    {"A.neg.1",   Opcode::kNegate,          NegateTwice,          Preserves::kExact, "-(-x) => x"},
    {"A.abs.1",   Opcode::kAbs,             AbsOfNonNegative,     Preserves::kExact, "abs(x) => x, where x is never negative"},
    {"A.pow.1a",  Opcode::kPower,           PowerOfOneOrZero,     Preserves::kExact, "pow(x, 1) => x; pow(x, 0) => 1"},
    {"A.pow.1b",  Opcode::kPower,           PowerOfSmallNumber,   Preserves::kExact, "pow(x, 2) => x * x; pow(x, 3) => x * x * x, for integers; pow(x, -1) => 1 / x"},
    {"A.exp.1",   Opcode::kExp,             ExponentialOfZero,    Preserves::kExact, "exp(0) => 1"},
    {"A.max.1",   Opcode::kMaximum,         ExtremeOfBound,       Preserves::kExact, "max(x, lowest) => x, of floats max(x, -inf)"},
    {"A.min.1",   Opcode::kMinimum,         ExtremeOfBound,       Preserves::kExact, "min(x, highest) => x, of floats min(x, inf)"},
    {"A.max.2a",  Opcode::kMaximum,         IdempotentOp,         Preserves::kExact, "max(x, x) => x"},
    {"A.min.2a",  Opcode::kMinimum,         IdempotentOp,         Preserves::kExact, "min(x, x) => x"},
    {"A.and.3",   Opcode::kAnd,             IdempotentOp,         Preserves::kExact, "x & x => x"},
    {"A.or.2",    Opcode::kOr,              IdempotentOp,         Preserves::kExact, "x | x => x"},
    {"A.clamp.1", Opcode::kClamp,           ClampTwice,           Preserves::kExact, "clamp(a, clamp(a, x, b), b) => clamp(a, x, b)"},
    {"A.cvt.1",   Opcode::kConvert,         ConvertToSame,        Preserves::kExact, "convert(x) => x, when the type is the same"},
    {"A.cvt.2",   Opcode::kConvert,         ConvertTwice,         Preserves::kExact, "convert(convert(x)) => convert(x), when the middle type holds every value of x"},
    {"A.bcv.1",   Opcode::kBitcastConvert,  BitcastConvertTwice,  Preserves::kExact, "bitcast-convert(bitcast-convert(x)) => bitcast-convert(x); bitcast-convert(x) => x, when the type is the same"},
    {"A.rp.1",    Opcode::kReducePrecision, ReduceToOwnPrecision, Preserves::kExact, "reduce-precision(x) => x, to the precision that the type has"},
    {"A.map.1",   Opcode::kMap,             MapOfElementwise,     Preserves::kExact, "map(x) => its body on whole arrays, when that is elementwise"},
    {"A.real.1",  Opcode::kReal,            ComplexParts,         Preserves::kExact, "real(complex(r, i)) => r"},
    {"A.imag.1",  Opcode::kImag,            ComplexParts,         Preserves::kExact, "imag(complex(r, i)) => i"},
    {"A.real.2a", Opcode::kReal,            PartsOfReal,          Preserves::kExact, "real(x) => x, for a real x"},
    {"A.real.2b", Opcode::kImag,            PartsOfReal,          Preserves::kExact, "imag(x) => 0, for a real x"},
    {"A.cvt.4",   Opcode::kConvert,         ConvertConstant,      Preserves::kExact, "convert(c) => c in a narrower type"},
    {"A.cplx.1",  Opcode::kComplex,         ComplexParts,         Preserves::kExact, "complex(real(c), imag(c)) => c"},
};
// clang-format on

}  // namespace

std::span<const Rule> ArithmeticRules() { return kRules; }

}  // namespace hlo
