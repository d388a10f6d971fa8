#include "gpu/emitters/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "base/check.h"
#include "gpu/emitters/complex.h"
#include "gpu/kernel/math.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo::gpu {

Type UnsignedOf(int bits) {
  switch (bits) {
    case 1: return Type::kU1;
    case 2: return Type::kU2;
    case 4: return Type::kU4;
    case 8: return Type::kU8;
    case 16: return Type::kU16;
    case 32: return Type::kU32;
    case 64: return Type::kU64;
    default: CHECK(false, "no integer of ", bits, " bits");
  }
  __builtin_unreachable();
}
namespace {

using kernel::ConstantLike;

Value Like(Value x, double constant) { return ConstantLike(x, constant); }
Value Like(Value x, int64_t constant) { return ConstantLike(x, constant); }

bool IsPred(Value x) { return x.type() == Type::kPred; }

Type Wide(Type type) {
  if (kernel::IsSubByte(type)) return kernel::IsSigned(type) ? Type::kS8 : Type::kU8;
  return kernel::IsSmallFloat(type) ? Type::kF32 : type;
}

template <class F>
Value InWide(Value x, F f) {
  const Type type = x.type();
  return Convert(f(Convert(x, Wide(type))), type);
}

Type SignedOf(Type type) {
  switch (kernel::Bits(type)) {
    case 8: return Type::kS8;
    case 16: return Type::kS16;
    case 32: return Type::kS32;
    default: return Type::kS64;
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

// The bits in sign-magnitude order: -NaN < -inf < ... < -0 < +0 < ... < +NaN. Types without a sign or an integer of
// their width are ordered as f32.
Value TotalOrderKey(Value x) {
  if (x.type() == Type::kF8E8M0FNU || kernel::Bits(x.type()) < 8) x = Convert(x, Type::kF32);
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

// A power modulo 2^n. A negative exponent gives 1 for base 1, +-1 by parity for base -1, else 0.
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

Value EmitPower(Value x, Value y) {
  if (!kernel::IsInteger(x.type())) return Pow(x, y);
  return InWide(x, [&](Value base) { return IntegerPower(base, Convert(y, base.type())); });
}

// Rounds to fewer bits in the type's encoding. If all exponent bits stay, subnormals do too (docs/ops.md#bits).
Value EmitReducePrecision(const Instruction& inst, Value x) {
  const auto& attrs = inst.attrs<ReducePrecisionAttrs>();
  const bool small = kernel::IsSmallFloat(x.type());
  const FloatFormat own = small ? FormatOf(inst.shape().type()) : FloatFormat{};
  const int own_exponent = small ? own.exponent_bits : x.type() == Type::kF64 ? 11 : 8;
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
    if (small && own_exponent < source_exponent && attrs.mantissa_bits < own.mantissa_bits) {
      // Subnormal numbers of `own` are normal in `w`.
      const double least_normal = std::ldexp(1.0, 1 - own.bias);
      const Value step = Like(w, std::ldexp(least_normal, -static_cast<int>(attrs.mantissa_bits)));
      bits = Select(Abs(w) < Like(w, least_normal), Bitcast(RoundEven(w / step) * step, bits_type), bits);
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

// Truncates |x|, and adds one if the random number / 2^n, for n bits, is less than the dropped fraction. f64 holds each
// threshold exactly. Source: docs/ops.md#bits
Value EmitStochasticConvert(Value x, Value random, Type type) {
  const double lowest_number = -std::ldexp(1.0, kernel::Bits(type) - 1);
  const int bits = kernel::Bits(x.type());
  const Value wide = Convert(x, Type::kF64), size = Abs(wide), whole = Truncate(size);
  const Value threshold = Floor((size - whole) * std::ldexp(1.0, bits));
  const Value up = (size != whole) & (Convert(random, Type::kF64) < threshold);
  const Value number = Convert(whole, Type::kU64), rounded = Select(up, number + 1, number);
  const Value lowest = Like(number, INT64_MIN >> (64 - kernel::Bits(type)));
  const Value wrapped = Select(wide < 0.0, Like(number, int64_t{0}) - rounded, rounded);
  const Value beyond = up & (rounded > (INT64_MAX >> (64 - kernel::Bits(type))));
  Value result = Select(beyond, lowest, wrapped);
  result = Select(wide <= lowest_number, lowest, result);
  result = Select(wide >= -lowest_number - 1, ~lowest, result);
  return Convert(Bitcast(Select(wide != wide, Like(number, int64_t{0}), result), Type::kS64), type);
}

// ---- The table ---------------------------------------------------------------------------------------------------

using ScalarFunction = Value (*)(const Instruction&, std::span<const Value>);

// A missing row is a build error with the op's name.
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
ROW(StochasticConvert, return EmitStochasticConvert(v[0], v[1], KernelTypeOf(inst.shape().type()));)
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

Value EmitScalar(const Instruction& inst, std::span<const Value> operands) {
  return kRows[static_cast<int>(inst.opcode())](inst, operands);
}

std::vector<Value> EmitElement(const Instruction& inst, std::span<const Value> parts) {
  if (inst.Is(Opcode::kComplex) || IsOfComplex(inst)) return EmitComplex(inst, parts);
  return {EmitScalar(inst, parts)};
}

std::vector<Value> LoadElement(Array array, Value offset, int parts) {
  if (parts == 1) return {array.Load(offset)};
  std::vector<Value> values;
  for (int i = 0; i < parts; ++i) values.push_back(array.Load(offset * parts + i));
  return values;
}

void StoreElement(Array array, Value offset, std::span<const Value> parts) {
  if (parts.size() == 1) return array.Store(offset, parts[0]);
  const auto count = static_cast<int64_t>(parts.size());
  for (int64_t i = 0; i < count; ++i) array.Store(offset * count + i, parts[i]);
}

Value EmitBits(Value value, Type type) {
  return Bitcast(value.type() == Type::kPred && type != Type::kPred ? Convert(value, Type::kU8) : value, type);
}

namespace {

Value AsUnsigned(Value value) {
  return IsPred(value) ? Convert(value, Type::kU8) : Bitcast(value, UnsignedOf(kernel::Bits(value.type())));
}

}  // namespace

Value PartOfBits(Value value, Value part, Type type) {
  const Value bits = AsUnsigned(value), amount = Convert(part * kernel::Bits(type), bits.type());
  return Bitcast(Convert(ShiftRightLogical(bits, amount), UnsignedOf(kernel::Bits(type))), type);
}

Value JoinedBits(std::span<const Value> parts, Type type) {
  const Type wide = UnsignedOf(kernel::Bits(type));
  Value joined;
  int64_t by = 0;
  for (const Value part : parts) {
    const Value bits = AsUnsigned(part), moved = Convert(bits, wide);
    joined = joined ? joined | ShiftLeft(moved, ConstantLike(moved, by)) : moved;
    by += kernel::Bits(bits.type());
  }
  return Bitcast(joined, type);
}

namespace {

std::vector<Value> EmitPart(KernelBuilder& k, const Instruction& part, std::span<const Value> arguments) {
  const Computation& computation = part.computation();
  std::map<const Instruction*, std::vector<Value>> values;
  std::vector<int> first_part = {0};
  for (const Instruction* parameter : computation.parameters())
    first_part.push_back(first_part.back() + ComponentCount(parameter->shape()));
  for (const Instruction* inst : computation.PostOrder()) {
    std::vector<Value> operands;
    for (const Instruction* operand : inst->operands()) {
      const auto& of_operand = values.at(operand);
      operands.insert(operands.end(), of_operand.begin(), of_operand.end());
    }
    std::vector<Value>& result = values[inst];
    const std::vector<Computation*> called = CalledComputations(*inst);
    if (inst->Is(Opcode::kParameter)) {
      const auto begin = arguments.begin() + first_part[inst->parameter_number()];
      result = {begin, begin + ComponentCount(inst->shape())};
    } else if (inst->Is(Opcode::kConstant)) result = LiteralValue(k, inst->literal(), 0);
    else if (inst->Is(Opcode::kTuple)) result = operands;
    else if (inst->Is(Opcode::kBitcast) && inst->shape().type() == inst->operand(0).shape().type()) result = operands;
    else if (inst->Is(Opcode::kBitcastConvert) || inst->Is(Opcode::kBitcast))
      result = {EmitBits(operands[0], KernelTypeOf(inst->shape().type()))};
    else if (!called.empty()) result = EmitScalarComputation(k, *called.front(), operands);
    else result = EmitElement(*inst, operands);
    if (inst == &part) break;
  }
  return values.at(&part);
}

}  // namespace

std::vector<Value> EmitScalarComputation(KernelBuilder& k, const Computation& computation,
                                         std::span<const Value> arguments) {
  return EmitPart(k, computation.root(), arguments);
}

Value EmitScalarPart(KernelBuilder& k, const Instruction& part, std::span<const Value> arguments) {
  return EmitPart(k, part, arguments)[0];
}

int64_t LiteralBits(const Literal& literal, int64_t part) {
  const PrimitiveType type = literal.shape().type();
  if (!IsFloat(type) && !IsComplex(type)) return literal.GetInt(part);
  const int64_t bytes = ByteWidth(type) / ComponentCount(type);
  int64_t bits = 0;
  std::memcpy(&bits, literal.raw() + part * bytes, bytes);
  return bits;
}

std::vector<Value> LiteralValue(KernelBuilder& k, const Literal& literal, int64_t linear) {
  const Type type = KernelTypeOf(literal.shape().type());
  const int parts = ComponentCount(literal.shape().type());
  std::vector<Value> values;
  for (int i = 0; i < parts; ++i) {
    const int64_t bits = LiteralBits(literal, linear * parts + i);
    values.push_back(kernel::IsFloat(type) ? k.Bits(type, bits) : k.Constant(type, bits));
  }
  return values;
}

std::optional<Value> IdentityOf(KernelBuilder& k, const SimpleReducer& reducer, Type type) {
  const std::optional<Literal> identity = hlo::IdentityOf(reducer.opcode, reducer.inst->shape().type());
  if (!identity) return std::nullopt;
  // Complex numbers are summed part by part. Other complex reducers have no known identity.
  if (IsComplex(identity->shape().type())) {
    if (reducer.opcode != Opcode::kAdd) return std::nullopt;
    return k.Constant(type, -0.0);
  }
  // f8e8m0fnu has no 0.
  if (kernel::IsFloat(type) && std::isnan(identity->GetDouble(0))) return std::nullopt;
  return kernel::IsFloat(type) ? k.Constant(type, identity->GetDouble(0)) : k.Constant(type, identity->GetInt(0));
}

}  // namespace hlo::gpu
