#include "gpu/emitters/scalar.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/check.h"
#include "gpu/kernel/math.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo::gpu {
namespace {

using kernel::ConstantLike;
using kernel::KernelBuilder;
using kernel::Type;
using kernel::Value;

Value Like(Value x, double constant) { return ConstantLike(x, constant); }
Value Like(Value x, int64_t constant) { return ConstantLike(x, constant); }

bool IsPred(Value x) { return x.type() == Type::kPred; }

// The type elementwise float ops are computed in.
Type Wide(Type type) { return kernel::IsSmallFloat(type) ? Type::kF32 : type; }

// f in the compute type, rounded once to x's.
template <class F>
Value InWide(Value x, F f) {
  const Type type = x.type();
  return Convert(f(Convert(x, Wide(type))), type);
}

Type SignedOf(Type type) {
  switch (type) {
    case Type::kU8: return Type::kS8;
    case Type::kU16:
    case Type::kF16:
    case Type::kBF16: return Type::kS16;
    case Type::kU32:
    case Type::kF32: return Type::kS32;
    case Type::kU64:
    case Type::kF64: return Type::kS64;
    default: return type;
  }
}

Value EmitAdd(Value a, Value b) { return IsPred(a) ? a | b : a + b; }
Value EmitMultiply(Value a, Value b) { return IsPred(a) ? a & b : a * b; }
Value EmitMaximum(Value a, Value b) { return IsPred(a) ? a | b : Max(a, b); }
Value EmitMinimum(Value a, Value b) { return IsPred(a) ? a & b : Min(a, b); }
Value EmitAbs(Value x) { return Abs(x); }

Value EmitSign(Value x) {
  if (kernel::IsInteger(x.type())) {
    return Select(x > 0, Like(x, int64_t{1}), Select(x < 0, Like(x, int64_t{-1}), Like(x, int64_t{0})));
  }
  return InWide(x,
                [](Value w) { return Select(w != w, w, CopySign(Select(w == 0.0, Like(w, 0.0), Like(w, 1.0)), w)); });
}

Value EmitIsFinite(Value x) {
  const Value w = Convert(x, Wide(x.type()));
  return Abs(w) < std::numeric_limits<double>::infinity();
}

// Sign-magnitude order of the bits: -NaN < -inf < ... < -0 < +0 < ... < +NaN.
Value TotalOrderKey(Value x) {
  const Type type = SignedOf(x.type());
  const Value bits = Bitcast(x, type);
  const int64_t magnitude = static_cast<int64_t>((uint64_t{1} << (kernel::Bits(type) - 1)) - 1);
  return Select(bits < 0, bits ^ Like(bits, magnitude), bits);
}

Value EmitCompare(const Instruction& inst, Value a, Value b) {
  const auto& attrs = inst.attrs<CompareAttrs>();
  if (IsPred(a)) {
    a = Convert(a, Type::kS32);
    b = Convert(b, Type::kS32);
  } else if (kernel::IsFloat(a.type()) && attrs.type == ComparisonType::kTotalOrder) {
    a = TotalOrderKey(a);
    b = TotalOrderKey(b);
  }
  switch (attrs.direction) {
    case ComparisonDirection::kEq: return a == b;
    case ComparisonDirection::kNe: return a != b;
    case ComparisonDirection::kGe: return a >= b;
    case ComparisonDirection::kGt: return a > b;
    case ComparisonDirection::kLe: return a <= b;
    case ComparisonDirection::kLt: return a < b;
  }
  CHECK(false, inst.name());
  __builtin_unreachable();
}

// Squaring, modulo 2^n. A negative exponent leaves 1 for base 1, +-1 by parity for base -1, else 0.
Value IntegerPower(Value base, Value exponent) {
  Value result = Like(base, int64_t{1});
  Value square = base;
  for (int bit = 0; bit < kernel::Bits(base.type()); ++bit) {
    const Value use = (ShiftRightLogical(exponent, Like(exponent, int64_t{bit})) & 1) != 0;
    result = Select(use, result * square, result);
    square = square * square;
  }
  if (!kernel::IsSigned(base.type())) return result;
  const Value odd = (exponent & 1) != 0;
  const Value one = Like(base, int64_t{1}), minus_one = Like(base, int64_t{-1}), zero = Like(base, int64_t{0});
  const Value inverse = Select(base == one, one, Select(base == minus_one, Select(odd, minus_one, one), zero));
  return Select(exponent < 0, inverse, result);
}

Value EmitPower(Value x, Value y) { return kernel::IsInteger(x.type()) ? IntegerPower(x, y) : Pow(x, y); }

// Rounds to fewer bits in the type's own encoding. As many bits of exponent as the type has change nothing: subnormals
// stay. docs/ops.md#bits
Value EmitReducePrecision(const Instruction& inst, Value x) {
  const auto& attrs = inst.attrs<ReducePrecisionAttrs>();
  const int own_exponent = x.type() == Type::kF64 ? 11 : x.type() == Type::kF16 ? 5 : 8;
  return InWide(x, [&](Value w) {
    const bool is_double = w.type() == Type::kF64;
    const int source_mantissa = is_double ? 52 : 23, source_exponent = is_double ? 11 : 8;
    const Type bits_type = is_double ? Type::kU64 : Type::kU32;
    Value bits = Bitcast(w, bits_type);
    const Value sign = bits & Like(bits, static_cast<int64_t>(uint64_t{1} << (source_mantissa + source_exponent)));
    if (attrs.mantissa_bits < source_mantissa) {
      const int64_t dropped = source_mantissa - attrs.mantissa_bits;
      const Value last = ShiftRightLogical(bits, Like(bits, dropped)) & 1;
      bits = bits + (last + ((int64_t{1} << (dropped - 1)) - 1));
      bits = bits & Like(bits, ~((int64_t{1} << dropped) - 1));
    }
    if (attrs.exponent_bits < own_exponent) {
      const int64_t bias = (int64_t{1} << (attrs.exponent_bits - 1)) - 1,
                    source_bias = (int64_t{1} << (source_exponent - 1)) - 1;
      const Value exponent =
          ShiftRightLogical(bits, Like(bits, int64_t{source_mantissa})) & ((int64_t{1} << source_exponent) - 1);
      const Value infinity = sign | Like(bits, ((int64_t{1} << source_exponent) - 1) << source_mantissa);
      bits = Select(exponent > source_bias + bias, infinity, bits);
      bits = Select(exponent <= source_bias - bias, sign, bits);
    }
    Value result = Bitcast(bits, w.type());
    const Value infinity = Like(w, std::numeric_limits<double>::infinity());
    result = Select(Abs(w) == infinity, w, result);
    return Select(w != w, attrs.mantissa_bits > 0 ? w : infinity, result);
  });
}

// ---- The table ---------------------------------------------------------------------------------------------------

using ScalarFunction = Value (*)(const Instruction&, std::span<const Value>);

// One for each elementwise op of ops.def that planners take (IsScalarOp); a missing one is a build error with the op's
// name.
template <Opcode>
struct ScalarRow;

#define ROW(Name, ...)                                                                   \
  template <>                                                                            \
  struct ScalarRow<Opcode::k##Name> {                                                    \
    static Value Emit(const Instruction& inst, std::span<const Value> v) { __VA_ARGS__ } \
    static constexpr ScalarFunction kEmit = &Emit;                                       \
  };
