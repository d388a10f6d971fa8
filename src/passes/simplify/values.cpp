#include "passes/simplify/values.h"

#include <algorithm>
#include <cmath>

#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/reducer.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Depth of the search through operands.
constexpr int kDepth = 4;

bool OnlyMoves(const Instruction& x) {
  constexpr OpcodeSet kMovers = {Opcode::kBroadcast, Opcode::kReshape, Opcode::kTranspose,
                                 Opcode::kSlice,     Opcode::kReverse, Opcode::kCopy};
  return kMovers.Has(x.opcode());
}

// Whether a nonnegative value is still nonnegative after the conversion.
bool ConvertKeepsSign(PrimitiveType from, PrimitiveType to) {
  if (IsFloat(to) || IsFloat(from)) return true;  // Conversions to a float round, those from a float saturate.
  if (from == PrimitiveType::kPred) return to != PrimitiveType::kS1;
  return BitWidth(to) > BitWidth(from) || (BitWidth(to) == BitWidth(from) && IsSigned(from));
}

bool NeverNegativeWithin(const Instruction& x, int depth) {
  const PrimitiveType type = x.shape().type();
  if (IsUnsigned(type) || type == PrimitiveType::kPred) return true;
  const bool is_float = IsFloat(type);
  if (!is_float && !IsSigned(type)) return false;
  if (const Literal* value = ScalarOf(x)) return is_float ? !(value->GetDouble(0) < 0) : value->GetInt(0) >= 0;
  const auto holds_for = [&](int64_t i) { return depth > 0 && NeverNegativeWithin(x.operand(i), depth - 1); };
  if (OnlyMoves(x)) return holds_for(0);
  switch (x.opcode()) {
    case Opcode::kAbs: return is_float;  // The abs of the lowest integer is that integer.
    case Opcode::kExp:
    case Opcode::kExp2:
    case Opcode::kLogistic:
    case Opcode::kSqrt: return true;
    case Opcode::kRsqrt: return NeverNegativeZero(x.operand(0));
    case Opcode::kMultiply: return is_float && (&x.operand(0) == &x.operand(1) || (holds_for(0) && holds_for(1)));
    case Opcode::kAdd: return is_float && holds_for(0) && holds_for(1);
    case Opcode::kPower: return is_float && holds_for(0) && NeverNegativeZero(x.operand(0));
    case Opcode::kMaximum: return holds_for(0) || holds_for(1);
    case Opcode::kMinimum: return holds_for(0) && holds_for(1);
    case Opcode::kAnd: return holds_for(0) || holds_for(1);
    case Opcode::kClamp: return holds_for(0) && holds_for(2);
    case Opcode::kSelect: return holds_for(1) && holds_for(2);
    case Opcode::kRemainder: return holds_for(0);
    case Opcode::kIota: return is_float || IsCountThatFits(x);
    case Opcode::kConvert: return holds_for(0) && ConvertKeepsSign(x.operand(0).shape().type(), type);
    default: return false;
  }
}

bool NeverNegativeZeroWithin(const Instruction& x, int depth) {
  const PrimitiveType type = x.shape().type();
  if (!IsFloat(type)) return !IsComplex(type);
  if (const auto value = NumberOf(x)) return *value != 0 || !std::signbit(*value);
  const auto holds_for = [&](int64_t i) { return depth > 0 && NeverNegativeZeroWithin(x.operand(i), depth - 1); };
  if (OnlyMoves(x)) return holds_for(0);
  switch (x.opcode()) {
    case Opcode::kAbs:
    case Opcode::kExp:
    case Opcode::kExp2:
    case Opcode::kLogistic:
    case Opcode::kIota: return true;
    case Opcode::kSqrt: return holds_for(0);
    case Opcode::kAdd: return holds_for(0) || holds_for(1);  // Only -0 + -0 is -0.
    case Opcode::kMultiply: return &x.operand(0) == &x.operand(1);
    case Opcode::kSelect: return holds_for(1) && holds_for(2);
    case Opcode::kConvert: return !IsFloat(x.operand(0).shape().type()) && !IsComplex(x.operand(0).shape().type());
    case Opcode::kReduce: {
      const Instruction& init = x.operand(x.operand_count() - 1);
      return x.operand_count() == 2 && ReducerOp(*x.attrs<ReduceAttrs>().to_apply) == Opcode::kAdd &&
             NumberOf(init) == 0.0 && NeverNegativeZeroWithin(init, 0);
    }
    default: return false;
  }
}

}  // namespace

bool NeverNegative(const Instruction& x) { return NeverNegativeWithin(x, kDepth); }
bool NeverNegativeZero(const Instruction& x) { return NeverNegativeZeroWithin(x, kDepth); }

const Literal* ScalarOf(const Instruction& x) {
  const Instruction& constant = x.Is(Opcode::kBroadcast) ? x.operand(0) : x;
  return constant.Is(Opcode::kConstant) && constant.shape().IsScalar() ? &constant.literal() : nullptr;
}

std::optional<int64_t> IntegerOf(const Instruction& x) {
  const PrimitiveType type = x.shape().type();
  const Literal* value = ScalarOf(x);
  if (value == nullptr || !(IsInteger(type) || type == PrimitiveType::kPred)) return std::nullopt;
  return value->GetInt(0);
}

std::optional<double> NumberOf(const Instruction& x) {
  const Literal* value = ScalarOf(x);
  if (value == nullptr || !IsFloat(x.shape().type())) return std::nullopt;
  return value->GetDouble(0);
}

bool IsLess(const Literal& a, const Literal& b) {
  const PrimitiveType type = a.shape().type();
  if (IsFloat(type)) return a.GetDouble(0) < b.GetDouble(0);
  if (IsSigned(type)) return a.GetInt(0) < b.GetInt(0);
  return static_cast<uint64_t>(a.GetInt(0)) < static_cast<uint64_t>(b.GetInt(0));
}

bool IsNeutral(const Instruction& init, Opcode op) {
  const Literal* value = ScalarOf(init);
  if (value == nullptr) return false;
  const auto identity = IdentityOf(op, init.shape().type());
  if (!identity) return false;
  if (IsInteger(init.shape().type())) return identity->GetInt(0) == value->GetInt(0);
  return identity->GetComplex(0) == value->GetComplex(0);
}

bool OrderMatters(Opcode op, PrimitiveType type) {
  return (op == Opcode::kAdd || op == Opcode::kMultiply) && (IsFloat(type) || IsComplex(type));
}

// A float type that represents count - 1 and count represents all smaller integers too.
bool HoldsCount(PrimitiveType type, int64_t count) {
  const auto holds = [&](int64_t n) {
    const auto number = static_cast<double>(n);
    return Literal::Scalar(type, number).GetDouble(0) == number;
  };
  return holds(0) && holds(count - 1) && holds(count);
}

bool IsCountThatFits(const Instruction& x) {
  const PrimitiveType type = x.shape().type();
  if (!x.Is(Opcode::kIota) || !IsInteger(type)) return false;
  const int64_t count = x.shape().dim(x.attrs<IotaAttrs>().iota_dimension);
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return bits >= 63 || count <= int64_t{1} << bits;
}

bool IsStatic(const Instruction& inst) {
  const auto is_fixed = [](const Instruction& x) { return x.shape().IsArray() && !x.shape().HasDynamicDims(); };
  return is_fixed(inst) && std::ranges::all_of(inst.operands(), [&](const Instruction* x) { return is_fixed(*x); });
}

bool IsStaticOfOneType(const Instruction& inst) {
  return IsStatic(inst) && std::ranges::all_of(inst.operands(), [&](const Instruction* operand) {
           return operand->shape().type() == inst.shape().type();
         });
}

bool IsIeee(PrimitiveType type) {
  return type == PrimitiveType::kF16 || type == PrimitiveType::kBF16 || type == PrimitiveType::kF32 ||
         type == PrimitiveType::kF64;
}

}  // namespace hlo