#define UNARY(Name, ...) ROW(Name, const Value x = v[0]; return __VA_ARGS__;)
#define BINARY(Name, ...) ROW(Name, const Value x = v[0]; const Value y = v[1]; return __VA_ARGS__;)

UNARY(Abs, EmitAbs(x))
UNARY(Acos, Acos(x))
UNARY(Acosh, Acosh(x))
BINARY(Add, EmitAdd(x, y))
BINARY(And, x& y)
UNARY(Asin, Asin(x))
UNARY(Asinh, Asinh(x))
BINARY(Atan2, Atan2(x, y))
UNARY(Atanh, Atanh(x))
UNARY(Cbrt, Cbrt(x))
UNARY(Ceil, Ceil(x))
ROW(Clamp, return EmitMinimum(v[2], EmitMaximum(v[1], v[0]));)
ROW(Compare, return EmitCompare(inst, v[0], v[1]);)
UNARY(Convert, Convert(x, KernelTypeOf(inst.shape().type())))
UNARY(Copy, x)
UNARY(Cos, Cos(x))
UNARY(Cosh, Cosh(x))
UNARY(CountLeadingZeros, CountLeadingZeros(x))
BINARY(Divide, x / y)
UNARY(Erf, Erf(x))
UNARY(Exp, Exp(x))
UNARY(Exp2, Exp2(x))
UNARY(Expm1, Expm1(x))
UNARY(Floor, Floor(x))
UNARY(Imag, Like(x, 0.0))
UNARY(IsFinite, EmitIsFinite(x))
UNARY(Log, Log(x))
UNARY(Log1p, Log1p(x))
UNARY(Log2, Log2(x))
UNARY(Logistic, Logistic(x))
BINARY(Maximum, EmitMaximum(x, y))
BINARY(Minimum, EmitMinimum(x, y))
BINARY(Mulhi, MulHigh(x, y))
BINARY(Multiply, EmitMultiply(x, y))
UNARY(Negate, -x)
UNARY(Not, ~x)
BINARY(Or, x | y)
UNARY(PopulationCount, PopulationCount(x))
BINARY(Power, EmitPower(x, y))
UNARY(Real, x)
ROW(ReducePrecision, return EmitReducePrecision(inst, v[0]);)
BINARY(Remainder, x % y)
UNARY(RoundNearestAfz, RoundAwayFromZero(x))
UNARY(RoundNearestEven, RoundEven(x))
UNARY(Rsqrt, Rsqrt(x))
ROW(Select, return Select(v[0], v[1], v[2]);)
BINARY(ShiftLeft, ShiftLeft(x, y))
BINARY(ShiftRightArithmetic, ShiftRightArithmetic(x, y))
BINARY(ShiftRightLogical, ShiftRightLogical(x, y))
UNARY(Sign, EmitSign(x))
UNARY(Sin, Sin(x))
UNARY(Sinh, Sinh(x))
UNARY(Sqrt, Sqrt(x))
BINARY(Subtract, x - y)
UNARY(Tan, Tan(x))
UNARY(Tanh, Tanh(x))
BINARY(Xor, x ^ y)

#undef ROW
#undef UNARY
#undef BINARY

template <Opcode opcode, bool elementwise>
constexpr ScalarFunction RowFor() {
  if constexpr (IsScalarOp(opcode, elementwise)) {
    return ScalarRow<opcode>::kEmit;
  } else {
    return nullptr;
  }
}

constexpr ScalarFunction kRows[] = {
#define HLO_OPCODE(Name, elementwise) RowFor<Opcode::k##Name, elementwise>(),
#include "ir/opcodes.inc"
};

}  // namespace

Value EmitScalar(const Instruction& inst, std::span<const Value> operands, const std::string& fault) {
  if (inst.Is(Opcode::kMaximum) && fault == "max_ignores_nan")
    return Select(operands[0] > operands[1], operands[0], operands[1]);
  if (inst.Is(Opcode::kConvert) && fault == "rounded_twice" && inst.shape().type() == PrimitiveType::kBF16 &&
      operands[0].type() == Type::kF32)
    return Convert(Convert(operands[0], Type::kF16), Type::kBF16);
  return kRows[static_cast<int>(inst.opcode())](inst, operands);
}

Value EmitBits(Value value, Type type) {
  return Bitcast(value.type() == Type::kPred && type != Type::kPred ? Convert(value, Type::kU8) : value, type);
}

namespace {

// The values of `part`, in a scalar computation.
std::vector<Value> EmitPart(KernelBuilder& k, const Instruction& part, std::span<const Value> arguments,
                            const std::string& fault) {
  std::map<const Instruction*, std::vector<Value>> values;
  for (const Instruction* inst : part.computation().PostOrder()) {
    std::vector<Value> operands;
    for (const Instruction* operand : inst->operands()) {
      const auto& of_operand = values.at(operand);
      operands.insert(operands.end(), of_operand.begin(), of_operand.end());
    }
    std::vector<Value>& result = values[inst];
    const std::vector<Computation*> called = CalledComputations(*inst);
    if (inst->Is(Opcode::kParameter)) result = {arguments[inst->parameter_number()]};
    else if (inst->Is(Opcode::kConstant)) result = {LiteralValue(k, inst->literal(), 0)};
    else if (inst->Is(Opcode::kTuple)) result = operands;
    else if (inst->Is(Opcode::kBitcastConvert)) result = {EmitBits(operands[0], KernelTypeOf(inst->shape().type()))};
    else if (!called.empty()) result = EmitScalarComputation(k, *called.front(), operands, fault);  // call, fusion
    else result = {EmitScalar(*inst, operands, fault)};
    if (inst == &part) break;
  }
  return values.at(&part);
}

}  // namespace

std::vector<Value> EmitScalarComputation(KernelBuilder& k, const Computation& computation,
                                         std::span<const Value> arguments, const std::string& fault) {
  return EmitPart(k, computation.root(), arguments, fault);
}

Value EmitScalarPart(KernelBuilder& k, const Instruction& part, std::span<const Value> arguments,
                     const std::string& fault) {
  return EmitPart(k, part, arguments, fault)[0];
}

Value LiteralValue(KernelBuilder& k, const Literal& literal, int64_t linear) {
  const Type type = KernelTypeOf(literal.shape().type());
  switch (type) {
    case Type::kF16:
    case Type::kBF16: return k.Bits(type, literal.data<uint16_t>()[linear]);
    case Type::kF32: return k.Bits(type, literal.data<uint32_t>()[linear]);
    case Type::kF64: return k.Bits(type, static_cast<int64_t>(literal.data<uint64_t>()[linear]));
    default: return k.Constant(type, literal.GetInt(linear));
  }
}

std::optional<Value> IdentityOf(KernelBuilder& k, const SimpleReducer& reducer, Type type) {
  const std::optional<Literal> identity = hlo::IdentityOf(reducer.opcode, reducer.inst->shape().type());
  if (!identity) return std::nullopt;
  return kernel::IsFloat(type) ? k.Constant(type, identity->GetDouble(0)) : k.Constant(type, identity->GetInt(0));
}

}  // namespace hlo::gpu
